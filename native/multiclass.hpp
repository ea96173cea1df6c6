// Online learning of K costs: one weight vector a class, each by one-sided regression. The loss is that of paper 002,
// eq. (2); the step is that of paper 000.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "rows.hpp"

namespace steelyard {

struct CostWeights {
  double *w;    // K x d
  double *bias; // K
  std::size_t classes, d;
  bool constant; // the biases are learned too
  double *of(std::size_t k) const { return w + k * d; }
};

// What is known of row i: targets t[k] of the predicted costs, and whether the answer k is one of the cheapest.
struct CostRows {
  const double *target; // n x K
  const bool *cheapest; // n x K
};

// The predicted cost of every answer; false if one of them is not finite.
template <class Rows> bool predict_costs(const CostWeights &weights, const Rows &rows, std::size_t i, double *cost) {
  double check = 0;
  for (std::size_t k = 0; k < weights.classes; ++k) {
    cost[k] = rows.dot(i, weights.of(k)) + weights.bias[k];
    check += cost[k] * 0.0;
  }
  return check == 0;
}

struct Answer {
  std::size_t best;
  double gap; // how much dearer the second best answer seems
};

inline Answer cheapest_answer(const double *cost, std::size_t classes) {
  Answer answer{0, 0.0};
  for (std::size_t k = 1; k < classes; ++k)
    if (cost[k] <= cost[answer.best]) // ties go to the last class, as a score of 0 goes to the positive one
      answer.best = k;
  bool first = true;
  for (std::size_t k = 0; k < classes; ++k)
    if (k != answer.best) {
      const double gap = cost[k] - cost[answer.best];
      if (first || gap < answer.gap)
        answer.gap = gap;
      first = false;
    }
  return answer;
}

// Gradient steps on max(0, Z (g - t)), Z = 1 for the cheapest answers and -1 for the others; whether any was taken.
template <class Rows>
bool learn_costs(const CostWeights &weights, const Rows &rows, std::size_t i, const double *cost, const CostRows &truth,
                 double eta) {
  bool changed = false;
  for (std::size_t k = 0; k < weights.classes; ++k) {
    const double target = truth.target[i * weights.classes + k];
    const double side = truth.cheapest[i * weights.classes + k] ? 1.0 : -1.0;
    if (side * (cost[k] - target) <= 0)
      continue;
    rows.add(i, -side * eta, weights.of(k));
    if (weights.constant)
      weights.bias[k] -= side * eta;
    changed = true;
  }
  return changed;
}

constexpr std::int64_t costs_finished = -1, costs_overflowed = -2;

// Predicts and learns row by row; -1, the first row that cannot be used, or -2 for an overflow.
template <class Rows>
std::int64_t run_costs(const CostWeights &weights, const Rows &rows, const CostRows &truth, double eta, double *cost,
                       double *gap, std::int64_t *answer, std::uint64_t &updates) {
  for (std::size_t i = 0; i < rows.n; ++i) {
    double *row_cost = cost; // one row of scratch
    if (!rows.vet(i) || !predict_costs(weights, rows, i, row_cost))
      return static_cast<std::int64_t>(i);
    const Answer found = cheapest_answer(row_cost, weights.classes);
    gap[i] = found.gap;
    answer[i] = static_cast<std::int64_t>(found.best);
    updates += learn_costs(weights, rows, i, row_cost, truth, eta);
  }
  const bool finite = DenseRows<double>::finite(weights.w, weights.classes * weights.d) &&
                      DenseRows<double>::finite(weights.bias, weights.classes);
  return finite ? costs_finished : costs_overflowed;
}

template <class Rows> std::int64_t cost_table(const CostWeights &weights, const Rows &rows, double *cost) {
  for (std::size_t i = 0; i < rows.n; ++i)
    if (!rows.vet(i) || !predict_costs(weights, rows, i, cost + i * weights.classes))
      return static_cast<std::int64_t>(i);
  return costs_finished;
}

} // namespace steelyard
