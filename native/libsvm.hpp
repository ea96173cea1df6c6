// LIBSVM text, block by block, into growing CSR columns. One parser serves whole files, compressed streams and chunks.
#pragma once

#include "decimal.hpp"
#include "pulse.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace steelyard {

// A growing array on realloc: the system moves large blocks by remapping pages, so growing needs no second copy in
// memory, and release() hands the very same block to its next owner.
template <class T> class Column {
 public:
  Column() = default;
  Column(const Column &) = delete;
  Column &operator=(const Column &) = delete;
  ~Column() { std::free(data_); }

  void push(T value) {
    if (size_ == capacity_)
      resize(std::max<std::size_t>(1024, 2 * capacity_));
    data_[size_++] = value;
  }
  std::size_t size() const { return size_; }
  T *begin() { return data_; }
  T *end() { return data_ + size_; }

  // The block, cut to its content, to be freed with std::free; the column is empty afterwards.
  T *release() {
    resize(std::max<std::size_t>(1, size_));
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void resize(std::size_t capacity) {
    void *block = std::realloc(data_, capacity * sizeof(T));
    if (!block)
      throw std::bad_alloc();
    data_ = static_cast<T *>(block);
    capacity_ = capacity;
  }
  T *data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

struct LibsvmError {
  const char *expected = nullptr; // what stood wrong, as a word that Python turns into a sentence; null if nothing
  std::int64_t line = 0;
  std::int64_t column = 0; // in bytes, from 1
  std::string found;
};

template <class V> class LibsvmParser {
 public:
  // base: the lowest index, 0 or 1. width: number of features, or -1 to accept any index.
  LibsvmParser(int base, std::int64_t width) : base_(base), width_(width) {}

  Column<std::int64_t> ends; // of each row, within indices and values
  Column<std::int32_t> narrow;
  Column<std::int64_t> wide; // takes over from narrow once an index does not fit there
  Column<V> values;
  Column<double> labels;

  bool is_wide() const { return is_wide_; }
  std::int64_t rows() const { return static_cast<std::int64_t>(labels.size()); }
  std::int64_t widest() const { return widest_; }
  const LibsvmError &error() const { return error_; }

  // Reads complete lines until the block, the row limit or an error ends it; an unfinished last line is
  // kept for the next block. Returns the number of bytes consumed.
  std::size_t feed(const char *block, std::size_t size, std::int64_t row_limit) {
    const char *at = block, *end = block + size;
    if (!tail_.empty()) {
      const char *stop = newline(at, end);
      tail_.append(at, stop);
      if (stop == end)
        return size;
      read_tail();
      at = stop + 1;
    }
    Pulse pulse;
    while (at < end && !error_.expected && rows() < row_limit) {
      const char *stop = newline(at, end);
      pulse.spend(static_cast<std::size_t>(stop - at));
      if (stop == end) {
        tail_.assign(at, end);
        return size;
      }
      read_line(at, stop);
      at = stop + 1;
    }
    return static_cast<std::size_t>(at - block);
  }

  // The last line of a file may lack its line end.
  void finish() {
    if (!tail_.empty() && !error_.expected)
      read_tail();
  }

 private:
  static const char *newline(const char *at, const char *end) {
    const void *found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    return found ? static_cast<const char *>(found) : end;
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool is_over(const char *p, const char *end) { return p == end || *p == '#'; }
  static bool is_token_end(const char *p, const char *end) { return is_over(p, end) || is_blank(*p); }
  static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && is_blank(*p))
      ++p;
    return p;
  }

  void read_tail() {
    read_line(tail_.data(), tail_.data() + tail_.size());
    tail_.clear();
  }

  void read_line(const char *line, const char *end) {
    ++line_number_;
    const char *p = line;
    if (line_number_ == 1 && end - p >= 3 && std::memcmp(p, "\xEF\xBB\xBF", 3) == 0)
      p += 3; // byte order mark
    p = skip_blanks(p, end);
    if (is_over(p, end))
      return;
    double label = 0;
    const char *after = read_decimal(p, end, label);
    if (!after || !is_token_end(after, end))
      return refuse(begins_like_nan(p, end) ? "finite label" : "label", line, p, end);
    if (label - label != 0)
      return refuse("label in range", line, p, end);

    const std::size_t first = values.size();
    std::int64_t last = -1;
    bool sorted = true;
    for (p = skip_blanks(after, end); !is_over(p, end); p = skip_blanks(after, end)) {
      after = read_pair(line, p, end, last, sorted);
      if (!after)
        return;
    }
    if (!sorted && !sort_row(first))
      return refuse("distinct indices", line, line, end);
    ends.push(static_cast<std::int64_t>(values.size()));
    labels.push(label);
  }

  // One index:value; returns the place after it, or null after an error.
  const char *read_pair(const char *line, const char *p, const char *end, std::int64_t &last, bool &sorted) {
    std::int64_t index = 0;
    const char *colon = p;
    for (; colon < end && is_digit(*colon); ++colon) {
      if (colon - p >= 18)
        return fail("index in range", line, p, end);
      index = 10 * index + (*colon - '0');
    }
    if (colon == p || colon == end || *colon != ':')
      return fail(end - p >= 4 && std::memcmp(p, "qid:", 4) == 0 ? "no qid" : "index:value", line, p, end);
    index -= base_;
    if (index < 0)
      return fail("index from 1", line, p, end);
    if (width_ >= 0 && index >= width_)
      return fail("index within n_features", line, p, end);
    double value = 0;
    const char *after = read_decimal(colon + 1, end, value);
    if (!after || !is_token_end(after, end))
      return fail(begins_like_nan(colon + 1, end) ? "finite value" : "value", line, p, end);
    if (value - value != 0 || std::fabs(value) > largest())
      return fail("value in range", line, p, end);
    sorted = sorted && index > last;
    last = index;
    push(index, static_cast<V>(value));
    return after;
  }

  // Up to where a double still rounds to a finite V.
  static constexpr double largest() {
    return sizeof(V) == sizeof(double) ? std::numeric_limits<double>::max() : 3.4028235677973362e38;
  }

  void push(std::int64_t index, V value) {
    if (!is_wide_ && index > std::numeric_limits<std::int32_t>::max())
      widen();
    if (is_wide_)
      wide.push(index);
    else
      narrow.push(static_cast<std::int32_t>(index));
    values.push(value);
    widest_ = std::max(widest_, index + 1);
  }

  void widen() {
    for (std::int32_t index : narrow)
      wide.push(index);
    std::free(narrow.release());
    is_wide_ = true;
  }

  // Sorts the row that begins at position first; false if an index occurs twice.
  bool sort_row(std::size_t first) {
    pairs_.clear();
    for (std::size_t k = first; k < values.size(); ++k)
      pairs_.emplace_back(is_wide_ ? wide.begin()[k] : narrow.begin()[k], values.begin()[k]);
    std::sort(pairs_.begin(), pairs_.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      if (k > 0 && pairs_[k].first == pairs_[k - 1].first)
        return false;
      if (is_wide_)
        wide.begin()[first + k] = pairs_[k].first;
      else
        narrow.begin()[first + k] = static_cast<std::int32_t>(pairs_[k].first);
      values.begin()[first + k] = pairs_[k].second;
    }
    return true;
  }

  void refuse(const char *expected, const char *line, const char *at, const char *end) {
    const char *stop = at;
    while (stop < end && stop - at < 40 && !is_blank(*stop))
      ++stop;
    error_ = {expected, line_number_, at - line + 1, std::string(at, stop)};
  }
  const char *fail(const char *expected, const char *line, const char *at, const char *end) {
    refuse(expected, line, at, end);
    return nullptr;
  }

  int base_;
  std::int64_t width_;
  std::int64_t widest_ = 0, line_number_ = 0;
  bool is_wide_ = false;
  std::string tail_;
  std::vector<std::pair<std::int64_t, V>> pairs_;
  LibsvmError error_;
};

} // namespace steelyard
