// Dot product and axpy for the LDM solvers. Fixed partial sums, no contraction: the same bits on every machine.
#pragma once

#include <cstddef>
#include <cstring>

#include "clones.hpp"

namespace steelyard {

using Lanes = double __attribute__((vector_size(32)));
constexpr std::size_t kLanes = 4;

STEELYARD_INTO_CLONES Lanes lanes(const double *at) {
  Lanes four;
  std::memcpy(&four, at, sizeof four);
  return four;
}

STEELYARD_INTO_CLONES double dot(const double *a, const double *b, std::size_t n) {
  Lanes even = {}, odd = {};
  std::size_t k = 0;
  for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
    even += lanes(a + k) * lanes(b + k);
    odd += lanes(a + k + kLanes) * lanes(b + k + kLanes);
  }
  even += odd;
  double sum = (even[0] + even[1]) + (even[2] + even[3]);
  for (; k < n; ++k)
    sum += a[k] * b[k];
  return sum;
}

STEELYARD_INTO_CLONES void axpy(double factor, const double *x, double *out, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k)
    out[k] += factor * x[k];
}

inline double clamp(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

} // namespace steelyard
