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

// Every row is scaled by those before it and then learned from; `out` may be null.
inline void scale_rows(const Moments &moments, const double *X, std::size_t n, double *out) {
  Pulse pulse;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < moments.d; ++j) {
      const std::size_t at = i * moments.d + j;
      if (out)
        out[at] = moments.scaled(j, X[at]);
      moments.learn(j, X[at]);
    }
    pulse.spend(8 * moments.d);
  }
}

} // namespace steelyard
