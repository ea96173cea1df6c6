// Dot product and axpy for the LDM solvers. Fixed partial sums, no contraction: the same bits on every machine.
#pragma once

#include <cstddef>

// The wide clone is chosen at run time; elsewhere, and under sanitizers, the portable code stands alone. Bodies shared
// by several such functions are always inlined, so that each clone compiles them for itself.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define STEELYARD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define STEELYARD_CLONES
#endif
#define STEELYARD_INTO_CLONES __attribute__((always_inline)) inline

namespace steelyard {

using Lanes = double __attribute__((vector_size(32), aligned(8), may_alias));
constexpr std::size_t kLanes = 4;

STEELYARD_INTO_CLONES const Lanes &lanes(const double *at) { return *reinterpret_cast<const Lanes *>(at); }

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
