// Rows as the online loop reads them: dense or CSR, single or double precision, 32 or 64 bit indices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "lanes.hpp"
#include "simd.hpp"

namespace steelyard {

template <class T> struct DenseRows {
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
  bool vet(std::size_t) const { return true; }
  // Walks ahead of a loop over the rows.
  class Ahead {
   public:
    Ahead(const DenseRows &rows, const double *) : rows_(rows) {}
    // Asks for a row some time before it is needed: after a mispredicted branch the hardware alone falls behind.
    bool reach(std::size_t i) {
      if (i + distance < rows_.n) {
        const char *at = reinterpret_cast<const char *>(rows_.row(i + distance));
        for (std::size_t byte = 0; byte < rows_.d * sizeof(T); byte += CACHE_LINE)
          __builtin_prefetch(at + byte);
      }
      return true;
    }

   private:
    static constexpr std::size_t distance = 8; // rows
    const DenseRows &rows_;
  };
  bool all_finite(const double *w) const { return finite(w, d); }
  bool few() const { return false; } // dense rows touch every weight
  void gather(const double *, std::vector<double> &) const {}
  void scatter(const std::vector<double> &, double *) const {}
  static bool finite(const double *w, std::size_t n) {
    double sum = 0; // x * 0 is NaN for NaN and infinities
    for (std::size_t j = 0; j < n; ++j)
      sum += w[j] * 0.0;
    return sum == 0;
  }
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

// Whether a column of any block looked at lies outside 0 .. d - 1; a negative one counts as a very great one.
template <class I> class OutOfRange {
  using Unsigned = std::make_unsigned_t<I>;
  static constexpr std::size_t width = 16 / sizeof(I);
  typedef Unsigned Columns __attribute__((vector_size(16)));
  typedef I Found __attribute__((vector_size(16)));

 public:
  explicit OutOfRange(std::size_t d)
      : bound_(Columns{} + static_cast<Unsigned>(std::min<std::size_t>(d, std::numeric_limits<I>::max()))) {}
  void look_at(const I *columns) {
    for (std::size_t k = 0; k < block; k += width) {
      Columns some;
      std::memcpy(&some, columns + k, sizeof some);
      found_ |= some >= bound_;
    }
  }
  bool any() const {
    I any = 0;
    for (std::size_t k = 0; k < width; ++k)
      any |= found_[k];
    return any != 0;
  }

 private:
  Columns bound_;
  Found found_{};
};

template <class T, class I> struct CsrRows {
  const T *values;
  const I *columns;
  const I *starts;
  std::size_t n, d, stored;

  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
  std::size_t end(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1]); }
  bool lies_within(std::size_t i) const { return begin(i) <= end(i) && end(i) <= stored; }
  // dot() may look at a block of columns past the end of its row.
  std::size_t looked_at(std::size_t i) const { return std::min(end(i) + block, stored); }
  // Whether row i lies within the arrays, and the columns that dot(i) looks at within the weights.
  bool vet(std::size_t i) const { return lies_within(i) && all_below(columns + begin(i), looked_at(i) - begin(i), d); }

  // Walks ahead of a loop over the rows: columns are vetted before they are used as addresses, and weights that may be
  // far away are asked for.
  class Ahead {
   public:
    Ahead(const CsrRows &rows, const double *w)
        : rows_(rows), w_(w), near_(rows.d <= in_cache), at_(rows.n > 0 ? rows.begin(0) : 0) {}
    // False if row i or one of the next cannot be used.
    bool reach(std::size_t i) {
      const std::size_t end = rows_.end(i);
      return rows_.begin(i) <= end && (end < safe_ || go_on(end));
    }

   private:
    static constexpr std::size_t in_cache = 20'000; // weights
    static constexpr std::size_t piece = 1024, distance = 128, stream_distance = 512;

    // Not inlined: the loop has better use for its registers.
    __attribute__((noinline)) bool go_on(std::size_t end) {
      if (end > rows_.stored || !(near_ ? vet_to(std::min(end + piece, rows_.stored)) : ask_to(end)))
        return false;
      if (near_) // the next rows need no call; far weights are asked for at every row
        safe_ = at_ == rows_.stored ? at_ + 1 : at_ - block + 1;
      return true;
    }
    bool ask_to(std::size_t end) {
      const std::size_t wanted = std::min(end + distance, rows_.stored);
      const std::uintptr_t weights = reinterpret_cast<std::uintptr_t>(w_);
      OutOfRange<I> out(rows_.d);
      std::size_t at = at_;
      for (; at + block <= wanted; at += block) {
        const I *column = rows_.columns + at;
        out.look_at(column);
        for (std::size_t k = 0; k < block; ++k) // an address may be wild, for nothing is read
          __builtin_prefetch(
              reinterpret_cast<const char *>(weights + static_cast<std::uintptr_t>(column[k]) * sizeof(double)));
        // Scattered requests drive the hardware off the two streams, so these are asked for as well.
        const std::size_t later = std::min(at + stream_distance, rows_.stored - 1);
        __builtin_prefetch(rows_.values + later);
        __builtin_prefetch(rows_.columns + later);
      }
      at_ = at;
      return !out.any() && (wanted < rows_.stored || vet_to(wanted));
    }
    bool vet_to(std::size_t end) {
      const std::size_t from = at_;
      at_ = end;
      return all_below(rows_.columns + from, end - from, rows_.d);
    }

    const CsrRows rows_;
    const double *w_;
    bool near_;
    std::size_t at_;       // columns before it have been vetted
    std::size_t safe_ = 0; // rows that end before it need nothing
  };

  // Four sums, number k of the row in sum k % 4. The lengths of rows are hard to guess, so the last numbers take no
  // branch: +0.0 changes no bit of a sum that began with +0.0.
  __attribute__((always_inline)) double dot(std::size_t i, const double *w) const {
    const T *x = values + begin(i);
    const I *column = columns + begin(i);
    const std::size_t count = end(i) - begin(i);
    const auto products = [&](std::size_t k) { return two_of(x + k) * Two{w[column[k]], w[column[k + 1]]}; };
    Two s01 = {}, s23 = {};
    std::size_t k = 0;
    for (; k + block <= count; k += block) {
      s01 += products(k);
      s23 += products(k + 2);
      s01 += products(k + 4);
      s23 += products(k + 6);
    }
    if (end(i) + block <= stored) {
      const std::int64_t *masks = block_masks + block - (count - k);
      s01 += kept(products(k), masks);
      s23 += kept(products(k + 2), masks + 2);
      s01 += kept(products(k + 4), masks + 4);
      s23 += kept(products(k + 6), masks + 6);
    } else { // nothing to look at past the end
      double rest[block] = {};
      for (std::size_t j = k; j < count; ++j)
        rest[j - k] = static_cast<double>(x[j]) * w[column[j]];
      s01 += two_of(rest);
      s23 += two_of(rest + 2);
      s01 += two_of(rest + 4);
      s23 += two_of(rest + 6);
    }
    return (s01[0] + s01[1]) + (s23[0] + s23[1]);
  }
  void add(std::size_t i, double a, double *w) const {
    for (std::size_t k = begin(i); k < end(i); ++k)
      w[columns[k]] += a * static_cast<double>(values[k]);
  }
  double square(std::size_t i) const {
    double sum = 0;
    for (std::size_t k = begin(i); k < end(i); ++k)
      sum += static_cast<double>(values[k]) * static_cast<double>(values[k]);
    return sum;
  }
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
