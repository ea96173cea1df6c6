// Query rules: the chance of asking for a label, one small struct each. Paper 001, sec. 3.1; twins in
// active/queries.py.
#pragma once

#include <cmath>
#include <variant>

#include "step.hpp"

namespace steelyard {

struct AskAll {
  double operator()(const Glance &) const { return 1.0; }
};

struct AskRandom { // QR
  double rate;
  double operator()(const Glance &) const { return rate; }
};

struct AskUncertain { // QD
  double c;
  double operator()(const Glance &g) const { return std::fabs(g.score) <= c ? 1.0 : 0.0; }
};

struct AskAsymmetric { // QA; QS is c_pos = c_neg
  double c_pos, c_neg;
  double operator()(const Glance &g) const {
    const double c = g.score >= 0 ? c_pos : c_neg;
    return c / (std::fabs(g.score) + c);
  }
};

struct AskPredictedPositive { // Figure 2
  std::uint64_t first;
  double operator()(const Glance &g) const { return g.t < first || g.positive ? 1.0 : 0.0; }
};

using Query = std::variant<AskAll, AskRandom, AskUncertain, AskAsymmetric, AskPredictedPositive>;

// std::visit without its table of function pointers, which would keep the rules from being inlined into the loop.
template <std::size_t at = 0> inline double chance_of(const Query &query, const Glance &glance) {
  if constexpr (at < std::variant_size_v<Query>) {
    if (const auto *rule = std::get_if<at>(&query))
      return (*rule)(glance);
    return chance_of<at + 1>(query, glance);
  } else {
    return 0.0;
  }
}

} // namespace steelyard
