// Algorithm 1 of paper 001: predict, perhaps ask, perhaps learn. The only online loop of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <variant>

#include "clones.hpp"
#include "queries.hpp"
#include "rows.hpp"
#include "second_order.hpp"
#include "spread.hpp"
#include "updates.hpp"
#include "weights.hpp"

namespace steelyard {

// Everything that is fixed for the life of a stream.
struct Plan {
  Query query;
  double floor;     // least chance while the budget lasts; 0 for none
  double limit;     // labels in all; infinity for no limit
  double rate;      // labels per round; infinity for no limit
  double threshold; // positive answer iff score >= threshold
  std::uint64_t seed;
  double cost[2];         // of a mistake on a negative, on a positive
  double adaptive_odds;   // eta_p / eta_n of the adaptive rho, 0 if costs are fixed
  bool adaptive_positive; // the class that rho belongs to
  bool constant_feature;  // an intercept learned like a weight of a feature that is always 1
  bool always_ask() const { return std::holds_alternative<AskAll>(query) && std::isinf(limit) && std::isinf(rate); }
};

struct Asked {
  double chance;
  bool ask;
};

struct RowCost {
  double value;
  bool whole; // the value is all, whatever the class costs
};

struct Counts {
  std::uint64_t t = 0; // rounds so far
  std::uint64_t spent = 0, reserved = 0, updates = 0;
  std::uint64_t positives = 0; // of the labels spent
};

// What a round calls is always inlined: among the many loops of the library the compiler would give up on it, and a
// call costs as much as a short row.
struct Stream : Counts {
  Plan plan;
  Weights weights;
  Spread spread{}; // of second-order rules

  // Whether the weights are the zeros they began as.
  bool untouched() const { return updates == 0 && !weights.given; }

  bool may_ask() const {
    const double used = static_cast<double>(spent + reserved);
    return used < plan.limit && used + 1.0 <= plan.rate * static_cast<double>(t + 1);
  }

  // The round counts; whether its label is asked for. The caller reserves a part of the budget if it comes later.
  STEELYARD_INLINED Asked enter(const Glance &glance, const double *given_draw) {
    return enter(chance_of(plan.query, glance), given_draw);
  }
  STEELYARD_INLINED Asked enter(double chance, const double *given_draw) {
    if (weights.averaging())
      weights.count_round();
    Asked asked{0.0, false};
    if (may_ask()) {
      asked.chance = std::max(chance, plan.floor);
      asked.ask = asked.chance >= 1.0 || (given_draw ? *given_draw : draw(plan.seed, t)) < asked.chance;
    }
    ++t;
    return asked;
  }

  double class_cost(bool positive) const {
    if (plan.adaptive_odds == 0)
      return plan.cost[positive];
    if (positive != plan.adaptive_positive)
      return 1.0;
    const double own = static_cast<double>(positive ? positives : spent - positives);
    const double other = static_cast<double>(spent) - own;
    return (other + 1.0) / (own + 1.0) * plan.adaptive_odds; // paper 000, remark after Algorithm 1
  }

  double cost_of(bool positive, RowCost row) const { return row.whole ? row.value : class_cost(positive) * row.value; }

  // The label has come: it is paid for and counted, whether or not the weights change.
  STEELYARD_INLINED void settle(bool positive, bool changed) {
    updates += changed;
    positives += positive;
    ++spent;
    if (weights.averaging() && static_cast<double>(spent) >= plan.limit)
      weights.become_average(static_cast<double>(t)); // option II
  }
};

// A score that is not finite comes from the row (NaN, infinity: they survive every product) or from an overflow.
template <class Rows> STEELYARD_INLINED inline double score_of(const Stream &stream, const Rows &rows, std::size_t i) {
  const double dot = rows.dot(i, stream.weights.v.data()), scale = stream.weights.scale;
  return (scale == 1.0 ? dot : scale * dot) + stream.weights.bias;
}

// Takes the step for a label that has come; false, and nothing changed, if the step is not finite.
// Always inlined: a step handed over in memory, written by halves and read whole, stalls every round.
template <bool tracks_norm, class Rows>
STEELYARD_INLINED inline bool take(Stream &stream, const Rows &rows, std::size_t i, const Seen &seen, double x2,
                                   Step step) {
  const bool changed = step.keep != 1.0 || step.add != 0.0 || step.shift != 0.0;
  if (changed) {
    Weights &weights = stream.weights;
    if (stream.plan.constant_feature)
      step.shift += step.add;
    if (!std::isfinite(step.keep * 0.0 + step.add * 0.0 + step.shift * 0.0))
      return false;
    if constexpr (tracks_norm)
      weights.square = step.keep * step.keep * weights.square +
                       2.0 * step.keep * step.add * (seen.score - weights.bias) + step.add * step.add * x2;
    weights.apply(step, rows, i);
  }
  stream.settle(seen.y > 0, changed);
  return true;
}

// Looked up like the costs, for nobody guesses labels: a branch on them would cost as much as a short row.
constexpr double sign_of_class[2] = {-1.0, 1.0};

template <class Rule, class Rows>
STEELYARD_INLINED inline bool learn_step(const Rule &rule, Stream &stream, const Rows &rows, std::size_t i,
                                         double score, bool positive, RowCost cost) {
  const bool constant = stream.plan.constant_feature;
  const Weights &weights = stream.weights;
  Seen seen{score, sign_of_class[positive], stream.cost_of(positive, cost), 0.0, 0.0};
  double x2 = 0.0;
  if constexpr (Rule::Kind::x2) {
    x2 = rows.square(i);
    seen.x2 = constant ? x2 + 1.0 : x2;
  }
  if constexpr (Rule::Kind::w2)
    seen.w2 = constant ? weights.square + weights.bias * weights.bias : weights.square;
  const Step step = seen.cost > 0 ? rule(seen) : Step{}; // where no mistake costs anything there is nothing to learn
  return take<Rule::Kind::w2>(stream, rows, i, seen, x2, step);
}

// The same for a second-order rule; the variance is that of this row, just looked at.
template <class Rows>
bool take_turn(Stream &stream, const Rows &rows, std::size_t i, bool positive, double variance, const Turn &turn) {
  Spread &spread = stream.spread;
  Weights &weights = stream.weights;
  if (!std::isfinite(variance) || !std::isfinite(turn.add * 0.0 + turn.gain * variance))
    return false;
  const bool changed = turn.add != 0.0 || turn.gain != 0.0;
  if (changed) {
    if (turn.after)
      spread.sharpen(rows, i, turn.gain, variance);
    spread.each_turned(rows, i, [&](std::size_t j, double turned) { weights.move(j, turn.add * turned); });
    if (!turn.after)
      spread.sharpen(rows, i, turn.gain, variance);
  }
  stream.settle(positive, changed);
  return true;
}

template <class Rule, class Rows>
bool learn_turn(const Rule &rule, Stream &stream, const Rows &rows, std::size_t i, double score, bool positive,
                RowCost cost) {
  if (!stream.spread.used())
    return false;
  const double variance = stream.spread.variance(rows, i);
  const Doubt doubt{score, sign_of_class[positive], stream.cost_of(positive, cost), variance};
  return take_turn(stream, rows, i, positive, variance, doubt.cost > 0 ? rule(doubt) : Turn{});
}

template <class Rule, class Rows>
STEELYARD_INLINED inline bool learn(const Rule &rule, Stream &stream, const Rows &rows, std::size_t i, double score,
                                    bool positive, RowCost cost) {
  if constexpr (is_second_order<Rule>)
    return learn_turn(rule, stream, rows, i, score, positive, cost);
  else
    return learn_step(rule, stream, rows, i, score, positive, cost);
}

// Rules that add to the weights and nothing else.
template <class Rule> constexpr bool only_adds() {
  if constexpr (is_second_order<Rule>)
    return false;
  else
    return !Rule::Kind::scales && !Rule::Kind::shifts;
}

// A plain stream, as most are: every label is asked for, at class costs that stay; no bias, no average, nothing to
// scale. Its loop leaves out all that the others look up in every round: a branch that is always guessed costs little,
// a dozen of them as much as a short row. What it needs of the stream stands here until it ends: there the compiler
// would look it up again after every number written.
class PlainRounds {
 public:
  explicit PlainRounds(Stream &stream) : w_(stream.weights.v.data()), cost_{stream.plan.cost[0], stream.plan.cost[1]} {}

  // A score is the product itself, for its sums begin with +0.0 and so are never -0.0.
  template <class Rows> STEELYARD_INLINED double score(const Rows &rows, std::size_t i) const {
    return rows.dot(i, w_);
  }
  template <class Rule, class Rows>
  STEELYARD_INLINED bool learn(const Rule &rule, const Rows &rows, std::size_t i, double score, bool positive) {
    Seen seen{score, sign_of_class[positive], cost_[positive], 0.0, 0.0};
    if constexpr (Rule::Kind::x2)
      seen.x2 = rows.square(i);
    const double add = rule(seen).add;
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

// Numbers as they were. Zeros, which a new stream has and nothing else, need no copy.
class Saved {
 public:
  void save(const Numbers &numbers, bool zeros) {
    size_ = numbers.size();
    if (!zeros)
      copy_ = numbers;
  }
  void restore(Numbers &numbers) const {
    if (copy_.empty())
      numbers.assign(size_, 0.0);
    else
      numbers = copy_;
  }

 private:
  Numbers copy_;
  std::size_t size_ = 0;
};

// The stream as it was before some rows, to return to if they turn out to be unusable.
template <class Rows> class Undo {
 public:
  Undo(const Stream &stream, const Rows &rows, bool everything)
      : counts_(stream), factors_(stream.weights), rows_(rows), everything_(everything || !rows.few()) {
    if (everything_) {
      v_.save(stream.weights.v, stream.untouched()), u_.save(stream.weights.u, stream.untouched());
      sigma_ = stream.spread.sigma;
      return;
    }
    rows_.gather(stream.weights.v.data(), touched_);
    if (stream.spread.used()) {
      rows_.gather(stream.spread.sigma.data(), sigma_);
      sigma_.push_back(stream.spread.sigma.back()); // of the constant feature
    }
  }
  void restore(Stream &stream) {
    static_cast<Counts &>(stream) = counts_;
    static_cast<Factors &>(stream.weights) = factors_;
    if (everything_) {
      v_.restore(stream.weights.v), u_.restore(stream.weights.u), stream.spread.sigma = sigma_;
      return;
    }
    rows_.scatter(touched_, stream.weights.v.data());
    if (stream.spread.used()) {
      stream.spread.sigma.back() = sigma_.back();
      rows_.scatter(sigma_, stream.spread.sigma.data());
    }
  }

 private:
  Counts counts_;
  Factors factors_;
  const Rows &rows_;
  bool everything_;
  Saved v_, u_;
  std::vector<double> touched_, sigma_;
};

// Whether a step may change weights that the row does not store.
template <class Rule> bool touches_all(const Stream &stream) {
  return Rule::Kind::scales || stream.spread.full() || stream.weights.averaging();
}

template <class Rows> bool all_finite(const Stream &stream, const Rows &rows) {
  const Weights &w = stream.weights;
  const bool finite = stream.spread.full() ? DenseRows<double>::finite(w.v.data(), w.d) : rows.all_finite(w.v.data());
  return finite && std::isfinite(w.bias);
}

// What the caller wants to know of every round; any pointer may be null.
struct Record {
  double *score = nullptr;
  double *chance = nullptr;
  bool *asked = nullptr;
  std::int64_t *answer = nullptr; // the eight bytes of the label given
  std::int64_t labels[2] = {0, 1};
};

struct Truth {
  const bool *positive;
  const double *cost; // per row, null for ones
  const double *draw; // per row, null for draw(seed, t)
  bool whole;         // `cost` is the whole cost of a mistake; otherwise a factor to the cost of the class
  RowCost of_row(std::size_t i) const { return cost ? RowCost{cost[i], whole} : RowCost{1.0, false}; }
};

constexpr std::int64_t finished = -1, overflowed = -2;

template <class Rows> std::int64_t first_out_of_range(const Rows &rows, std::size_t first = 0) {
  for (std::size_t i = first; i < rows.n; ++i)
    if (!rows.vet(i))
      return static_cast<std::int64_t>(i);
  return finished;
}

inline bool is_plain(const Stream &stream, const Truth &truth) {
  const Plan &plan = stream.plan;
  const Weights &weights = stream.weights;
  return plan.always_ask() && plan.adaptive_odds == 0 && plan.cost[0] > 0 && plan.cost[1] > 0 &&
         !plan.constant_feature && !truth.cost && weights.scale == 1.0 && weights.bias == 0.0 && !weights.averaging();
}

template <bool plain, class Rule, class Rows>
STEELYARD_INTO_CLONES std::int64_t run_rows(const Rule rule, Stream &stream, const Rows rows, const Truth truth,
                                            const Record record) {
  const bool always = stream.plan.always_ask() && !stream.weights.averaging();
  const double threshold = stream.plan.threshold;
  PlainRounds rounds(stream);
  typename Rows::Ahead ahead(rows, stream.weights.v.data());
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!ahead.reach(i))
      return first_out_of_range(rows, i);
    const double score = plain ? rounds.score(rows, i) : score_of(stream, rows, i);
    if (!std::isfinite(score))
      return static_cast<std::int64_t>(i);
    const bool answer = score >= threshold;
    Asked asked{1.0, true};
    if constexpr (!plain) {
      if (always)
        ++stream.t;
      else
        asked = stream.enter(Glance{score, answer, stream.t}, truth.draw ? truth.draw + i : nullptr);
    }
    if (record.score)
      record.score[i] = score;
    if (record.answer)
      record.answer[i] = record.labels[answer];
    if (record.chance) {
      record.chance[i] = asked.chance;
      record.asked[i] = asked.ask;
    }
    bool learned = true;
    if constexpr (plain)
      learned = rounds.learn(rule, rows, i, score, truth.positive[i]);
    else if (asked.ask)
      learned = learn(rule, stream, rows, i, score, truth.positive[i], truth.of_row(i));
    if (!learned)
      return static_cast<std::int64_t>(i);
  }
  if constexpr (plain)
    rounds.count(stream, rows.n);
  return all_finite(stream, rows) ? finished : overflowed;
}

#if defined(STEELYARD_AVX2)
template <bool plain, class Rule, class T>
STEELYARD_AVX2 std::int64_t run_wide(const Rule &rule, Stream &stream, const InlinedRows<T> &rows, const Truth &truth,
                                     const Record &record) {
  return run_rows<plain>(rule, stream, rows, truth, record);
}
#endif

// The loop as the machine does it best; the bits are the same.
template <bool plain, class Rule, class Rows>
std::int64_t run_best(const Rule &rule, Stream &stream, const Rows &rows, const Truth &truth, const Record &record) {
#if defined(STEELYARD_AVX2)
  if constexpr (Rows::dense)
    if (isa() != Isa::portable)
      return run_wide<plain>(rule, stream, InlinedRows(rows), truth, record);
#endif
  return run_rows<plain>(rule, stream, rows, truth, record);
}

template <class Rule, class Rows>
std::int64_t run_shortest(const Rule &rule, Stream &stream, const Rows &rows, const Truth &truth,
                          const Record &record) {
  if constexpr (only_adds<Rule>())
    if (is_plain(stream, truth))
      return run_best<true>(rule, stream, rows, truth, record);
  return run_best<false>(rule, stream, rows, truth, record);
}

// Returns `finished`, the first row that cannot be used, or `overflowed`; in the last two cases nothing has changed.
template <class Rule, class Rows>
std::int64_t run(const Rule &rule, Stream &stream, const Rows &rows, const Truth &truth, const Record &record) {
  if (rows.few())
    if (const std::int64_t bad = first_out_of_range(rows); bad != finished)
      return bad;
  Undo<Rows> undo(stream, rows, touches_all<Rule>(stream));
  const std::int64_t end = run_shortest(rule, stream, rows, truth, record);
  if (end != finished)
    undo.restore(stream);
  return end;
}

// One label that was asked for earlier; the same promises.
template <class Rule, class Rows>
bool learn_later(const Rule &rule, Stream &stream, const Rows &row, bool positive, RowCost cost) {
  const double score = score_of(stream, row, 0);
  if (!std::isfinite(score))
    return false;
  Undo<Rows> undo(stream, row, touches_all<Rule>(stream));
  stream.reserved -= stream.reserved > 0;
  if (learn(rule, stream, row, 0, score, positive, cost) && all_finite(stream, row))
    return true;
  undo.restore(stream);
  return false;
}

template <class Rows> std::int64_t score_rows(const Stream &stream, const Rows &rows, double *score) {
  typename Rows::Ahead ahead(rows, stream.weights.v.data());
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (!ahead.reach(i))
      return first_out_of_range(rows, i);
    score[i] = score_of(stream, rows, i);
    if (!std::isfinite(score[i]))
      return static_cast<std::int64_t>(i);
  }
  return finished;
}

} // namespace steelyard
