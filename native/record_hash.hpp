// Mixed records as sparse rows: every cell is a token, its place and sign come from the token's hash. Texts become
// words, pairs of words and pieces of words. Twin in tests/unit/online/test_hashing.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// MurmurHash3, 32 bits, seed 0 (Appleby; public domain).
inline std::int32_t murmur3(std::string_view bytes) {
  const auto rotated = [](std::uint32_t x, int by) { return (x << by) | (x >> (32 - by)); };
  const auto mixed = [&](std::uint32_t k) { return rotated(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
  std::uint32_t h = 0;
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t k;
    std::memcpy(&k, bytes.data() + at, sizeof k);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    k = __builtin_bswap32(k);
#endif
    h = rotated(h ^ mixed(k), 13) * 5 + 0xe6546b64u;
  }
  std::uint32_t tail = 0;
  for (std::size_t b = bytes.size(); b > at; --b)
    tail = tail << 8 | static_cast<unsigned char>(bytes[b - 1]);
  if (at < bytes.size())
    h ^= mixed(tail);
  h ^= static_cast<std::uint32_t>(bytes.size());
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return static_cast<std::int32_t>(h ^ h >> 16);
}

struct HashedCell {
  std::int32_t column;
  double value;
};

// The cells of one row, in the order in which they come; compact() sorts them and adds up those of one column.
class HashedRow {
 public:
  explicit HashedRow(std::size_t width) : width_(static_cast<std::int64_t>(width)) {}

  const std::vector<HashedCell> &cells() const { return cells_; }
  void clear() { cells_.clear(); }

  void number(std::string_view name, double value) { add(name, value); }
  void missing(std::string_view name) { add(token(name, '=', {}), 1.0); }
  void category(std::string_view name, std::string_view value) { add(token(name, '=', value), 1.0); }

  // Words, pairs of neighbouring words, and pieces of three to five characters within words; together of length 1.
  void text(std::string_view name, const std::vector<std::string_view> &words) {
    const std::size_t first = cells_.size();
    for (std::size_t w = 0; w < words.size(); ++w) {
      add(token(name, '~', words[w]), 1.0);
      if (w + 1 < words.size())
        add(token(name, '~', words[w]).append(1, ' ').append(words[w + 1]), 1.0);
      pieces(name, words[w]);
    }
    compact_from(first);
    double square = 0; // of whole numbers: exact in any order
    for (std::size_t k = first; k < cells_.size(); ++k)
      square += cells_[k].value * cells_[k].value;
    const double length = std::sqrt(square);
    for (std::size_t k = first; k < cells_.size(); ++k)
      cells_[k].value = length > 0 ? cells_[k].value / length : 0.0;
  }

  // Sorted by column; what falls on one column is added up in the order in which it came.
  void compact() { compact_from(0); }

 private:
  std::string &token(std::string_view name, char between, std::string_view value) {
    return token_.assign(name).append(1, between).append(value);
  }

  void add(std::string_view token, double amount) {
    const std::int64_t hash = murmur3(token);
    cells_.push_back({static_cast<std::int32_t>((hash < 0 ? -hash : hash) % width_), hash < 0 ? -amount : amount});
  }

  // Characters differ in UTF-8 by their first byte, the only one that is not 10xxxxxx.
  void pieces(std::string_view name, std::string_view word) {
    starts_.clear();
    for (std::size_t b = 0; b < word.size(); ++b)
      if ((static_cast<unsigned char>(word[b]) & 0xC0) != 0x80)
        starts_.push_back(b);
    const std::size_t characters = starts_.size();
    starts_.push_back(word.size());
    for (std::size_t length = 3; length <= 5; ++length)
      for (std::size_t c = 0; c + length <= characters; ++c)
        add(token(name, '~', word.substr(starts_[c], starts_[c + length] - starts_[c])), 1.0);
  }

  void compact_from(std::size_t first) {
    const auto begin = cells_.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, cells_.end(), [](const HashedCell &a, const HashedCell &b) { return a.column < b.column; });
    auto to = begin;
    for (auto from = begin; from != cells_.end(); ++from)
      if (to != begin && (to - 1)->column == from->column)
        (to - 1)->value += from->value;
      else
        *to++ = *from;
    cells_.erase(to, cells_.end());
  }

  std::int64_t width_;
  std::vector<HashedCell> cells_;
  std::string token_;
  std::vector<std::size_t> starts_;
};

} // namespace steelyard
