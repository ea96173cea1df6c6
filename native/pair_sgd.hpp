// Averaged stochastic gradient descent on pairs of examples: the paper's Algorithm 2 (004, eq. 19 and 20).
#pragma once

#include "pair_rows.hpp"
#include "pulse.hpp"

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

  // True before sums and carried * weights are so large that their difference loses digits.
  bool worn() const { return scale < 1e-5; }
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

// What the next steps need and the rows do not decide, worked out beforehand: roots and quotients of one step would
// hold up the next, in a loop of their own they become vectors.
struct Schedule {
  static constexpr std::int32_t most = 128;
  double scale[most + 1]; // before each step, and after the last
  double rate[most];      // step size over the scale after the step
  double carried[most];

  // How many steps from `start` on; ends early where the lazy factors must be folded.
  STEELYARD_CLONES std::size_t fill(const PairLoss &loss, const PairSteps &steps, std::size_t start, Averaged *state) {
    const std::int64_t first = steps.first + static_cast<std::int64_t>(start);
    const double t = static_cast<double>(first), eta0 = steps.eta0, decay = loss.decay;
    const double base = 1.0 + eta0 * decay * t, growth = eta0 * decay / base;
    const double eta = eta0 / (std::sqrt(base) * std::sqrt(std::sqrt(base)));
    if (growth * most < 1e-3) // (1 + u)^-0.75 by its series, whose next term is lost in rounding
      for (std::int32_t k = 0; k < most; ++k) {
        const double u = growth * k;
        rate[k] = eta * (1.0 - u * (0.75 - u * (0.65625 - u * (0.6015625 - u * 0.56396484375))));
      }
    else
      for (std::int32_t k = 0; k < most; ++k) {
        const double root = std::sqrt(1.0 + growth * k);
        rate[k] = eta / (root * std::sqrt(root));
      }
    const std::size_t left = std::min(static_cast<std::size_t>(most), steps.count - start);
    const std::int64_t unaveraged = steps.from - first;
    std::fill_n(scale, most + 1, 1.0);
    Averaged s = *state;
    std::size_t k = 0;
    for (; k < left && !s.worn(); ++k) {
      scale[k] = s.scale;
      carried[k] = s.carried;
      s.scale *= 1.0 - rate[k] * decay;
      if (static_cast<std::int64_t>(k) >= unaveraged)
        s.carried += s.scale;
    }
    scale[k] = s.scale;
    for (std::int32_t l = 0; l < most; ++l)
      rate[l] /= scale[l + 1];
    *state = s;
    return k;
  }
};

template <bool PAIRED, class Rows>
STEELYARD_INTO_CLONES void pair_steps(const Rows &rows, const PairLoss &loss, const PairSteps &steps, double *slots,
                                      Averaged *state) {
  constexpr std::size_t ahead = 8;
  const double mean_slope = loss.mean_slope, both_slopes = loss.mean_slope + loss.hinge_slope, variance = loss.variance;
  const double *theta_of = loss.theta;
  Schedule now;
  Pulse pulse;
  for (std::size_t start = 0, made; start < steps.count; start += made) {
    made = now.fill(loss, steps, start, state);
    pulse.spend(made * 64); // the rows are short or the schedule is
    const std::int32_t *i_of = steps.i_of + start, *j_of = steps.j_of + start;
    const std::size_t foreseen = steps.count - start > ahead ? steps.count - start - ahead : 0;
    for (std::size_t k = 0; k < made; ++k) {
      if (PAIRED && k < foreseen)
        rows.prefetch(static_cast<std::size_t>(j_of[k + ahead]));
      const std::size_t i = static_cast<std::size_t>(i_of[k]);
      const double other = PAIRED ? rows.dot(static_cast<std::size_t>(j_of[k]), slots) : 0.0;
      const double mine = rows.dot(i, slots);
      const double rate = now.rate[k], theta = rate * theta_of[i];
      double add = choose(mine * now.scale[k], 1.0, theta * both_slopes, theta * mean_slope);
      if (PAIRED)
        add -= rate * (variance * now.scale[k]) * (mine - other);
      if (add != 0.0)
        rows.add(i, add, -add * now.carried[k], slots);
    }
    if (state->worn())
      *state = fold(rows, *state, slots);
  }
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
        Aligned<double> aligned(rows.slots());
        double *slots = aligned.data();
        std::fill_n(slots, rows.slots(), 0.0);
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

// 0 .. count - 1 in random order from as many uniform numbers in [0, 1): Fisher's and Yates' way, inside out.
inline void shuffle(const double *uniform, std::size_t count, std::int32_t *out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t j = static_cast<std::size_t>(uniform[i] * static_cast<double>(i + 1));
    out[i] = out[j];
    out[j] = static_cast<std::int32_t>(i);
  }
}

// Margins y_i w'x_i of the first rows, as packed.
inline void pair_margins(const PairRows &any, const double *w, std::size_t count, double *out) {
  std::visit(
      [&](const auto &rows) {
        Aligned<double> slots(rows.slots());
        std::fill_n(slots.data(), rows.slots(), 0.0);
        for (std::size_t c = 0; c < rows.width(); ++c)
          slots.data()[rows.weight_slot(c)] = w[c];
        for (std::size_t i = 0; i < count; ++i)
          out[i] = rows.dot(i, slots.data());
      },
      any);
}

} // namespace steelyard
