// Running mean and deviation of every feature, by Welford's recurrence; twin in tests/unit/online/test_scaler.py.
#pragma once

#include <cmath>
#include <cstddef>

#include "pulse.hpp"

namespace steelyard {

struct Moments {
  double *count, *mean, *squares; // squares: sum of squared deviations from the mean
  std::size_t d;

  // How far x lies from the mean of feature j, in deviations; 0 if it is missing or nothing has varied yet.
  double scaled(std::size_t j, double x) const {
    const double deviation = std::sqrt(squares[j] / (count[j] > 1.0 ? count[j] : 1.0));
    return deviation > 0 && !std::isnan(x) ? (x - mean[j]) / deviation : 0.0;
  }

  void learn(std::size_t j, double x) const {
    if (std::isnan(x))
      return;
    count[j] += 1.0;
    const double before = x - mean[j];
    mean[j] += before / count[j];
    squares[j] += before * (x - mean[j]);
  }
};

// A row is scaled by those before it and then learned from; `out` may be null.
template <class T> void scale_row(const Moments &moments, const T *x, double *out) {
  for (std::size_t j = 0; j < moments.d; ++j) {
    const double cell = static_cast<double>(x[j]);
    if (out)
      out[j] = moments.scaled(j, cell);
    moments.learn(j, cell);
  }
}

inline void scale_rows(const Moments &moments, const double *X, std::size_t n, double *out) {
  Pulse pulse;
  for (std::size_t i = 0; i < n; ++i) {
    scale_row(moments, X + i * moments.d, out ? out + i * moments.d : nullptr);
    pulse.spend(8 * moments.d);
  }
}

// Sum of squares in halves, quarters, .. down to blocks of eight sums: as exact as numpy's, in an order of its own.
inline double sum_of_squares(const double *x, std::size_t n) {
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return sum_of_squares(x, half) + sum_of_squares(x + half, n - half);
  }
  double sum = 0;
  std::size_t j = 0;
  if (n >= 8) {
    double sums[8];
    for (; j < 8; ++j)
      sums[j] = x[j] * x[j];
    for (; j + 8 <= n; j += 8)
      for (std::size_t k = 0; k < 8; ++k)
        sums[k] += x[j + k] * x[j + k];
    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  for (; j < n; ++j)
    sum += x[j] * x[j];
  return sum;
}

// The row divided by its length; zeros stay.
inline void shorten_row(double *x, std::size_t d) {
  const double length = std::sqrt(sum_of_squares(x, d));
  for (std::size_t j = 0; j < d; ++j)
    x[j] = length > 0 ? x[j] / length : 0.0;
}

} // namespace steelyard
