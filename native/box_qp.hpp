// min 1/2 x'Hx + q'x over a box: the dual of kernel CS-LDM (paper 004, eq. 13). H dense, symmetric, row-major.
#pragma once

#include "ldm_lanes.hpp"
#include "pulse.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace steelyard {

struct Box {
  const double *lower;
  const double *upper;
  std::size_t size;
};

// sum_i max over the box of g_i (x_i - z_i): the duality gap of a box-constrained quadratic at x with gradient g.
inline double box_gap(const Box &box, const double *x, const double *gradient) {
  double gap = 0.0;
  for (std::size_t i = 0; i < box.size; ++i)
    gap += gradient[i] > 0 ? gradient[i] * (x[i] - box.lower[i]) : gradient[i] * (x[i] - box.upper[i]);
  return gap;
}

// A zero on the diagonal means the objective is linear along that coordinate: eq. (17) then goes to the bound.
inline double inverse_curvature(double h) { return 1.0 / (h > 1e-300 ? h : 1e-300); }

// One greedy step: moves the gradient by delta * row and returns the coordinate whose own exact step promises most.
// room_down = lower - x <= 0 and room_up = upper - x >= 0; promise = -g * step, between one and two times the decrease.
STEELYARD_CLONES inline std::size_t shift_and_choose(double delta, const double *row, double *gradient,
                                                     const double *inverse, const double *room_down,
                                                     const double *room_up, std::size_t n, double *promise) {
  using Index = std::int64_t __attribute__((vector_size(32)));
  Lanes best = {};
  Index at = {}, here = {0, 1, 2, 3};
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes, here += static_cast<std::int64_t>(kLanes)) {
    const Lanes g = lanes(gradient + k) + delta * lanes(row + k);
    std::memcpy(gradient + k, &g, sizeof g);
    const Lanes low = lanes(room_down + k), high = lanes(room_up + k);
    Lanes step = -g * lanes(inverse + k);
    step = step < low ? low : step;
    step = step > high ? high : step;
    const Lanes gain = -g * step;
    const Index better = gain > best;
    best = better ? gain : best;
    at = better ? here : at;
  }
  double most = 0.0;
  std::size_t chosen = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if (best[lane] > most)
      most = best[lane], chosen = static_cast<std::size_t>(at[lane]);
  for (; k < n; ++k) {
    gradient[k] += delta * row[k];
    const double gain = -gradient[k] * clamp(-gradient[k] * inverse[k], room_down[k], room_up[k]);
    if (gain > most)
      most = gain, chosen = k;
  }
  *promise = most;
  return chosen;
}

// Greedy coordinate descent from x with gradient Hx + q, both updated in place, until the gap is at most `target`,
// nothing can be gained, or `limit` steps are made. Returns the steps made.
inline std::size_t greedy_box_qp(const double *hessian, const Box &box, double *x, double *gradient, double target,
                                 std::size_t limit) {
  const std::size_t n = box.size;
  std::vector<double> inverse(n), down(n), up(n);
  for (std::size_t i = 0; i < n; ++i) {
    inverse[i] = inverse_curvature(hessian[i * n + i]);
    down[i] = box.lower[i] - x[i];
    up[i] = box.upper[i] - x[i];
  }
  double promise = 0.0, delta = 0.0;
  std::size_t chosen = 0;
  Pulse pulse;
  for (std::size_t step = 0; step < limit; ++step) {
    pulse.spend(n);
    chosen =
        shift_and_choose(delta, hessian + chosen * n, gradient, inverse.data(), down.data(), up.data(), n, &promise);
    // The gap costs as much as a step: look once a sweep, and when n times the largest promise has become small.
    const bool look = step % n == 0 || promise * static_cast<double>(n) <= 0.1 * target;
    if (promise <= 0.0 || (look && box_gap(box, x, gradient) <= target))
      return step;
    delta = clamp(-gradient[chosen] * inverse[chosen], down[chosen], up[chosen]);
    // At a bound the room is exactly zero, so that a variable rests on its bound and not a rounding error beside it.
    x[chosen] = delta == down[chosen] ? box.lower[chosen] : delta == up[chosen] ? box.upper[chosen] : x[chosen] + delta;
    down[chosen] = box.lower[chosen] - x[chosen];
    up[chosen] = box.upper[chosen] - x[chosen];
  }
  axpy(delta, hessian + chosen * n, gradient, n);
  return limit;
}

// One sweep of the paper's Algorithm 1 (mu = x - lower): `signed_gram` = YG, `update` = (Q^-1 G Y)' row by row,
// coefficients alpha kept along. Returns the largest projected gradient met.
STEELYARD_CLONES inline double algorithm1_sweep(const double *signed_gram, const double *update, const double *diagonal,
                                                const double *lower, const double *upper, std::size_t n, double *x,
                                                double *alpha) {
  double largest = 0.0;
  Pulse pulse;
  for (std::size_t i = 0; i < n; ++i) {
    pulse.spend(2 * n);
    const double gradient = dot(signed_gram + i * n, alpha, n) - 1.0;
    const double step = clamp(-gradient * inverse_curvature(diagonal[i]), lower[i] - x[i], upper[i] - x[i]);
    if (step == 0.0)
      continue; // eq. (16): the projected gradient is zero
    const double size = gradient < 0 ? -gradient : gradient;
    if (size > largest)
      largest = size;
    x[i] = clamp(x[i] + step, lower[i], upper[i]); // eq. (17)
    axpy(step, update + i * n, alpha, n);
  }
  return largest;
}

} // namespace steelyard
