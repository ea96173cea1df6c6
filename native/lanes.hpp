// Sums in a fixed order: column j always goes to lane j % 16, so that the bits do not depend on the vector width of the
// machine. That is what allows a wider version of the same function to be chosen at run time.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#if !defined(__clang__) || __clang_major__ >= 15
#define STEELYARD_WIDEST __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef STEELYARD_WIDEST
#define STEELYARD_WIDEST
#endif

namespace steelyard {

constexpr std::size_t lanes = 16;
inline std::size_t padded(std::size_t n) { return (n + lanes - 1) / lanes * lanes; }

using Four = double __attribute__((vector_size(32)));
using FourFloats = float __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) void load(Four &to, const double *from) {
  std::memcpy(&to, from, sizeof to);
}
static inline __attribute__((always_inline)) void load(Four &to, const float *from) {
  FourFloats narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  to = __builtin_convertvector(narrow, Four);
}

// Sum of x[j] w[j]; w is padded with zeros to a multiple of the lanes, x is not.
template <class T>
static inline __attribute__((always_inline)) double lane_dot(const T *x, const double *w, std::size_t n) {
  Four sum[4] = {};
  Four a, b;
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes)
    for (std::size_t k = 0; k < 4; ++k) {
      load(a, x + j + 4 * k);
      load(b, w + j + 4 * k);
      sum[k] += a * b;
    }
  const std::size_t left = n - j, whole = left / 4; // what is left fills the lanes from the first one on
  for (std::size_t k = 0; k < 3; ++k)
    if (k < whole) {
      load(a, x + j + 4 * k);
      load(b, w + j + 4 * k);
      sum[k] += a * b;
    }
  if (left % 4) {
    Four tail = {};
    for (std::size_t r = 0; r < left % 4; ++r)
      tail[r] = static_cast<double>(x[j + 4 * whole + r]) * w[j + 4 * whole + r];
    for (std::size_t k = 0; k < 4; ++k)
      if (k == whole)
        sum[k] += tail;
  }
  const Four all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

STEELYARD_WIDEST static double dot(const double *x, const double *w, std::size_t n) { return lane_dot(x, w, n); }
STEELYARD_WIDEST static double dot(const float *x, const double *w, std::size_t n) { return lane_dot(x, w, n); }

// w += a x; every column stands alone, so no order is involved.
STEELYARD_WIDEST static void add_scaled(const double *x, double a, double *w, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j)
    w[j] += a * x[j];
}
STEELYARD_WIDEST static void add_scaled(const float *x, double a, double *w, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j)
    w[j] += a * static_cast<double>(x[j]);
}

} // namespace steelyard
