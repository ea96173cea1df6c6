// Rows as the online loop reads them: dense or CSR, single or double precision, 32 or 64 bit indices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "clones.hpp"
#include "fixed_order_sum.hpp"
#include "simd.hpp"

namespace steelyard {

template <class T> struct DenseRows {
  static constexpr bool dense = true;
  const T *values;
  std::size_t n, d;

  const T *row(std::size_t i) const { return values + i * d; }
  double dot(std::size_t i, const double *w) const { return steelyard::dot(row(i), w, d); }
  void add(std::size_t i, double a, double *w) const { add_scaled(row(i), a, w, d); }
  double square(std::size_t i) const {
    double sum = 0; // one lane: norms are not on the hot path of the rules that need speed most
    for (std::size_t j = 0; j < d; ++j)
      sum += static_cast<double>(row(i)[j]) * static_cast<double>(row(i)[j]);
    return sum;
  }
  bool in_range(std::size_t) const { return true; }
  // The hardware sees dense rows coming: asking for them ahead only costs time.
  struct Prefetcher {
    Prefetcher(const DenseRows &, std::size_t, const double *) {}
    bool reach(std::size_t) const { return true; }
  };
  std::size_t length(std::size_t) const { return d + 8; } // of a row, and a little for whatever has no length
  // How many rows hold about so many numbers; at least one.
  std::size_t rows_of(std::size_t numbers) const { return numbers / (d + 8) + 1; }
  bool all_finite(const double *w) const { return finite(w, d); }
  bool few() const { return false; } // dense rows touch every weight
  void gather(const double *, std::vector<double> &) const {}
  void scatter(const std::vector<double> &, double *) const {}
  static bool finite(const double *w, std::size_t n) {
    // x * 0 is NaN for NaN and infinities; four sums need not wait for each other.
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    std::size_t j = 0;
    for (; j + 4 <= n; j += 4) {
      s0 += w[j] * 0.0;
      s1 += w[j + 1] * 0.0;
      s2 += w[j + 2] * 0.0;
      s3 += w[j + 3] * 0.0;
    }
    for (; j < n; ++j)
      s0 += w[j] * 0.0;
    return (s0 + s1) + (s2 + s3) == 0;
  }
};

// Dense rows for a loop that is itself compiled for a wider machine: what they do is inlined into it.
template <class T> struct InlinedRows : DenseRows<T> {
  explicit InlinedRows(const DenseRows<T> &rows) : DenseRows<T>(rows) {}
  STEELYARD_INTO_CLONES double dot(std::size_t i, const double *w) const { return lane_dot(this->row(i), w, this->d); }
  STEELYARD_INTO_CLONES void add(std::size_t i, double a, double *w) const { lane_add(this->row(i), a, w, this->d); }
};

using Two = double __attribute__((vector_size(16)));
using TwoFloats = float __attribute__((vector_size(8)));
using TwoMasks = std::int64_t __attribute__((vector_size(16)));

inline Two two_of(const double *from) {
  Two two;
  std::memcpy(&two, from, sizeof two);
  return two;
}
inline Two two_of(const float *from) {
  TwoFloats two;
  std::memcpy(&two, from, sizeof two);
  return __builtin_convertvector(two, Two);
}

// Rows are added up eight numbers at a time. What is left over counts as a whole block of which the masks, read from
// `block - count` on, keep the first `count` products and make the others +0.0.
constexpr std::size_t block = 8;
constexpr std::int64_t block_masks[2 * block] = {-1, -1, -1, -1, -1, -1, -1, -1};
inline Two kept(Two numbers, const std::int64_t *masks) {
  TwoMasks two;
  std::memcpy(&two, masks, sizeof two);
  return reinterpret_cast<Two>(reinterpret_cast<TwoMasks>(numbers) & two);
}

// Two neighbouring columns. Those of 32 bits come by one load: a sparse row is bound by its loads.
struct TwoColumns {
  std::size_t first, second;
};
inline TwoColumns two_columns(const std::int64_t *at) {
  return {static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1])};
}
inline TwoColumns two_columns(const std::int32_t *at) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  std::uint64_t both;
  std::memcpy(&both, at, sizeof both);
  return {static_cast<std::uint32_t>(both), static_cast<std::size_t>(both >> 32)};
#else
  return {static_cast<std::uint32_t>(at[0]), static_cast<std::uint32_t>(at[1])};
#endif
}

// Whether any column looked at lies outside 0 .. d - 1. The highest bit of a number tells: a negative column has it,
// and one that is too great gets it when `room`, the distance of d from that bit, is added. Columns of 32 bits go two
// in a word; what the lower one carries over does no harm, for then its own highest bit was set.
template <class I> class OutOfRange {
  static constexpr std::uint64_t highest = std::uint64_t{1} << (8 * sizeof(I) - 1);
  static constexpr std::uint64_t both = sizeof(I) == 4 ? 0x100000001 : 1; // one of each number in a word

 public:
  explicit OutOfRange(std::size_t d) : room_((highest - std::min<std::uint64_t>(d, highest)) * both) {}
  void look_at_two(const I *columns) {
    for (std::size_t k = 0; k < 2; k += 8 / sizeof(I)) {
      std::uint64_t word;
      std::memcpy(&word, columns + k, sizeof word);
      found_ |= word | (word + room_);
    }
  }
  bool any() const { return (found_ & highest * both) != 0; }

 private:
  std::uint64_t room_, found_ = 0;
};

template <class T, class I> struct CsrRows {
  static constexpr bool dense = false;
  const T *values;
  const I *columns;
  const I *starts;
  std::size_t n, d, stored;
  bool alike = n > 0 && (end(0) - begin(0)) * n == stored; // mostly: all of one length

  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
  std::size_t end(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1]); }
  bool lies_within(std::size_t i) const { return begin(i) <= end(i) && end(i) <= stored; }
  // dot() may look at a block of columns past the end of its row.
  std::size_t looked_at(std::size_t i) const { return std::min(end(i) + block, stored); }
  // Whether row i lies within the arrays, and the columns that dot(i) looks at within the weights.
  bool in_range(std::size_t i) const {
    return lies_within(i) && all_below(columns + begin(i), looked_at(i) - begin(i), d);
  }

  // Walks ahead of a loop over the rows: columns are checked before they are used as addresses, and weights that may be
  // far away are asked for.
  class Prefetcher {
   public:
    Prefetcher(const CsrRows &rows, std::size_t first, const double *w)
        : rows_(rows), w_(w), near_(rows.d <= in_cache), at_(first < rows.n ? rows.begin(first) : 0) {}
    // False if row i or one of the next cannot be used. One branch where there is nothing to do.
    STEELYARD_INLINED bool reach(std::size_t i) {
      const std::size_t begin = rows_.begin(i), end = rows_.end(i);
      const bool ready = (begin <= end) & (end < safe_);
      return ready || go_on(begin, end);
    }

   private:
    static constexpr std::size_t in_cache = 20'000; // weights
    static constexpr std::size_t piece = 1024, distance = 128, stream_distance = 512;

    STEELYARD_INLINED bool go_on(std::size_t begin, std::size_t end) {
      if (begin > end || end > rows_.stored)
        return false;
      if (!near_) // far weights are asked for at every row
        return ask_to(std::min(end + distance, rows_.stored));
      if (!check_to(std::min(end + piece, rows_.stored)))
        return false;
      safe_ = at_ == rows_.stored ? at_ + 1 : at_ - block + 1;
      return true;
    }
    STEELYARD_INLINED bool ask_to(std::size_t wanted) {
      const std::uintptr_t weights = reinterpret_cast<std::uintptr_t>(w_);
      OutOfRange<I> out(rows_.d);
      const auto ask_for_two = [&](std::size_t at) { // an address may be wild, for nothing is read
        const TwoColumns two = two_columns(rows_.columns + at);
        out.look_at_two(rows_.columns + at);
        __builtin_prefetch(reinterpret_cast<const char *>(weights + two.first * sizeof(double)));
        __builtin_prefetch(reinterpret_cast<const char *>(weights + two.second * sizeof(double)));
      };
      std::size_t at = at_;
      for (; at + block <= wanted; at += block) {
        ask_for_two(at); // not a loop, which would look up all of this for every two
        ask_for_two(at + 2);
        ask_for_two(at + 4);
        ask_for_two(at + 6);
        // Scattered requests drive the hardware off the two streams, so these are asked for as well.
        const std::size_t later = std::min(at + stream_distance, rows_.stored - 1);
        __builtin_prefetch(rows_.values + later);
        __builtin_prefetch(rows_.columns + later);
      }
      at_ = at;
      return !out.any() && (wanted < rows_.stored || check_to(wanted));
    }
    bool check_to(std::size_t end) {
      const std::size_t from = at_;
      at_ = end;
      return all_below(rows_.columns + from, end - from, rows_.d);
    }

    const CsrRows rows_;
    const double *w_;
    bool near_;
    std::size_t at_;       // columns before it have been checked
    std::size_t safe_ = 0; // rows that end before it need nothing
  };

  // Four sums, number k of the row in sum k % 4. Where the lengths of rows are hard to guess, the last numbers take no
  // branch: +0.0 changes no bit of a sum that began with +0.0.
  STEELYARD_INLINED double dot(std::size_t i, const double *w) const {
    const T *x = values + begin(i);
    const I *column = columns + begin(i);
    const std::size_t count = end(i) - begin(i);
    const auto products = [&](std::size_t k) {
      const TwoColumns two = two_columns(column + k);
      return two_of(x + k) * Two{w[two.first], w[two.second]};
    };
    Two s01 = {}, s23 = {};
    std::size_t k = 0;
    for (; k + block <= count; k += block) {
      s01 += products(k);
      s23 += products(k + 2);
      s01 += products(k + 4);
      s23 += products(k + 6);
    }
    if (!alike && end(i) + block <= stored) {
      const std::int64_t *masks = block_masks + block - (count - k);
      s01 += kept(products(k), masks);
      s23 += kept(products(k + 2), masks + 2);
      s01 += kept(products(k + 4), masks + 4);
      s23 += kept(products(k + 6), masks + 6);
    } else { // no more than there is: branches are guessed where rows are alike, and there is nothing past the last one
      if (count & 4) {
        s01 += products(k);
        s23 += products(k + 2);
        k += 4;
      }
      if (count & 2) {
        s01 += products(k);
        k += 2;
      }
      if (count & 1)
        (count & 2 ? s23 : s01) += Two{static_cast<double>(x[k]) * w[column[k]], 0.0};
    }
    return (s01[0] + s01[1]) + (s23[0] + s23[1]);
  }
  STEELYARD_INLINED void add(std::size_t i, double a, double *w) const {
    const std::size_t last = end(i);
    std::size_t k = begin(i);
    for (; k + 2 <= last; k += 2) {
      const TwoColumns two = two_columns(columns + k);
      const Two products = Two{a, a} * two_of(values + k);
      w[two.first] += products[0]; // one after the other: a row may name a column twice
      w[two.second] += products[1];
    }
    if (k < last)
      w[columns[k]] += a * static_cast<double>(values[k]);
  }
  double square(std::size_t i) const {
    double sum = 0;
    for (std::size_t k = begin(i); k < end(i); ++k)
      sum += static_cast<double>(values[k]) * static_cast<double>(values[k]);
    return sum;
  }
  std::size_t length(std::size_t i) const { return end(i) - begin(i) + 8; }
  std::size_t rows_of(std::size_t numbers) const { return numbers / (stored / (n + 1) + 8) + 1; }
  // Few rows of very many features: only the weights that they touch are worth saving and checking.
  bool few() const { return stored < d; }
  void gather(const double *w, std::vector<double> &saved) const {
    saved.resize(stored);
    for (std::size_t k = begin(0); k < stored; ++k)
      saved[k] = w[columns[k]];
  }
  void scatter(const std::vector<double> &saved, double *w) const {
    for (std::size_t k = begin(0); k < stored; ++k)
      w[columns[k]] = saved[k];
  }
  bool all_finite(const double *w) const {
    if (!few())
      return DenseRows<double>::finite(w, d);
    double sum = 0;
    for (std::size_t k = begin(0); k < stored; ++k)
      sum += w[columns[k]] * 0.0;
    return sum == 0;
  }
};

// Of arrays of the given length. Entries past the last row are not looked at; a last start that makes no sense leaves
// rows that do not lie within.
template <class T, class I>
CsrRows<T, I> csr_rows(const T *values, const I *columns, const I *starts, std::size_t n, std::size_t d,
                       std::size_t length) {
  const std::size_t stored = starts[n] < 0 ? 0 : std::min(static_cast<std::size_t>(starts[n]), length);
  return {values, columns, starts, n, d, stored};
}

} // namespace steelyard
