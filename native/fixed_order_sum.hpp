// Sums in a fixed order: which column goes to which of sixteen lanes depends on its number and on the length of the row
// alone, so the bits do not depend on the vector width of the machine. That is what allows a wider version of the same
// function to be chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "clones.hpp"

namespace steelyard {

constexpr std::size_t lanes = 16;

using Four = double __attribute__((vector_size(32)));
using FourFloats = float __attribute__((vector_size(16)));

STEELYARD_INTO_CLONES void load(Four &to, const double *from) { std::memcpy(&to, from, sizeof to); }
STEELYARD_INTO_CLONES void load(Four &to, const float *from) {
  FourFloats narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  to = __builtin_convertvector(narrow, Four);
}
template <class T> STEELYARD_INTO_CLONES void add_product(Four &sum, const T *x, const double *w) {
  Four a, b;
  load(a, x);
  load(b, w);
  sum += a * b;
}

// Sum of x[j] w[j]: blocks of sixteen columns, then fours, then single columns. The loads of w match the stores of
// add_scaled below, so that a row need not wait for the step before it to reach the cache.
template <class T> STEELYARD_INTO_CLONES double lane_dot(const T *x, const double *w, std::size_t n) {
  Four s0 = {}, s1 = {}, s2 = {}, s3 = {};
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    add_product(s0, x + j, w + j);
    add_product(s1, x + j + 4, w + j + 4);
    add_product(s2, x + j + 8, w + j + 8);
    add_product(s3, x + j + 12, w + j + 12);
  }
  for (; j + 4 <= n; j += 4)
    add_product(s0, x + j, w + j);
  double rest = 0; // of at most three columns: a loop over them would be made a long one for many
  if (n & 2) {
    rest = static_cast<double>(x[j]) * w[j] + static_cast<double>(x[j + 1]) * w[j + 1];
    j += 2;
  }
  if (n & 1)
    rest += static_cast<double>(x[j]) * w[j];
  const Four all = (s0 + s1) + (s2 + s3);
  return ((all[0] + all[1]) + (all[2] + all[3])) + rest;
}

template <class T> STEELYARD_INTO_CLONES void lane_add(const T *x, double a, double *w, std::size_t n) {
  const Four factor = {a, a, a, a};
  std::size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    Four row, sum;
    load(row, x + j);
    load(sum, w + j);
    sum += factor * row;
    std::memcpy(w + j, &sum, sizeof sum);
  }
  if (n & 2) {
    w[j] += a * static_cast<double>(x[j]);
    w[j + 1] += a * static_cast<double>(x[j + 1]);
    j += 2;
  }
  if (n & 1)
    w[j] += a * static_cast<double>(x[j]);
}

STEELYARD_CLONES static double dot(const double *x, const double *w, std::size_t n) { return lane_dot(x, w, n); }
STEELYARD_CLONES static double dot(const float *x, const double *w, std::size_t n) { return lane_dot(x, w, n); }

// w += a x.
STEELYARD_CLONES static void add_scaled(const double *x, double a, double *w, std::size_t n) { lane_add(x, a, w, n); }
STEELYARD_CLONES static void add_scaled(const float *x, double a, double *w, std::size_t n) { lane_add(x, a, w, n); }

// Whether every column lies in 0 .. bound - 1; a negative one counts as a very great one.
template <class U, class I> STEELYARD_INTO_CLONES bool below(const I *column, std::size_t n, std::size_t bound) {
  U greatest = 0;
  for (std::size_t k = 0; k < n; ++k)
    greatest = static_cast<U>(column[k]) > greatest ? static_cast<U>(column[k]) : greatest;
  return greatest < bound || n == 0;
}
STEELYARD_CLONES static bool all_below(const std::int32_t *column, std::size_t n, std::size_t bound) {
  return below<std::uint32_t>(column, n, bound);
}
STEELYARD_CLONES static bool all_below(const std::int64_t *column, std::size_t n, std::size_t bound) {
  return below<std::uint64_t>(column, n, bound);
}

} // namespace steelyard
