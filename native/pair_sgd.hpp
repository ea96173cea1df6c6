// Averaged stochastic gradient descent on pairs of examples: the paper's Algorithm 2 (004, eq. 19 and 20).
#pragma once

#include "pair_rows.hpp"

#include <cmath>

namespace steelyard {

// The objective of eq. (18) divided by `scale`: decay |w|^2 / 2 + variance term + theta_i times the slopes.
struct PairLoss {
  const double *theta;
  double mean_slope;  // pull of the margin mean
  double hinge_slope; // pull of the hinge while a margin is below 1
  double variance;    // 4 lambda1 / scale
  double decay;       // 1 / scale
};

// w = weights * scale; the sum of all averaged w = sums + carried * weights. Both change in O(nnz) a step.
struct Averaged {
  double scale = 1.0;
  double carried = 0.0;
};

struct PairSteps {
  const std::int32_t *i_of, *j_of;
  std::size_t count;
  double eta0;        // step size eta0 (1 + eta0 decay t)^-0.75
  std::int64_t first; // t of the first step
  std::int64_t from;  // the average is over steps from this on
};

// The lazy factors written into the slots.
template <class Rows> Averaged fold(const Rows &rows, const Averaged &state, double *slots) {
  for (std::size_t c = 0; c < rows.width(); ++c) {
    double &weight = slots[rows.weight_slot(c)];
    slots[rows.sum_slot(c)] += state.carried * weight;
    weight *= state.scale;
  }
  return {};
}

// `below` if x < limit, else `other`, in vector registers: a branch could not be foretold, a table takes longer.
STEELYARD_INTO_CLONES double choose(double x, double limit, double below, double other) {
  const WeightAndSum chosen =
      WeightAndSum{x, x} < WeightAndSum{limit, limit} ? WeightAndSum{below, below} : WeightAndSum{other, other};
  return chosen[0];
}

template <bool PAIRED, class Rows>
STEELYARD_INTO_CLONES void pair_steps(const Rows &rows, const PairLoss &loss, const PairSteps &steps, double *slots,
                                      Averaged *state) {
  constexpr std::size_t ahead = 8, batch = 64;
  Averaged s = *state;
  const double hinge_and_mean = loss.mean_slope + loss.hinge_slope;
  double eta[batch];
  for (std::size_t start = 0; start < steps.count; start += batch) {
    const std::size_t here = std::min(batch, steps.count - start);
    const std::int64_t t = steps.first + static_cast<std::int64_t>(start);
    for (std::size_t k = 0; k < batch; ++k) {
      const double root = std::sqrt(1.0 + steps.eta0 * loss.decay * static_cast<double>(t + static_cast<int>(k)));
      eta[k] = steps.eta0 / (root * std::sqrt(root));
    }
    const std::int32_t *i_of = steps.i_of + start, *j_of = steps.j_of + start;
    for (std::size_t k = 0; k < here; ++k) {
      if (start + k + ahead < steps.count) {
        rows.prefetch(static_cast<std::size_t>(i_of[k + ahead]));
        if (PAIRED)
          rows.prefetch(static_cast<std::size_t>(j_of[k + ahead]));
      }
      const std::size_t i = static_cast<std::size_t>(i_of[k]);
      const double other = PAIRED ? rows.dot(static_cast<std::size_t>(j_of[k]), slots) : 0.0;
      const double mine = rows.dot(i, slots);
      const double theta = loss.theta[i];
      double push = choose(mine * s.scale, 1.0, theta * hinge_and_mean, theta * loss.mean_slope);
      if (PAIRED)
        push -= loss.variance * s.scale * (mine - other);
      s.scale *= 1.0 - eta[k] * loss.decay;
      const double add = eta[k] / s.scale * push;
      if (add != 0.0)
        rows.add(i, add, -add * s.carried, slots);
      if (t + static_cast<std::int64_t>(k) >= steps.from)
        s.carried += s.scale;
      if (s.scale < 1e-5) // before sums and carried * weights are so large that their difference loses digits
        s = fold(rows, s, slots);
    }
  }
  *state = s;
}

template <class Rows>
STEELYARD_INTO_CLONES void run_pair_steps(const Rows &rows, const PairLoss &loss, const PairSteps &steps, double *slots,
                                          Averaged *state) {
  if (loss.variance > 0.0)
    pair_steps<true>(rows, loss, steps, slots, state);
  else
    pair_steps<false>(rows, loss, steps, slots, state);
}

STEELYARD_CLONES inline void run(const DensePairRows<float> &rows, const PairLoss &loss, const PairSteps &steps,
                                 double *slots, Averaged *state) {
  run_pair_steps(rows, loss, steps, slots, state);
}
STEELYARD_CLONES inline void run(const DensePairRows<double> &rows, const PairLoss &loss, const PairSteps &steps,
                                 double *slots, Averaged *state) {
  run_pair_steps(rows, loss, steps, slots, state);
}
template <class Rows>
void run(const Rows &rows, const PairLoss &loss, const PairSteps &steps, double *slots, Averaged *state) {
  run_pair_steps(rows, loss, steps, slots, state);
}

// The steps on weights and sums of their own: w and the sum of the averaged w, with no lazy factors left.
inline void run_steps(const PairRows &any, const PairLoss &loss, const PairSteps &steps, double *w, double *sums) {
  std::visit(
      [&](const auto &rows) {
        AlignedSlots aligned(rows.slots());
        double *slots = aligned.data();
        for (std::size_t c = 0; c < rows.width(); ++c) {
          slots[rows.weight_slot(c)] = w[c];
          slots[rows.sum_slot(c)] = sums[c];
        }
        Averaged state;
        run(rows, loss, steps, slots, &state);
        fold(rows, state, slots);
        for (std::size_t c = 0; c < rows.width(); ++c) {
          w[c] = slots[rows.weight_slot(c)];
          sums[c] = slots[rows.sum_slot(c)];
        }
      },
      any);
}

// Margins y_i w'x_i of the first rows, as packed.
inline void pair_margins(const PairRows &any, const double *w, std::size_t count, double *out) {
  std::visit(
      [&](const auto &rows) {
        AlignedSlots slots(rows.slots());
        for (std::size_t c = 0; c < rows.width(); ++c)
          slots.data()[rows.weight_slot(c)] = w[c];
        for (std::size_t i = 0; i < count; ++i)
          out[i] = rows.dot(i, slots.data());
      },
      any);
}

} // namespace steelyard
