// Rows as the online loop reads them: dense or CSR, single or double precision, 32 or 64 bit indices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lanes.hpp"
#include "simd.hpp"

namespace steelyard {

template <class T> struct DenseRows {
  const T *values;
  std::size_t n, d;
  static constexpr std::size_t ahead = 4;

  const T *row(std::size_t i) const { return values + i * d; }
  double dot(std::size_t i, const double *w) const { return steelyard::dot(row(i), w, d); }
  void add(std::size_t i, double a, double *w) const { add_scaled(row(i), a, w, d); }
  double square(std::size_t i) const {
    double sum = 0; // one lane: norms are not on the hot path of the rules that need speed most
    for (std::size_t j = 0; j < d; ++j)
      sum += static_cast<double>(row(i)[j]) * static_cast<double>(row(i)[j]);
    return sum;
  }
  bool vet(std::size_t, std::size_t) const { return true; }
  // Some time before the row is needed: after a mispredicted branch the hardware alone falls behind.
  void ask_for(std::size_t i, const double *) const {
    const char *at = reinterpret_cast<const char *>(row(i));
    for (std::size_t byte = 0; byte < d * sizeof(T); byte += CACHE_LINE)
      __builtin_prefetch(at + byte, 0, 2);
  }
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
using TwoMasks = std::int64_t __attribute__((vector_size(16)));

constexpr std::int64_t rest_masks[4][4] = {{0, 0, 0, 0}, {-1, 0, 0, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}};

// The numbers whose mask is -1; +0.0 where it is 0.
inline Two kept(Two numbers, const std::int64_t *masks) {
  TwoMasks two;
  std::memcpy(&two, masks, sizeof two);
  return reinterpret_cast<Two>(reinterpret_cast<TwoMasks>(numbers) & two);
}

template <class T, class I> struct CsrRows {
  const T *values;
  const I *columns;
  const I *starts;
  std::size_t n, d, stored;
  static constexpr std::size_t ahead = 8, in_cache = 20'000; // weights

  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
  std::size_t end(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1]); }
  // Whether rows first .. last - 1 lie within the arrays and their columns within the weights. Rows follow one another,
  // so a block of them is one long run of columns.
  bool vet(std::size_t first, std::size_t last) const {
    bool ordered = starts[first] >= 0;
    for (std::size_t i = first; i < last; ++i)
      ordered &= starts[i] <= starts[i + 1];
    return ordered && begin(last) <= stored && all_below(columns + begin(first), begin(last) - begin(first), d);
  }
  // Scattered requests drive the hardware off the two streams, so these are asked for as well.
  void ask_for(std::size_t i, const double *w) const {
    if (d <= in_cache)
      return;
    for (std::size_t k = begin(i); k < end(i); ++k)
      __builtin_prefetch(w + columns[k]);
    for (std::size_t k = begin(i); k < end(i); k += CACHE_LINE / sizeof(T))
      __builtin_prefetch(reinterpret_cast<const char *>(values + k) + 4096);
    for (std::size_t k = begin(i); k < end(i); k += CACHE_LINE / sizeof(I))
      __builtin_prefetch(reinterpret_cast<const char *>(columns + k) + 2048);
  }
  double dot(std::size_t i, const double *w) const {
    const std::size_t count = end(i) - begin(i);
    if (count == 0)
      return 0.0;
    const T *x = values + begin(i);
    const I *column = columns + begin(i);
    const auto product = [&](std::size_t k) { return static_cast<double>(x[k]) * w[column[k]]; };
    Two s01 = {}, s23 = {};
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4) {
      s01 += Two{product(k), product(k + 1)};
      s23 += Two{product(k + 2), product(k + 3)};
    }
    // The rest without a branch, for the lengths of rows are hard to guess: what lies past the end counts as +0.0,
    // which changes no bit of a sum that began with +0.0.
    const std::size_t last = count - 1;
    const Two first = {product(std::min(k, last)), product(std::min(k + 1, last))};
    const Two second = {product(std::min(k + 2, last)), 0.0};
    s01 += kept(first, rest_masks[count % 4]);
    s23 += kept(second, rest_masks[count % 4] + 2);
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
    for (std::size_t k = 0; k < stored; ++k)
      saved[k] = w[columns[k]];
  }
  void scatter(const std::vector<double> &saved, double *w) const {
    for (std::size_t k = 0; k < stored; ++k)
      w[columns[k]] = saved[k];
  }
  bool all_finite(const double *w) const {
    if (!few())
      return DenseRows<double>::finite(w, d);
    double sum = 0;
    for (std::size_t k = 0; k < stored; ++k)
      sum += w[columns[k]] * 0.0;
    return sum == 0;
  }
};

} // namespace steelyard
