// Query rules: the probability of asking for a label, one small struct each, whose fields are the rule's parameters in
// order. Paper 001, sec. 3.1; twins in src/steelyard/active/queries.py.
#pragma once

#include <cmath>
#include <cstdint>
#include <variant>

#include "rule_list.hpp"
#include "step.hpp"

namespace steelyard {

struct AskAll {
  static constexpr const char *name = "AskAll";
  double operator()(const QueryInput &) const { return 1.0; }
};

struct AskRandom { // QR
  static constexpr const char *name = "AskRandom";
  double rate;
  double operator()(const QueryInput &) const { return rate; }
};

struct AskUncertain { // QD
  static constexpr const char *name = "AskUncertain";
  double c;
  double operator()(const QueryInput &q) const { return std::fabs(q.score) <= c ? 1.0 : 0.0; }
};

struct AskSymmetric { // QS
  static constexpr const char *name = "AskSymmetric";
  double c;
  double operator()(const QueryInput &q) const { return c / (std::fabs(q.score) + c); }
};

struct AskAsymmetric { // QA
  static constexpr const char *name = "AskAsymmetric";
  double c_pos, c_neg;
  double operator()(const QueryInput &q) const {
    const double c = q.score >= 0 ? c_pos : c_neg;
    return c / (std::fabs(q.score) + c);
  }
};

struct AskPredictedPositive { // Figure 2
  static constexpr const char *name = "AskPredictedPositive";
  std::uint64_t first;
  double operator()(const QueryInput &q) const { return q.t < first || q.positive ? 1.0 : 0.0; }
};

// In the order in which a loop asks for them: those used most stand first.
using Query = std::variant<AskAll, AskAsymmetric, AskSymmetric, AskUncertain, AskRandom, AskPredictedPositive>;

STEELYARD_INLINED inline double query_probability(const Query &query, const QueryInput &input) {
  return with_rule(query, [&](const auto &rule) { return rule(input); });
}

} // namespace steelyard
