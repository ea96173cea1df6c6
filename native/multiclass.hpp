// Online learning of K costs: one weight vector a class, each by one-sided regression. The losses are those of paper
// 002, eq. (2); the steps are those of paper 000. Labels are queried as in paper 001: rounds, budget and draws are a
// Stream's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.hpp"
#include "online.hpp"
#include "pulse.hpp"
#include "rows.hpp"
#include "stream.hpp"

namespace steelyard {

// Everything that is fixed for the life of a stream.
struct CostConfig {
  std::size_t classes, d;
  ClassRule rule;
  std::vector<double> costs; // K x K, C[true, predicted]
  std::size_t negative;      // the class that query rules take for the negative one
  bool fit_intercept;        // the biases are learned too
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

struct CostColumns {
  double *gap;
  std::int64_t *prediction;
  double *query_probability; // null if every label is queried
  bool *queried;
};

struct CheapestClass {
  std::size_t best;
  double gap; // how much more the second best class seems to cost
};

inline CheapestClass cheapest_class(const double *cost, std::size_t classes) {
  CheapestClass found{0, 0.0};
  for (std::size_t k = 1; k < classes; ++k)
    if (cost[k] <= cost[found.best]) // ties go to the last class, as a score of 0 goes to the positive one
      found.best = k;
  bool first = true;
  for (std::size_t k = 0; k < classes; ++k)
    if (k != found.best) {
      const double gap = cost[k] - cost[found.best];
      if (first || gap < found.gap)
        found.gap = gap;
      first = false;
    }
  return found;
}

struct CostStream {
  Stream stream; // rounds, budget and draws; it has no features
  CostConfig config;
  std::vector<double> w, bias; // K x d, K
  // Sum over the rounds of w = t * w + u, as in Weights; both empty if no average is wanted (any more).
  std::vector<double> u, bias_sum;
  std::vector<std::uint64_t> seen; // labels learned from, by class
  std::vector<double> estimate, price;

  CostStream(const Stream &queries, const CostConfig &fixed, bool averaging)
      : stream(queries), config(fixed), w(fixed.classes * fixed.d), bias(fixed.classes), u(averaging ? w.size() : 0),
        bias_sum(averaging ? fixed.classes : 0), seen(fixed.classes), estimate(fixed.classes), price(fixed.classes) {}

  bool averaging() const { return !bias_sum.empty(); }

  // What a query rule sees: the distance to the second best class, below zero on the negative side.
  QueryInput query_input(const CheapestClass &found) const {
    const bool positive = found.best != config.negative;
    return {positive ? found.gap : -found.gap, positive, stream.t};
  }

  // From a QueryInput, or from the probability that a rule written in Python returned.
  template <class Input> QueryDecision enter(const Input &input, const double *given_draw) {
    begin_round();
    const QueryDecision decision = stream.enter(input, given_draw);
    end_round();
    return decision;
  }
  void begin_round() {
    for (std::size_t k = 0; k < bias_sum.size(); ++k)
      bias_sum[k] += bias[k];
  }
  void end_round() {
    if (averaging() && static_cast<double>(stream.spent) >= stream.config.limit)
      become_average();
  }

  // As Stream::pass_rounds.
  void pass_rounds(std::uint64_t until) {
    while (stream.t < until && averaging()) {
      begin_round();
      stream.pass_rounds(stream.t + 1);
      end_round();
    }
    stream.pass_rounds(until);
  }

  // Factor to the costs of a class, from the labels before this one. Paper 000, remark after Algorithm 1; with more
  // than two classes every class is to weigh as much as the most frequent one.
  double factor(std::size_t label) const {
    if (config.odds == 0)
      return 1.0;
    const double own = static_cast<double>(seen[label]) + 1.0;
    if (config.classes == 2)
      return label == config.positive ? (static_cast<double>(seen[1 - label]) + 1.0) / own * config.odds : 1.0;
    return (static_cast<double>(*std::max_element(seen.begin(), seen.end())) + 1.0) / own;
  }

  // The costs of all classes of a row whose label is known.
  void put_price(std::size_t label, const double *given, double weight) {
    const double *costs = given ? given : config.costs.data() + label * config.classes;
    const double times = given ? weight : factor(label) * weight;
    for (std::size_t k = 0; k < config.classes; ++k)
      price[k] = costs[k] * times;
  }

  // w[k] moves by `by` x.
  template <class Rows> void move(const Rows &rows, std::size_t i, std::size_t k, double by) {
    rows.add(i, by, w.data() + k * config.d);
    if (averaging())
      rows.add(i, -static_cast<double>(stream.t) * by, u.data() + k * config.d);
    if (config.fit_intercept)
      bias[k] += by;
  }

  // The label has come: it is paid for and counted, whether or not the weights change.
  void settle(std::size_t label, bool changed) {
    stream.settle(false, changed);
    ++seen[label];
  }

  void become_average() { // option II of paper 001, as in Stream::enter
    const double rounds = static_cast<double>(stream.t);
    for (std::size_t j = 0; j < w.size(); ++j)
      w[j] = (rounds * w[j] + u[j]) / rounds;
    for (std::size_t k = 0; k < bias.size(); ++k)
      bias[k] = bias_sum[k] / rounds;
    u.clear(), bias_sum.clear();
  }
};

// The predicted cost of every class; false if one of them is not finite.
template <class Rows> bool predict_costs(const CostStream &costs, const Rows &rows, std::size_t i, double *estimate) {
  double check = 0;
  for (std::size_t k = 0; k < costs.config.classes; ++k) {
    estimate[k] = rows.dot(i, costs.w.data() + k * costs.config.d) + costs.bias[k];
    check += estimate[k] * 0.0;
  }
  return check == 0;
}

template <class Rows> double square_of(const CostStream &costs, const Rows &rows, std::size_t i) {
  return costs.config.fit_intercept ? rows.square(i) + 1.0 : rows.square(i);
}

// The step of the rule for every class whose estimate is on the wrong side of its target; `estimate` and `price` are
// those of the row. False if a step is not finite. Where all classes cost the same there is nothing to learn.
template <class Rows> bool learn_costs(CostStream &costs, const Rows &rows, std::size_t i, std::size_t label) {
  const auto [low, high] = std::minmax_element(costs.price.begin(), costs.price.end());
  const double cheapest = *low, range = *high - *low, middle = (*low + *high) / 2;
  if (!std::isfinite(range))
    return false;
  bool changed = false;
  ClassInput input{0, 0, range, needs_norm(costs.config.rule) ? square_of(costs, rows, i) : 0.0};
  for (std::size_t k = 0; range > 0 && k < costs.config.classes; ++k) {
    const double side = costs.price[k] == cheapest ? 1.0 : -1.0, target = costs.price[k] - middle;
    input.margin = 2.0 * side * (costs.estimate[k] - target);
    input.share = 2.0 * side * (costs.estimate[k] - target / range);
    const double step = class_step(costs.config.rule, input);
    if (!std::isfinite(step))
      return false;
    if (step == 0.0)
      continue;
    costs.move(rows, i, k, -side * (step / 2));
    changed = true;
  }
  costs.settle(label, changed);
  return true;
}

// Whether the weights that these rows may have changed are finite.
template <class Rows> bool finite_costs(const CostStream &costs, const Rows &rows) {
  for (std::size_t k = 0; k < costs.config.classes; ++k)
    if (!rows.all_finite(costs.w.data() + k * costs.config.d))
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
    touched_.resize(costs.config.classes);
    for (std::size_t k = 0; k < touched_.size(); ++k)
      rows_.gather(costs.w.data() + k * costs.config.d, touched_[k]);
  }
  void restore(CostStream &costs) const {
    static_cast<Counts &>(costs.stream) = counts_;
    costs.bias = bias_, costs.bias_sum = bias_sum_, costs.seen = seen_;
    if (!few_)
      costs.w = w_, costs.u = u_;
    for (std::size_t k = 0; k < touched_.size(); ++k)
      rows_.scatter(touched_[k], costs.w.data() + k * costs.config.d);
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
std::int64_t run_cost_rows(CostStream &costs, const Rows &rows, const CostRows &truth, const CostColumns &columns) {
  const std::size_t K = costs.config.classes;
  Pulse pulse;
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!rows.in_range(i) || !predict_costs(costs, rows, i, costs.estimate.data()))
      return static_cast<std::int64_t>(i);
    const CheapestClass found = cheapest_class(costs.estimate.data(), K);
    const QueryDecision decision = costs.enter(costs.query_input(found), truth.draw ? truth.draw + i : nullptr);
    columns.gap[i] = found.gap;
    columns.prediction[i] = static_cast<std::int64_t>(found.best);
    if (columns.query_probability) {
      columns.query_probability[i] = decision.probability;
      columns.queried[i] = decision.query;
    }
    pulse.spend(K * rows.length(i));
    if (!decision.query)
      continue;
    const std::size_t label = static_cast<std::size_t>(truth.label[i]);
    costs.put_price(label, truth.costs ? truth.costs + i * K : nullptr, truth.weight ? truth.weight[i] : 1.0);
    if (!learn_costs(costs, rows, i, label))
      return static_cast<std::int64_t>(i);
  }
  return finite_costs(costs, rows) ? finished : overflowed;
}

// Predicts, perhaps queries and perhaps learns row by row. Returns `finished`, the first row that cannot be used, or
// `overflowed`; in the last two cases, and if the run is stopped, nothing has changed.
template <class Rows>
std::int64_t run_costs(CostStream &costs, const Rows &rows, const CostRows &truth, const CostColumns &columns) {
  if (const std::int64_t bad = rows.few() ? first_out_of_range(rows) : finished; bad != finished)
    return bad;
  const CostUndo<Rows> undo(costs, rows);
  try {
    const std::int64_t end = run_cost_rows(costs, rows, truth, columns);
    if (end != finished)
      undo.restore(costs);
    return end;
  } catch (...) {
    undo.restore(costs);
    throw;
  }
}

// One label that was queried earlier; the same promises.
template <class Rows>
bool learn_costs_delayed(CostStream &costs, const Rows &row, std::size_t label, const double *given, double weight) {
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
  Pulse pulse;
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!rows.in_range(i) || !predict_costs(costs, rows, i, estimate + i * costs.config.classes))
      return static_cast<std::int64_t>(i);
    pulse.spend(costs.config.classes * rows.length(i));
  }
  return finished;
}

} // namespace steelyard
