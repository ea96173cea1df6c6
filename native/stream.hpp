// A stream of two classes: what is fixed, what is counted, the weights, and when a label is queried.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "clones.hpp"
#include "covariance.hpp"
#include "queries.hpp"
#include "rows.hpp"
#include "weights.hpp"

namespace steelyard {

// Everything that is fixed for the life of a stream.
struct StreamConfig {
  Query query;
  double floor;     // least probability of a query while the budget lasts; 0 for none
  double limit;     // labels in all; infinity for no limit
  double rate;      // labels per round; infinity for no limit
  double threshold; // positive prediction iff score >= threshold
  std::uint64_t seed;
  double cost[2];         // of a mistake on a negative, on a positive
  double adaptive_odds;   // eta_p / eta_n of the adaptive rho, 0 if costs are fixed
  bool adaptive_positive; // the class that rho belongs to
  bool fit_intercept;     // an intercept learned like a weight of a feature that is always 1
  std::uint64_t mixed_seed = mixed(seed);
  bool queries_all() const { return std::holds_alternative<AskAll>(query) && std::isinf(limit) && std::isinf(rate); }
};

struct QueryDecision {
  double probability;
  bool query;
};

struct RowCost {
  double value;
  bool absolute; // the value is the whole cost, whatever the class costs
};

struct Counts {
  std::uint64_t t = 0; // rounds so far
  std::uint64_t spent = 0, reserved = 0, updates = 0;
  std::uint64_t positives = 0; // of the labels spent
};

// What a round calls is always inlined: among the many loops of the library the compiler would give up on it, and a
// call costs as much as a short row.
struct Stream : Counts {
  StreamConfig config;
  Weights weights;
  Covariance covariance{}; // of second-order rules

  // Whether the weights are the zeros they began as.
  bool untouched() const { return updates == 0 && !weights.given; }

  bool may_query() const {
    const double used = static_cast<double>(spent + reserved);
    return used < config.limit && used + 1.0 <= config.rate * static_cast<double>(t + 1);
  }

  // The round counts; whether its label is queried. The caller reserves a part of the budget if it comes later.
  STEELYARD_INLINED QueryDecision enter(const QueryInput &input, const double *given_draw) {
    return enter(query_probability(config.query, input), given_draw);
  }
  STEELYARD_INLINED QueryDecision enter(double probability, const double *given_draw) {
    begin_round();
    QueryDecision decision{0.0, false};
    if (may_query()) {
      decision.probability = std::max(probability, config.floor);
      decision.query = decision.probability >= 1.0 ||
                       (given_draw ? *given_draw : draw_from(config.mixed_seed, t)) < decision.probability;
    }
    end_round();
    return decision;
  }
  STEELYARD_INLINED void begin_round() {
    if (weights.averaging())
      weights.count_round();
  }
  STEELYARD_INLINED void end_round() {
    ++t;
    // Option II: in the first round that begins with the budget spent, after its own answer. The model that the last
    // label made is part of the average.
    if (weights.averaging() && static_cast<double>(spent) >= config.limit)
      weights.become_average(static_cast<double>(t));
  }

  // Rounds that were decided elsewhere: they count, and nothing is queried.
  void pass_rounds(std::uint64_t until) {
    while (t < until && weights.averaging()) {
      begin_round();
      end_round();
    }
    t = std::max(t, until);
  }

  double class_cost(bool positive) const {
    if (config.adaptive_odds == 0)
      return config.cost[positive];
    if (positive != config.adaptive_positive)
      return 1.0;
    const double own = static_cast<double>(positive ? positives : spent - positives);
    const double other = static_cast<double>(spent) - own;
    return (other + 1.0) / (own + 1.0) * config.adaptive_odds; // paper 000, remark after Algorithm 1
  }

  double cost_of(bool positive, RowCost row) const {
    return row.absolute ? row.value : class_cost(positive) * row.value;
  }

  // The label has come: it is paid for and counted, whether or not the weights change.
  STEELYARD_INLINED void settle(bool positive, bool changed) {
    updates += changed;
    positives += positive;
    ++spent;
  }
};

// A score that is not finite comes from the row (NaN, infinity: they survive every product) or from an overflow.
template <class Rows> STEELYARD_INLINED inline double score_of(const Stream &stream, const Rows &rows, std::size_t i) {
  const double dot = rows.dot(i, stream.weights.v.data()), scale = stream.weights.scale;
  return (scale == 1.0 ? dot : scale * dot) + stream.weights.bias;
}

template <class Rows> bool all_finite(const Stream &stream, const Rows &rows) {
  const Weights &w = stream.weights;
  const bool finite =
      stream.covariance.full() ? DenseRows<double>::finite(w.v.data(), w.d) : rows.all_finite(w.v.data());
  return finite && std::isfinite(w.bias);
}

// Numbers as they were. Zeros, which a new stream has and nothing else, need no copy.
class SavedNumbers {
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

// The stream as it was before some rows, to return to if they turn out to be unusable or the run is stopped.
template <class Rows> class Undo {
 public:
  Undo(const Stream &stream, const Rows &rows, bool everything)
      : counts_(stream), factors_(stream.weights), rows_(rows), everything_(everything || !rows.few()) {
    if (everything_) {
      v_.save(stream.weights.v, stream.untouched()), u_.save(stream.weights.u, stream.untouched());
      sigma_ = stream.covariance.sigma;
      return;
    }
    rows_.gather(stream.weights.v.data(), touched_);
    if (stream.covariance.used()) {
      rows_.gather(stream.covariance.sigma.data(), sigma_);
      sigma_.push_back(stream.covariance.sigma.back()); // of the constant feature
    }
  }
  void restore(Stream &stream) {
    static_cast<Counts &>(stream) = counts_;
    static_cast<Factors &>(stream.weights) = factors_;
    if (everything_) {
      v_.restore(stream.weights.v), u_.restore(stream.weights.u), stream.covariance.sigma = sigma_;
      return;
    }
    rows_.scatter(touched_, stream.weights.v.data());
    if (stream.covariance.used()) {
      stream.covariance.sigma.back() = sigma_.back();
      rows_.scatter(sigma_, stream.covariance.sigma.data());
    }
  }

 private:
  Counts counts_;
  Factors factors_;
  const Rows &rows_;
  bool everything_;
  SavedNumbers v_, u_;
  std::vector<double> touched_, sigma_;
};

} // namespace steelyard
