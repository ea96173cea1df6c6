// Online learning of K costs: one weight vector a class, each by one-sided regression. The losses are those of paper
// 002, eq. (2); the steps are those of paper 000. Labels are asked for as in paper 001: rounds, budget and draws are a
// Stream's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "online.hpp"
#include "rows.hpp"
#include "strides.hpp"

namespace steelyard {

// Everything that is fixed for the life of a stream.
struct CostPlan {
  std::size_t classes, d;
  Stride rule;
  std::vector<double> costs; // K x K, C[true, predicted]
  std::size_t negative;      // the answer that query rules take for the negative one
  bool constant;             // the biases are learned too
  double odds;               // above 0: costs follow the labels seen; eta_p / eta_n where there are two classes
  std::size_t positive;      // of two classes the one whose cost follows
};

// What is known of row i, besides its features.
struct CostRows {
  const std::int64_t *label; // n
  const double *costs;       // n x K, null for those of the class
  const double *weight;      // n, null for ones
  const double *draw;        // n, null for draw(seed, t)
};

struct CostRecord {
  double *gap;
  std::int64_t *answer;
  double *chance; // null if every label is asked for
  bool *asked;
};

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

struct CostStream {
  Stream stream; // rounds, budget and draws; it has no features
  CostPlan plan;
  std::vector<double> w, bias; // K x d, K
  // Sum over the rounds of w = t * w + u, as in Weights; both empty if no average is wanted (any more).
  std::vector<double> u, bias_sum;
  std::vector<std::uint64_t> seen; // labels learned from, by class
  std::vector<double> estimate, price;

  CostStream(const Stream &inquiry, const CostPlan &fixed, bool averaging)
      : stream(inquiry), plan(fixed), w(fixed.classes * fixed.d), bias(fixed.classes), u(averaging ? w.size() : 0),
        bias_sum(averaging ? fixed.classes : 0), seen(fixed.classes), estimate(fixed.classes), price(fixed.classes) {}

  bool averaging() const { return !bias_sum.empty(); }

  // What a query rule sees: the distance to the second best answer, below zero on the negative side.
  Glance glance_at(const Answer &answer) const {
    const bool positive = answer.best != plan.negative;
    return {positive ? answer.gap : -answer.gap, positive, stream.t};
  }

  // From a Glance, or from the chance that a rule written in Python answered.
  template <class Sight> Asked enter(const Sight &sight, const double *given_draw) {
    for (std::size_t k = 0; k < bias_sum.size(); ++k)
      bias_sum[k] += bias[k];
    return stream.enter(sight, given_draw);
  }

  // Factor to the costs of a class, from the labels before this one. Paper 000, remark after Algorithm 1; with more
  // than two classes every class is to weigh as much as the most frequent one.
  double factor(std::size_t label) const {
    if (plan.odds == 0)
      return 1.0;
    const double own = static_cast<double>(seen[label]) + 1.0;
    if (plan.classes == 2)
      return label == plan.positive ? (static_cast<double>(seen[1 - label]) + 1.0) / own * plan.odds : 1.0;
    return (static_cast<double>(*std::max_element(seen.begin(), seen.end())) + 1.0) / own;
  }

  // The costs of all answers of a row whose label is known.
  void put_price(std::size_t label, const double *given, double weight) {
    const double *costs = given ? given : plan.costs.data() + label * plan.classes;
    const double times = given ? weight : factor(label) * weight;
    for (std::size_t k = 0; k < plan.classes; ++k)
      price[k] = costs[k] * times;
  }

  // w[k] moves by `by` x.
  template <class Rows> void move(const Rows &rows, std::size_t i, std::size_t k, double by) {
    rows.add(i, by, w.data() + k * plan.d);
    if (averaging())
      rows.add(i, -static_cast<double>(stream.t) * by, u.data() + k * plan.d);
    if (plan.constant)
      bias[k] += by;
  }

  // The label has come: it is paid for and counted, whether or not the weights change.
  void settle(std::size_t label, bool changed) {
    stream.settle(false, changed);
    ++seen[label];
    if (!averaging() || static_cast<double>(stream.spent) < stream.plan.limit)
      return;
    const double rounds = static_cast<double>(stream.t); // option II
    for (std::size_t j = 0; j < w.size(); ++j)
      w[j] = (rounds * w[j] + u[j]) / rounds;
    for (std::size_t k = 0; k < bias.size(); ++k)
      bias[k] = bias_sum[k] / rounds;
    u.clear(), bias_sum.clear();
  }
};

// The predicted cost of every answer; false if one of them is not finite.
template <class Rows> bool predict_costs(const CostStream &costs, const Rows &rows, std::size_t i, double *estimate) {
  double check = 0;
  for (std::size_t k = 0; k < costs.plan.classes; ++k) {
    estimate[k] = rows.dot(i, costs.w.data() + k * costs.plan.d) + costs.bias[k];
    check += estimate[k] * 0.0;
  }
  return check == 0;
}

template <class Rows> double square_of(const CostStream &costs, const Rows &rows, std::size_t i) {
  return costs.plan.constant ? rows.square(i) + 1.0 : rows.square(i);
}

// Steps by the rule for every answer whose estimate is on the wrong side of its target; `estimate` and `price` are
// those of the row. False if a step is not finite. Where all answers cost the same there is nothing to learn.
template <class Rows> bool learn_costs(CostStream &costs, const Rows &rows, std::size_t i, std::size_t label) {
  const auto [low, high] = std::minmax_element(costs.price.begin(), costs.price.end());
  const double cheapest = *low, range = *high - *low, middle = (*low + *high) / 2;
  bool changed = false;
  const auto steps = [&](const auto &rule) {
    Lack lack{0, 0, range, rule.x2 ? square_of(costs, rows, i) : 0.0};
    for (std::size_t k = 0; k < costs.plan.classes; ++k) {
      const double side = costs.price[k] == cheapest ? 1.0 : -1.0, target = costs.price[k] - middle;
      lack.margin = 2.0 * side * (costs.estimate[k] - target);
      lack.share = 2.0 * side * (costs.estimate[k] - target / range);
      const double stride = rule(lack);
      if (!std::isfinite(stride))
        return false;
      if (stride == 0.0)
        continue;
      costs.move(rows, i, k, -side * (stride / 2));
      changed = true;
    }
    return true;
  };
  if (!std::isfinite(range) || (range > 0 && !std::visit(steps, costs.plan.rule)))
    return false;
  costs.settle(label, changed);
  return true;
}

// Whether the weights that these rows may have changed are finite.
template <class Rows> bool finite_costs(const CostStream &costs, const Rows &rows) {
  for (std::size_t k = 0; k < costs.plan.classes; ++k)
    if (!rows.all_finite(costs.w.data() + k * costs.plan.d))
      return false;
  return DenseRows<double>::finite(costs.bias.data(), costs.bias.size());
}

// The stream as it was before some rows, to return to if they turn out to be unusable.
template <class Rows> class CostUndo {
 public:
  CostUndo(const CostStream &costs, const Rows &rows)
      : rows_(rows), few_(rows.few() && !costs.averaging()), counts_(costs.stream), bias_(costs.bias),
        bias_sum_(costs.bias_sum), seen_(costs.seen) {
    if (!few_) {
      w_ = costs.w, u_ = costs.u;
      return;
    }
    touched_.resize(costs.plan.classes);
    for (std::size_t k = 0; k < touched_.size(); ++k)
      rows_.gather(costs.w.data() + k * costs.plan.d, touched_[k]);
  }
  void restore(CostStream &costs) const {
    static_cast<Counts &>(costs.stream) = counts_;
    costs.bias = bias_, costs.bias_sum = bias_sum_, costs.seen = seen_;
    if (!few_)
      costs.w = w_, costs.u = u_;
    for (std::size_t k = 0; k < touched_.size(); ++k)
      rows_.scatter(touched_[k], costs.w.data() + k * costs.plan.d);
  }

 private:
  const Rows &rows_;
  bool few_;
  Counts counts_;
  std::vector<double> bias_, bias_sum_;
  std::vector<std::uint64_t> seen_;
  std::vector<double> w_, u_;
  std::vector<std::vector<double>> touched_;
};

template <class Rows>
std::int64_t run_cost_rows(CostStream &costs, const Rows &rows, const CostRows &truth, const CostRecord &record) {
  const std::size_t K = costs.plan.classes;
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!rows.vet(i) || !predict_costs(costs, rows, i, costs.estimate.data()))
      return static_cast<std::int64_t>(i);
    const Answer found = cheapest_answer(costs.estimate.data(), K);
    const Asked asked = costs.enter(costs.glance_at(found), truth.draw ? truth.draw + i : nullptr);
    record.gap[i] = found.gap;
    record.answer[i] = static_cast<std::int64_t>(found.best);
    if (record.chance) {
      record.chance[i] = asked.chance;
      record.asked[i] = asked.ask;
    }
    if (!asked.ask)
      continue;
    const std::size_t label = static_cast<std::size_t>(truth.label[i]);
    costs.put_price(label, truth.costs ? truth.costs + i * K : nullptr, truth.weight ? truth.weight[i] : 1.0);
    if (!learn_costs(costs, rows, i, label))
      return static_cast<std::int64_t>(i);
  }
  return finite_costs(costs, rows) ? finished : overflowed;
}

// Predicts, perhaps asks and perhaps learns row by row. Returns `finished`, the first row that cannot be used, or
// `overflowed`; in the last two cases nothing has changed.
template <class Rows>
std::int64_t run_costs(CostStream &costs, const Rows &rows, const CostRows &truth, const CostRecord &record) {
  if (const std::int64_t bad = rows.few() ? first_out_of_range(rows) : finished; bad != finished)
    return bad;
  const CostUndo<Rows> undo(costs, rows);
  const std::int64_t end = run_cost_rows(costs, rows, truth, record);
  if (end != finished)
    undo.restore(costs);
  return end;
}

// One label that was asked for earlier; the same promises.
template <class Rows>
bool learn_costs_later(CostStream &costs, const Rows &row, std::size_t label, const double *given, double weight) {
  if (!predict_costs(costs, row, 0, costs.estimate.data()))
    return false;
  const CostUndo<Rows> undo(costs, row);
  costs.stream.reserved -= costs.stream.reserved > 0;
  costs.put_price(label, given, weight);
  if (learn_costs(costs, row, 0, label) && finite_costs(costs, row))
    return true;
  undo.restore(costs);
  return false;
}

template <class Rows> std::int64_t cost_table(const CostStream &costs, const Rows &rows, double *estimate) {
  for (std::size_t i = 0; i < rows.n; ++i)
    if (!rows.vet(i) || !predict_costs(costs, rows, i, estimate + i * costs.plan.classes))
      return static_cast<std::int64_t>(i);
  return finished;
}

} // namespace steelyard
