// How far the weights of one answer among many move: one small struct per update rule that has such a form. The
// derivation stands in OnlineCostClassifier; the twins are the methods `stride` in src/steelyard/online/updates.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <variant>

namespace steelyard {

// All that a rule may look at for one answer of a row. Margins are on the scale of the binary learner, twice that of
// the costs, so that with two classes every rule takes the step it takes there.
struct Lack {
  double margin; // how far it falls short of a margin as large as the costs say
  double share;  // the same with the costs of the row divided by their range, where the dearest margin is 1
  double range;  // dearest minus cheapest answer of the row
  double x2;
};

struct CSOGD1Stride {
  static constexpr const char *name = "CSOGD1";
  static constexpr std::size_t parameters = 1;
  static constexpr bool x2 = false;
  double eta;
  double operator()(const Lack &lack) const { return lack.margin > 0 ? eta : 0.0; }
};

struct CSOGD2Stride {
  static constexpr const char *name = "CSOGD2";
  static constexpr std::size_t parameters = 1;
  static constexpr bool x2 = false;
  double eta;
  double operator()(const Lack &lack) const { return lack.share > 0 ? eta * lack.range : 0.0; }
};

struct CSOALHingeStride : CSOGD2Stride {
  static constexpr const char *name = "CSOALHinge";
};

struct CSOALPAStride {
  static constexpr const char *name = "CSOALPA";
  static constexpr std::size_t parameters = 1;
  static constexpr bool x2 = true;
  double C;
  double operator()(const Lack &lack) const {
    return lack.share > 0 && lack.x2 > 0 ? std::min(C, lack.range * lack.share / lack.x2) : 0.0;
  }
};

struct PAStride {
  static constexpr const char *name = "PA";
  static constexpr std::size_t parameters = 0;
  static constexpr bool x2 = true;
  double operator()(const Lack &lack) const { return lack.margin > 0 && lack.x2 > 0 ? lack.margin / lack.x2 : 0.0; }
};

struct PA1Stride {
  static constexpr const char *name = "PA1";
  static constexpr std::size_t parameters = 1;
  static constexpr bool x2 = true;
  double C;
  double operator()(const Lack &lack) const {
    return lack.margin > 0 && lack.x2 > 0 ? std::min(C, lack.margin / lack.x2) : 0.0;
  }
};

struct PA2Stride {
  static constexpr const char *name = "PA2";
  static constexpr std::size_t parameters = 1;
  static constexpr bool x2 = true;
  double C;
  double operator()(const Lack &lack) const {
    return lack.margin > 0 && lack.x2 > 0 ? lack.margin / (lack.x2 + 1.0 / (2.0 * C)) : 0.0;
  }
};

// The loop is not a template over the rule: K scores a row outweigh one visit.
using Stride =
    std::variant<CSOGD1Stride, CSOGD2Stride, CSOALHingeStride, CSOALPAStride, PAStride, PA1Stride, PA2Stride>;

} // namespace steelyard
