// Rows as the online loop reads them: dense or CSR, single or double precision, 32 or 64 bit indices.
#pragma once

#include <algorithm>
#include <cstdint>
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
  // Asks for a row some time before it is needed: after a mispredicted branch the hardware alone falls behind.
  bool vet(std::size_t i, const double *) const {
    const char *at = reinterpret_cast<const char *>(row(i));
    for (std::size_t byte = 0; byte < d * sizeof(T); byte += CACHE_LINE)
      __builtin_prefetch(at + byte, 0, 2);
    return true;
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

template <class T, class I> struct CsrRows {
  const T *values;
  const I *columns;
  const I *starts;
  std::size_t n, d, stored;
  static constexpr std::size_t ahead = 8, in_cache = 20'000; // weights

  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
  std::size_t end(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1]); }
  // Every row is looked at before its columns are used as addresses; on the way its weights are asked for.
  bool vet(std::size_t i, const double *w) const {
    if (starts[i] < 0 || starts[i + 1] < starts[i] || end(i) > stored)
      return false;
    const I *column = columns + begin(i);
    const std::size_t count = end(i) - begin(i);
    if (d > in_cache)
      ask_for(i, w);
    return all_below(column, count, d);
  }
  // Scattered requests drive the hardware off the two streams, so these are asked for as well.
  void ask_for(std::size_t i, const double *w) const {
    for (std::size_t k = begin(i); k < end(i); ++k)
      __builtin_prefetch(w + columns[k]);
    for (std::size_t k = begin(i); k < end(i); k += CACHE_LINE / sizeof(T))
      __builtin_prefetch(reinterpret_cast<const char *>(values + k) + 4096);
    for (std::size_t k = begin(i); k < end(i); k += CACHE_LINE / sizeof(I))
      __builtin_prefetch(reinterpret_cast<const char *>(columns + k) + 2048);
  }
  double dot(std::size_t i, const double *w) const {
    double sum[4] = {};
    std::size_t k = begin(i);
    for (; k + 4 <= end(i); k += 4)
      for (std::size_t l = 0; l < 4; ++l)
        sum[l] += static_cast<double>(values[k + l]) * w[columns[k + l]];
    for (std::size_t l = 0; k + l < end(i); ++l)
      sum[l] += static_cast<double>(values[k + l]) * w[columns[k + l]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
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
