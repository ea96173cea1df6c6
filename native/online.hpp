// Algorithm 1 of paper 001: predict, perhaps query, perhaps learn. The only online loop of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "clones.hpp"
#include "kernels.hpp"
#include "pulse.hpp"
#include "stream.hpp"

namespace steelyard {

// Takes the step for a label that has come; false, and nothing changed, if the step is not finite.
// Always inlined: a step handed over in memory, written by halves and read whole, stalls every round.
template <class Rows>
STEELYARD_INLINED inline bool take_step(Stream &stream, const Rows &rows, std::size_t i, const UpdateInput &input,
                                        double x2, bool tracks_norm, Step step) {
  const bool changed = step.keep != 1.0 || step.add != 0.0 || step.shift != 0.0;
  if (changed) {
    Weights &weights = stream.weights;
    if (stream.config.fit_intercept)
      step.shift += step.add;
    if (!std::isfinite(step.keep * 0.0 + step.add * 0.0 + step.shift * 0.0))
      return false;
    if (tracks_norm)
      weights.square = step.keep * step.keep * weights.square +
                       2.0 * step.keep * step.add * (input.score - weights.bias) + step.add * step.add * x2;
    weights.apply(step, rows, i);
  }
  stream.settle(input.y > 0, changed);
  return true;
}

// Looked up like the costs, for nobody guesses labels: a branch on them would cost as much as a short row.
constexpr double sign_of_class[2] = {-1.0, 1.0};

template <class Rule, class Rows>
STEELYARD_INLINED inline bool first_order_update(const Rule &rule, Stream &stream, const Rows &rows, std::size_t i,
                                                 double score, bool positive, RowCost cost) {
  const bool constant = stream.config.fit_intercept;
  const Weights &weights = stream.weights;
  UpdateInput input{score, sign_of_class[positive], stream.cost_of(positive, cost), 0.0, 0.0};
  double x2 = 0.0;
  if (rule.x2) {
    x2 = rows.square(i);
    input.x2 = constant ? x2 + 1.0 : x2;
  }
  if (rule.w2)
    input.w2 = constant ? weights.square + weights.bias * weights.bias : weights.square;
  const Step step = input.cost > 0 ? rule(input) : Step{}; // where no mistake costs anything there is nothing to learn
  return take_step(stream, rows, i, input, x2, rule.w2, step);
}

// The same for a second-order rule; the variance is that of this row, just looked at.
template <class Rows>
bool take_second_order_step(Stream &stream, const Rows &rows, std::size_t i, bool positive, double variance,
                            const SecondOrderStep &step) {
  Covariance &covariance = stream.covariance;
  Weights &weights = stream.weights;
  if (!std::isfinite(variance) || !std::isfinite(step.add * 0.0 + step.gain * variance))
    return false;
  const bool changed = step.add != 0.0 || step.gain != 0.0;
  if (changed) {
    if (step.after)
      covariance.shrink(rows, i, step.gain, variance);
    covariance.each_product(rows, i, [&](std::size_t j, double product) { weights.move(j, step.add * product); });
    if (!step.after)
      covariance.shrink(rows, i, step.gain, variance);
  }
  stream.settle(positive, changed);
  return true;
}

template <class Rule, class Rows>
bool second_order_update(const Rule &rule, Stream &stream, const Rows &rows, std::size_t i, double score, bool positive,
                         RowCost cost) {
  if (!stream.covariance.used())
    return false;
  const double variance = stream.covariance.variance(rows, i);
  const SecondOrderInput input{score, sign_of_class[positive], stream.cost_of(positive, cost), variance};
  const SecondOrderStep step = input.cost > 0 ? rule(input) : SecondOrderStep{};
  return take_second_order_step(stream, rows, i, positive, variance, step);
}

template <class Rule, class Rows>
STEELYARD_INLINED inline bool update(const Rule &rule, Stream &stream, const Rows &rows, std::size_t i, double score,
                                     bool positive, RowCost cost) {
  if constexpr (Rule::second_order)
    return second_order_update(rule, stream, rows, i, score, positive, cost);
  else
    return first_order_update(rule, stream, rows, i, score, positive, cost);
}

// Rules that add to the weights and nothing else. A rule that calls a function gains nothing from a loop of its own.
template <class Rule>
constexpr bool only_adds = !Rule::second_order && !Rule::Kind::scales && !Rule::Kind::shifts &&
                           !std::is_same_v<typename Rule::Kind, AdditiveByFunction>;

// A plain stream, as most are: every label is queried, at class costs that stay; no bias, no average, nothing to
// scale. Its loop leaves out all that the others look up in every round: a branch that is always guessed costs little,
// a dozen of them as much as a short row. What it needs of the stream stands here until it ends: there the compiler
// would look it up again after every number written.
class PlainRounds {
 public:
  explicit PlainRounds(Stream &stream)
      : w_(stream.weights.v.data()), cost_{stream.config.cost[0], stream.config.cost[1]} {}

  // A score is the product itself, for its sums begin with +0.0 and so are never -0.0.
  template <class Rows> STEELYARD_INLINED double score(const Rows &rows, std::size_t i) const {
    return rows.dot(i, w_);
  }
  template <class Rule, class Rows>
  STEELYARD_INLINED bool learn(const Rule &rule, const Rows &rows, std::size_t i, double score, bool positive) {
    UpdateInput input{score, sign_of_class[positive], cost_[positive], 0.0, 0.0};
    if constexpr (Rule::Kind::x2)
      input.x2 = rows.square(i);
    const double add = rule(input).add;
    if (add != 0.0) {
      if (!std::isfinite(add))
        return false;
      rows.add(i, add, w_);
      ++updates_;
    }
    positives_ += positive;
    return true;
  }
  void count(Stream &stream, std::uint64_t rounds) const {
    stream.t += rounds;
    stream.spent += rounds;
    stream.updates += updates_;
    stream.positives += positives_;
  }

 private:
  double *const w_;
  const double cost_[2];
  std::uint64_t updates_ = 0, positives_ = 0;
};

// Whether a step may change weights that the row does not store.
inline bool touches_all(const UpdateKernel &kernel, const Stream &stream) {
  return scales_weights(kernel) || stream.covariance.full() || stream.weights.averaging();
}

// What the caller wants to know of every round; any pointer may be null.
struct StreamColumns {
  double *score = nullptr;
  double *query_probability = nullptr;
  bool *queried = nullptr;
  std::int64_t *prediction = nullptr; // the eight bytes of the label
  std::int64_t labels[2] = {0, 1};

  // What follows from the scores of rounds whose labels were all queried: quicker here, for all at once, than in a
  // loop.
  bool complete_later() const { return score != nullptr || prediction == nullptr; }
  void complete(std::size_t first, std::size_t last, double threshold) const {
    const std::int64_t negative = labels[0], positive = labels[1];
    if (prediction)
      for (std::size_t i = first; i < last; ++i)
        prediction[i] = score[i] >= threshold ? positive : negative;
    if (query_probability) {
      std::fill(query_probability + first, query_probability + last, 1.0);
      std::fill(queried + first, queried + last, true);
    }
  }
};

struct Truth {
  const bool *positive;
  const double *cost; // per row, null for ones
  const double *draw; // per row, null for draw(seed, t)
  bool absolute;      // `cost` is the whole cost of a mistake; otherwise a factor to the cost of the class
  RowCost of_row(std::size_t i) const { return cost ? RowCost{cost[i], absolute} : RowCost{1.0, false}; }
};

constexpr std::int64_t finished = -1, overflowed = -2;

template <class Rows> std::int64_t first_out_of_range(const Rows &rows, std::size_t first = 0) {
  for (std::size_t i = first; i < rows.n; ++i)
    if (!rows.in_range(i))
      return static_cast<std::int64_t>(i);
  return finished;
}

inline bool is_plain(const Stream &stream, const Truth &truth, const StreamColumns &columns) {
  const StreamConfig &config = stream.config;
  const Weights &weights = stream.weights;
  return config.queries_all() && config.adaptive_odds == 0 && config.cost[0] > 0 && config.cost[1] > 0 &&
         !config.fit_intercept && !truth.cost && columns.complete_later() && weights.scale == 1.0 &&
         weights.bias == 0.0 && !weights.averaging();
}

// Rows first .. last - 1; returns `finished` or the first row that cannot be used.
template <bool plain, class Rule, class Rows>
STEELYARD_INTO_CLONES std::int64_t run_rows(const Rule rule, Stream &stream, const Rows rows, const Truth truth,
                                            const StreamColumns columns, std::size_t first, std::size_t last) {
  const bool always = stream.config.queries_all() && !stream.weights.averaging();
  const double threshold = stream.config.threshold;
  PlainRounds rounds(stream);
  typename Rows::Prefetcher ahead(rows, first, stream.weights.v.data());
  for (std::size_t i = first; i < last; ++i) {
    if (!ahead.reach(i))
      return first_out_of_range(rows, i);
    const double score = plain ? rounds.score(rows, i) : score_of(stream, rows, i);
    if (!std::isfinite(score))
      return static_cast<std::int64_t>(i);
    const bool prediction = score >= threshold;
    QueryDecision decision{1.0, true};
    if constexpr (!plain) {
      if (always)
        ++stream.t;
      else
        decision = stream.enter(QueryInput{score, prediction, stream.t}, truth.draw ? truth.draw + i : nullptr);
    }
    if (columns.score)
      columns.score[i] = score;
    if constexpr (!plain) {
      if (columns.prediction)
        columns.prediction[i] = columns.labels[prediction];
      if (columns.query_probability) {
        columns.query_probability[i] = decision.probability;
        columns.queried[i] = decision.query;
      }
    }
    bool learned = true;
    if constexpr (plain)
      learned = rounds.learn(rule, rows, i, score, truth.positive[i]);
    else if (decision.query)
      learned = update(rule, stream, rows, i, score, truth.positive[i], truth.of_row(i));
    if (!learned)
      return static_cast<std::int64_t>(i);
  }
  if constexpr (plain) {
    rounds.count(stream, last - first);
    columns.complete(first, last, threshold);
  }
  return finished;
}

#if defined(STEELYARD_AVX2)
template <bool plain, class Rule, class T>
STEELYARD_AVX2 std::int64_t run_wide(const Rule &rule, Stream &stream, const InlinedRows<T> &rows, const Truth &truth,
                                     const StreamColumns &columns, std::size_t first, std::size_t last) {
  return run_rows<plain>(rule, stream, rows, truth, columns, first, last);
}
#endif

// The loop as the machine does it best; the bits are the same. Never inlined: registers are for the loop alone.
template <bool plain, class Rule, class Rows>
__attribute__((noinline)) std::int64_t run_best(const Rule &rule, Stream &stream, const Rows &rows, const Truth &truth,
                                                const StreamColumns &columns, std::size_t first, std::size_t last) {
#if defined(STEELYARD_AVX2)
  if constexpr (Rows::dense)
    if (isa() != Isa::portable)
      return run_wide<plain>(rule, stream, InlinedRows(rows), truth, columns, first, last);
#endif
  return run_rows<plain>(rule, stream, rows, truth, columns, first, last);
}

// From here on the kind of the rule is chosen at run time: only the loops are compiled for each.
template <class Rows>
std::int64_t run_shortest(const UpdateKernel &kernel, Stream &stream, const Rows &rows, const Truth &truth,
                          const StreamColumns &columns, std::size_t first, std::size_t last) {
  const auto run_kind = [&](const auto &rule) {
    if constexpr (only_adds<std::decay_t<decltype(rule)>>)
      if (is_plain(stream, truth, columns))
        return run_best<true>(rule, stream, rows, truth, columns, first, last);
    return run_best<false>(rule, stream, rows, truth, columns, first, last);
  };
  return std::visit(run_kind, kernel);
}

// All rows, some at a time. Outside of the loop itself, which the call of a function would slow down.
template <class Rows>
std::int64_t run_all(const UpdateKernel &kernel, Stream &stream, const Rows &rows, const Truth &truth,
                     const StreamColumns &columns) {
  const std::size_t together = stream.covariance.full() ? 1 : rows.rows_of(Pulse::between_looks);
  Pulse pulse;
  for (std::size_t first = 0; first < rows.n;) {
    const std::size_t last = std::min(rows.n, first + together);
    if (const std::int64_t bad = run_shortest(kernel, stream, rows, truth, columns, first, last); bad != finished)
      return bad;
    first = last;
    pulse.spend(Pulse::between_looks);
  }
  return all_finite(stream, rows) ? finished : overflowed;
}

// Returns `finished`, the first row that cannot be used, or `overflowed`; in the last two cases, and if the run is
// stopped, nothing has changed.
template <class Rows>
std::int64_t run(const UpdateKernel &kernel, Stream &stream, const Rows &rows, const Truth &truth,
                 const StreamColumns &columns) {
  if (rows.few())
    if (const std::int64_t bad = first_out_of_range(rows); bad != finished)
      return bad;
  Undo<Rows> undo(stream, rows, touches_all(kernel, stream));
  try {
    const std::int64_t end = run_all(kernel, stream, rows, truth, columns);
    if (end != finished)
      undo.restore(stream);
    return end;
  } catch (...) {
    undo.restore(stream);
    throw;
  }
}

// One label that was queried earlier; the same promises.
template <class Rows>
bool learn_delayed(const UpdateKernel &kernel, Stream &stream, const Rows &row, bool positive, RowCost cost) {
  const double score = score_of(stream, row, 0);
  if (!std::isfinite(score))
    return false;
  Undo<Rows> undo(stream, row, touches_all(kernel, stream));
  stream.reserved -= stream.reserved > 0;
  const auto *second_order = std::get_if<SecondOrderRules>(&kernel);
  const bool learned = second_order ? second_order_update(*second_order, stream, row, 0, score, positive, cost)
                                    : first_order_update(FirstOrderRule(kernel), stream, row, 0, score, positive, cost);
  if (learned && all_finite(stream, row))
    return true;
  undo.restore(stream);
  return false;
}

template <class Rows>
std::int64_t score_some(const Stream &stream, const Rows &rows, double *score, std::size_t first, std::size_t last) {
  typename Rows::Prefetcher ahead(rows, first, stream.weights.v.data());
  for (std::size_t i = first; i < last; ++i) {
    if (!ahead.reach(i))
      return first_out_of_range(rows, i);
    score[i] = score_of(stream, rows, i);
    if (!std::isfinite(score[i]))
      return static_cast<std::int64_t>(i);
  }
  return finished;
}

template <class Rows> std::int64_t score_rows(const Stream &stream, const Rows &rows, double *score) {
  Pulse pulse;
  for (std::size_t first = 0; first < rows.n;) {
    const std::size_t last = std::min(rows.n, first + rows.rows_of(Pulse::between_looks));
    if (const std::int64_t bad = score_some(stream, rows, score, first, last); bad != finished)
      return bad;
    first = last;
    pulse.spend(Pulse::between_looks);
  }
  return finished;
}

// Decides row after row, as a live stream does; labels come later. Returns `finished`, or the first row that cannot be
// used, and then nothing has changed.
template <class Rows>
std::int64_t decide_rows(Stream &stream, const Rows &rows, double *score, double *probability, bool *query) {
  const bool fixed = !stream.weights.averaging(); // else the end of the budget changes the weights between two rows
  if (const std::int64_t bad = score_rows(stream, rows, score); bad != finished)
    return bad;
  const Stream before = fixed ? Stream{{}, stream.config, Weights(0, false)} : stream;
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!fixed && !std::isfinite(score[i] = score_of(stream, rows, i))) {
      stream = before;
      return static_cast<std::int64_t>(i);
    }
    const QueryInput input{score[i], score[i] >= stream.config.threshold, stream.t};
    const QueryDecision decision = stream.enter(input, nullptr);
    stream.reserved += decision.query;
    probability[i] = decision.probability;
    query[i] = decision.query;
  }
  return finished;
}

} // namespace steelyard
