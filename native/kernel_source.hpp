// Where the solver gets kernel values from: a kernel matrix that problems share, or rows of its own in a bounded LRU
// cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "gram_rows.hpp"

namespace steelyard {

constexpr std::size_t LARGEST_BLOCK = 4096; // 64 MB in single precision

constexpr std::int32_t NO_EXAMPLE = -1;

// Examples side by side, whole cache lines of them, with the kernel among them; some slots may be empty.
template <class T> struct WorkingSet {
  Examples examples;
  std::vector<const T *> rows;
};

// The kernel among the examples of one problem. Sums over examples are kept in a vector of `width()` entries in which
// example i owns entry `place(i)`: a problem on most rows of a shared Gram sums whole rows, which are contiguous.
template <class T> class KernelSource {
 public:
  virtual ~KernelSource() = default;
  virtual std::size_t examples() const = 0;
  virtual std::size_t width() const = 0;
  virtual std::size_t place(std::size_t i) const = 0;
  // All examples on the memory of the kernel itself; none if the examples do not lie that way, or if most of
  // it would have to be computed first and that is not wanted.
  virtual WorkingSet<T> all_examples(bool /* at_any_cost */) { return {}; }
  // How many examples the solver may hold the kernel among, within the memory this source is meant to take.
  virtual std::size_t largest_block() const = 0;
  // K(i, .) over the examples; valid until the next call.
  virtual const T *row(std::size_t i) = 0;
  // out[k, l] = K(rows[k], columns[l])
  virtual void cross(const Examples &rows, const Examples &columns, T *out) = 0;
  // sums += sum_k weight[k] K(which[k], .)
  virtual void add(const Examples &which, const std::vector<double> &weight, double *sums) = 0;
};

// The examples of a problem as rows of a kernel matrix that many problems share.
template <class T> class SharedGram final : public KernelSource<T> {
 public:
  // `mostly_there`: the rows were at hand before the problem began. What comes while it lasts does not count: an answer
  // must not depend on what others do meanwhile.
  SharedGram(std::shared_ptr<GramRows<T>> gram, Examples index, std::size_t largest_block, bool mostly_there)
      : gram_(std::move(gram)), index_(std::move(index)), largest_block_(largest_block),
        whole_rows_(2 * index_.size() >= gram_->size()), mostly_there_(mostly_there), fetched_(index_.size(), 0) {}

  std::size_t examples() const override { return index_.size(); }
  std::size_t width() const override { return whole_rows_ ? gram_->size() : examples(); }
  std::size_t place(std::size_t i) const override { return whole_rows_ ? index_[i] : i; }
  std::size_t largest_block() const override { return largest_block_; }

  WorkingSet<T> all_examples(bool at_any_cost) override {
    if (!whole_rows_ || !(at_any_cost || mostly_there_ || 2 * n_fetched_ >= examples()))
      return {};
    WorkingSet<T> found{Examples(whole_line(gram_->size()), NO_EXAMPLE), {}};
    for (std::size_t i = 0; i < examples(); ++i) {
      if (found.examples[index_[i]] != NO_EXAMPLE)
        return {}; // one row is two examples
      found.examples[index_[i]] = static_cast<std::int32_t>(i);
    }
    gram_->fetch(index_);
    found.rows = gram_->whole_lines();
    if (found.rows.empty())
      return found;
    const T *any_row = found.rows[index_[0]]; // an empty slot has no row of its own, but a row it must have
    found.rows.resize(found.examples.size(), any_row);
    std::replace(found.rows.begin(), found.rows.end(), static_cast<const T *>(nullptr), any_row);
    return found;
  }

  const T *row(std::size_t i) override {
    gram_->fetch({index_[i]});
    const T *whole = gram_->row(index_[i]);
    row_.resize(examples());
    for (std::size_t j = 0; j < examples(); ++j)
      row_[j] = whole[index_[j]];
    return row_.data();
  }

  void cross(const Examples &rows, const Examples &columns, T *out) override {
    gram_->cross(places(rows), places(columns), out);
  }

  void add(const Examples &which, const std::vector<double> &weight, double *sums) override {
    const Examples at = places(which);
    gram_->fetch(at);
    for (const std::int32_t i : which)
      n_fetched_ += std::exchange(fetched_[i], 1) == 0;
    pointers_.clear();
    for (const std::int32_t i : at)
      pointers_.push_back(gram_->row(i));
    if (whole_rows_)
      return add_rows(pointers_.data(), weight.data(), which.size(), gram_->size(), sums);
    for (std::size_t k = 0; k < which.size(); ++k)
      for (std::size_t j = 0; j < examples(); ++j)
        sums[j] += weight[k] * pointers_[k][index_[j]];
  }

 private:
  Examples places(const Examples &which) const {
    Examples at;
    for (const std::int32_t i : which)
      at.push_back(index_[i]);
    return at;
  }

  std::shared_ptr<GramRows<T>> gram_;
  Examples index_;
  std::size_t largest_block_;
  bool whole_rows_, mostly_there_;
  std::vector<unsigned char> fetched_; // by this problem
  std::size_t n_fetched_ = 0;
  std::vector<const T *> pointers_;
  std::vector<T> row_;
};

// Kernel rows in at most `bytes` of memory, the least recently used given up first.
template <class T> class CachedRows final : public KernelSource<T> {
 public:
  CachedRows(std::unique_ptr<const RowExamples<T>> examples, std::size_t bytes)
      : of_(std::move(examples)), block_(block_within(bytes)),
        slots_(std::max<std::size_t>(ROW_BLOCK, (bytes - std::min(bytes, block_ * block_ * sizeof(T))) /
                                                    (of_->size() * sizeof(T)))),
        slot_of_(of_->size(), used_.end()) {}

  std::size_t examples() const override { return of_->size(); }
  std::size_t width() const override { return of_->size(); }
  std::size_t place(std::size_t i) const override { return i; }
  std::size_t largest_block() const override { return block_; }

  const T *row(std::size_t i) override { return look_up({static_cast<std::int32_t>(i)})[0]; }

  void cross(const Examples &rows, const Examples &columns, T *out) override {
    std::vector<T *> to;
    for (std::size_t k = 0; k < rows.size(); ++k)
      to.push_back(out + k * columns.size());
    of_->cross(rows, columns, to.data());
  }
  void add(const Examples &which, const std::vector<double> &weight, double *sums) override {
    for (std::size_t start = 0; start < which.size(); start += TOGETHER) {
      const std::size_t stop = std::min(which.size(), start + TOGETHER);
      const std::vector<const T *> values = look_up({which.begin() + start, which.begin() + stop});
      add_rows(values.data(), &weight[start], values.size(), of_->size(), sums);
    }
  }

 private:
  struct Row {
    std::int32_t example;
    std::vector<T> values;
  };
  using Slot = typename std::list<Row>::iterator;
  static constexpr std::size_t TOGETHER = ROW_BLOCK; // rows computed in one go; there are at least as many slots

  // Rows of at most TOGETHER examples. Those at hand go to the front first, so that none of them makes room for
  // another.
  std::vector<const T *> look_up(const Examples &which) {
    Examples missing;
    std::vector<T *> to;
    for (const std::int32_t i : which)
      if (slot_of_[i] != used_.end())
        used_.splice(used_.begin(), used_, slot_of_[i]);
      else
        missing.push_back(i);
    for (const std::int32_t i : missing) {
      if (used_.size() < slots_) {
        used_.push_front({i, std::vector<T>(of_->size())});
      } else {
        used_.splice(used_.begin(), used_, std::prev(used_.end()));
        slot_of_[used_.front().example] = used_.end();
        used_.front().example = i;
      }
      slot_of_[i] = used_.begin();
      to.push_back(used_.front().values.data());
    }
    if (!missing.empty())
      of_->rows(missing, to.data());
    std::vector<const T *> found;
    for (const std::int32_t i : which)
      found.push_back(slot_of_[i]->values.data());
    return found;
  }

  static std::size_t block_within(std::size_t bytes) { // half of the memory, if that is enough to work with
    const std::size_t size = static_cast<std::size_t>(std::sqrt(double(bytes / 2) / sizeof(T)));
    return std::max<std::size_t>(64, std::min(size, LARGEST_BLOCK));
  }

  const std::unique_ptr<const RowExamples<T>> of_;
  std::size_t block_, slots_;
  std::list<Row> used_; // most recently used first
  std::vector<Slot> slot_of_;
};

} // namespace steelyard
