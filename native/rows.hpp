// Rows as the online loop reads them: dense or CSR, single or double precision, 32 or 64 bit indices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lanes.hpp"

namespace steelyard {

// Rows far ahead are asked for early: after a mispredicted branch the hardware prefetcher alone falls behind.
template <class T> struct DenseRows {
  const T *values;
  std::size_t n, d;
  static constexpr std::size_t ahead = 8;

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
  void prefetch(std::size_t i, const double *) const {
    if (i + ahead >= n)
      return;
    const char *at = reinterpret_cast<const char *>(row(i + ahead));
    for (std::size_t byte = 0; byte < d * sizeof(T); byte += 64)
      __builtin_prefetch(at + byte);
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
  static constexpr std::size_t ahead = 4;

  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
  std::size_t end(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1]); }
  // Every row is looked at before its columns are used as addresses.
  bool in_range(std::size_t i) const {
    if (starts[i] < 0 || starts[i + 1] < starts[i] || end(i) > stored)
      return false;
    bool ok = true;
    for (std::size_t k = begin(i); k < end(i); ++k)
      ok &= static_cast<std::uint64_t>(columns[k]) < d;
    return ok;
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
  void prefetch(std::size_t i, const double *w) const {
    if (i + ahead >= n || starts[i + ahead] < 0)
      return;
    const std::size_t last = std::min(stored, end(i + ahead));
    for (std::size_t k = begin(i + ahead); k < last; ++k)
      __builtin_prefetch(w + columns[k]);
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
