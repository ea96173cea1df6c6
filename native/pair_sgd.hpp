// Averaged stochastic gradient descent on pairs of examples: the paper's Algorithm 2 (004, eq. 19 and 20).
#pragma once

#include "linear_ldm.hpp"

#include <cmath>

namespace steelyard {

// The objective of eq. (18) divided by `scale`: decay |w|^2 / 2 + variance term + slopes.
struct PairLoss {
  const double *y;
  const double *mean_slope;  // pull of the margin mean on row i
  const double *hinge_slope; // pull of the hinge on row i while its margin is below 1
  double variance;           // 4 lambda1 / scale
  double decay;              // 1 / scale
};

// w = weights * scale; average = (sums + carried * weights) / mass. Both sides change in O(nnz) a step.
struct Averaged {
  double scale = 1.0;
  double carried = 0.0;
  double mass = 1.0;
};

// Steps first..first+count-1 of the stream; step size eta0 (1 + eta0 decay t)^-0.75, average from step `from` on.
template <class Rows>
STEELYARD_INTO_CLONES void pair_steps(const Rows &rows, const PairLoss &loss, const std::int32_t *i_of,
                                      const std::int32_t *j_of, std::size_t count, double eta0, std::int64_t first,
                                      std::int64_t from, double *weights, double *sums, std::size_t width,
                                      Averaged *state) {
  constexpr std::size_t ahead = 6;
  const bool paired = loss.variance > 0.0;
  Averaged s = *state;
  for (std::size_t k = 0; k < count; ++k) {
    if (k + ahead < count) {
      rows.prefetch(static_cast<std::size_t>(i_of[k + ahead]));
      if (paired)
        rows.prefetch(static_cast<std::size_t>(j_of[k + ahead]));
    }
    const std::size_t i = static_cast<std::size_t>(i_of[k]);
    const std::int64_t t = first + static_cast<std::int64_t>(k);
    const double root = std::sqrt(1.0 + eta0 * loss.decay * static_cast<double>(t));
    const double eta = eta0 / (root * std::sqrt(root));
    const double margin = loss.y[i] * rows.dot(i, weights) * s.scale;
    double push = loss.mean_slope[i] + (margin < 1.0 ? loss.hinge_slope[i] : 0.0);
    if (paired) {
      const std::size_t j = static_cast<std::size_t>(j_of[k]);
      push -= loss.variance * (margin - loss.y[j] * rows.dot(j, weights) * s.scale);
    }
    s.scale *= 1.0 - eta * loss.decay;
    const double add = eta * push * loss.y[i] / s.scale;
    if (add != 0.0) {
      rows.add_to(i, add, weights);
      if (t >= from)
        rows.add_to(i, -add * s.carried, sums);
    }
    if (t >= from) {
      // average <- average + (w - average) / n with n = t - from + 1, as sums over a growing mass.
      const double share = 1.0 / static_cast<double>(t - from + 1);
      if (share == 1.0) {
        for (std::size_t c = 0; c < width; ++c)
          sums[c] = 0.0;
        s.mass = 1.0;
        s.carried = s.scale;
      } else {
        s.mass /= 1.0 - share;
        s.carried += share * s.mass * s.scale;
      }
    }
    if (s.scale < 1e-5 || s.mass > 1e5) { // fold the lazy factors back before they lose digits
      for (std::size_t c = 0; c < width; ++c) {
        sums[c] = (sums[c] + s.carried * weights[c]) / s.mass;
        weights[c] *= s.scale;
      }
      s = Averaged{1.0, 0.0, 1.0};
    }
  }
  *state = s;
}

STEELYARD_CLONES inline void dense_pair_steps(const DenseRows64 &rows, const PairLoss &loss, const std::int32_t *i_of,
                                              const std::int32_t *j_of, std::size_t count, double eta0,
                                              std::int64_t first, std::int64_t from, double *weights, double *sums,
                                              Averaged *state) {
  pair_steps(rows, loss, i_of, j_of, count, eta0, first, from, weights, sums, rows.width, state);
}

inline void sparse_pair_steps(const SparseRows &rows, std::size_t width, const PairLoss &loss, const std::int32_t *i_of,
                              const std::int32_t *j_of, std::size_t count, double eta0, std::int64_t first,
                              std::int64_t from, double *weights, double *sums, Averaged *state) {
  pair_steps(rows, loss, i_of, j_of, count, eta0, first, from, weights, sums, width, state);
}

} // namespace steelyard
