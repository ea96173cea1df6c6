// Online learning of K costs: one weight vector a class, each by one-sided regression. The loss is that of paper 002,
// eq. (2); the step is that of paper 000. Labels are asked for as in paper 001: rounds, budget and draws are a
// Stream's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "online.hpp"
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
  const double *draw;   // n, null for draw(seed, t)
};

struct CostPlan {
  double eta;
  std::size_t negative; // the answer that query rules take for the negative one
};

struct CostRecord {
  double *gap;
  std::int64_t *answer;
  double *chance; // null if every label is asked for
  bool *asked;
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

// What a query rule sees: the distance to the second best answer, below zero on the negative side.
inline Glance glance_at(const Answer &answer, std::size_t negative, std::uint64_t t) {
  const bool positive = answer.best != negative;
  return {positive ? answer.gap : -answer.gap, positive, t};
}

// Gradient steps on max(0, Z (g - t)), Z = 1 for the cheapest answers and -1 for the others; whether any was taken.
// Where all answers cost the same there is nothing to learn.
template <class Rows>
bool learn_costs(const CostWeights &weights, const Rows &rows, std::size_t i, const double *cost, const CostRows &truth,
                 double eta) {
  const double *target = truth.target + i * weights.classes;
  const bool *cheapest = truth.cheapest + i * weights.classes;
  if (std::all_of(cheapest, cheapest + weights.classes, [](bool is) { return is; }))
    return false;
  bool changed = false;
  for (std::size_t k = 0; k < weights.classes; ++k) {
    const double side = cheapest[k] ? 1.0 : -1.0;
    if (side * (cost[k] - target[k]) <= 0)
      continue;
    rows.add(i, -side * eta, weights.of(k));
    if (weights.constant)
      weights.bias[k] -= side * eta;
    changed = true;
  }
  return changed;
}

// Whether the weights that these rows may have changed are finite.
template <class Rows> bool finite_costs(const CostWeights &weights, const Rows &rows) {
  for (std::size_t k = 0; k < weights.classes; ++k)
    if (!rows.all_finite(weights.of(k)))
      return false;
  return DenseRows<double>::finite(weights.bias, weights.classes);
}

// Predicts, perhaps asks and perhaps learns row by row; `finished`, the first row that cannot be used, or `overflowed`.
template <class Rows>
std::int64_t run_costs(const CostWeights &weights, Stream &stream, const Rows &rows, const CostRows &truth,
                       const CostPlan &plan, double *cost, const CostRecord &record) {
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!rows.vet(i) || !predict_costs(weights, rows, i, cost))
      return static_cast<std::int64_t>(i);
    const Answer found = cheapest_answer(cost, weights.classes);
    const Asked asked = stream.enter(glance_at(found, plan.negative, stream.t), truth.draw ? truth.draw + i : nullptr);
    record.gap[i] = found.gap;
    record.answer[i] = static_cast<std::int64_t>(found.best);
    if (record.chance) {
      record.chance[i] = asked.chance;
      record.asked[i] = asked.ask;
    }
    if (asked.ask)
      stream.settle(false, learn_costs(weights, rows, i, cost, truth, plan.eta));
  }
  return finite_costs(weights, rows) ? finished : overflowed;
}

// Labels that were asked for earlier.
template <class Rows>
std::int64_t learn_costs_later(const CostWeights &weights, Stream &stream, const Rows &rows, const CostRows &truth,
                               double eta, double *cost) {
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!rows.vet(i) || !predict_costs(weights, rows, i, cost))
      return static_cast<std::int64_t>(i);
    stream.settle(false, learn_costs(weights, rows, i, cost, truth, eta));
  }
  return finite_costs(weights, rows) ? finished : overflowed;
}

template <class Rows> std::int64_t cost_table(const CostWeights &weights, const Rows &rows, double *cost) {
  for (std::size_t i = 0; i < rows.n; ++i)
    if (!rows.vet(i) || !predict_costs(weights, rows, i, cost + i * weights.classes))
      return static_cast<std::int64_t>(i);
  return finished;
}

} // namespace steelyard
