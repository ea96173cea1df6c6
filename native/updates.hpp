// Update rules: one small struct each, whose fields are the rule's parameters in order. Papers 000 and 001; every
// struct has its twin in src/steelyard/online/updates.py. A rule for many classes has a member class_step: how far the
// weights of one class move along the row; the derivation stands in OnlineCostClassifier. Rules of more than a line are
// marked to be inlined: a call costs as much as a short row.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>

#include "clones.hpp"
#include "step.hpp"

namespace steelyard {

// What the loop must know of a rule: norms cost a pass over the row, and only some rules change `keep`.
struct Additive {
  static constexpr bool x2 = false, w2 = false, scales = false, shifts = false;
};
struct AdditiveByFunction { // of the standard library: numbers that live across its call leave their registers
  static constexpr bool x2 = false, w2 = false, scales = false, shifts = false;
};
struct AdditiveByNorm {
  static constexpr bool x2 = true, w2 = false, scales = false, shifts = false;
};
struct AdditiveWithBias {
  static constexpr bool x2 = false, w2 = false, scales = false, shifts = true;
};
struct Scaling {
  static constexpr bool x2 = true, w2 = true, scales = true, shifts = false;
};

inline double hinge(const UpdateInput &s) { return 1.0 - s.margin(); }
// sign(score) != y with sign(0) = +1, as in Table II of paper 000; y is +1 or -1.
inline bool wrong_sign(const UpdateInput &s) { return (s.score >= 0) != (s.y > 0); }
inline Step additive(double add) { return {1.0, add, 0.0}; }

struct Perceptron { // Rosenblatt; the two readings differ at score 0 only
  static constexpr const char *name = "Perceptron";
  using Kind = Additive;
  bool margin_decides;
  Step operator()(const UpdateInput &s) const {
    const bool wrong = margin_decides ? s.margin() <= 0 : wrong_sign(s);
    return additive(wrong ? s.y : 0.0);
  }
};

struct ROMMA { // Li & Long 1999: the shortest w that satisfies the newest example and the half-space of the last w
  static constexpr const char *name = "ROMMA";
  using Kind = Scaling;
  bool aggressive;
  STEELYARD_INLINED Step operator()(const UpdateInput &s) const {
    const bool learn = aggressive ? s.margin() < 1 : wrong_sign(s);
    if (!learn || s.x2 == 0)
      return {};
    if (s.w2 == 0)
      return additive(s.y / s.x2);
    const double product = s.x2 * s.w2;
    if (product <= s.margin()) // the newest example alone decides; only rows shorter than 1 come here
      return {0.0, s.y / s.x2, 0.0};
    const double gap = product - s.score * s.score; // 0 if x and w are parallel: no w satisfies both
    if (gap <= parallel * product)
      return {};
    return {(product - s.margin()) / gap, s.w2 * (s.y - s.score) / gap, 0.0};
  }
  static constexpr double parallel = 1e-12;
};

struct PA { // Crammer et al. 2006
  static constexpr const char *name = "PA";
  using Kind = AdditiveByNorm;
  Step operator()(const UpdateInput &s) const {
    return additive(hinge(s) > 0 && s.x2 > 0 ? s.y * (hinge(s) / s.x2) : 0.0);
  }
  double class_step(const ClassInput &s) const { return s.margin > 0 && s.x2 > 0 ? s.margin / s.x2 : 0.0; }
};

struct PA1 {
  static constexpr const char *name = "PA1";
  using Kind = AdditiveByNorm;
  double C;
  Step operator()(const UpdateInput &s) const {
    return additive(hinge(s) > 0 && s.x2 > 0 ? s.y * std::min(C, hinge(s) / s.x2) : 0.0);
  }
  double class_step(const ClassInput &s) const { return s.margin > 0 && s.x2 > 0 ? std::min(C, s.margin / s.x2) : 0.0; }
};

struct PA2 {
  static constexpr const char *name = "PA2";
  using Kind = AdditiveByNorm;
  double C;
  Step operator()(const UpdateInput &s) const {
    return additive(hinge(s) > 0 && s.x2 > 0 ? s.y * (hinge(s) / (s.x2 + 1.0 / (2.0 * C))) : 0.0);
  }
  double class_step(const ClassInput &s) const {
    return s.margin > 0 && s.x2 > 0 ? s.margin / (s.x2 + 1.0 / (2.0 * C)) : 0.0;
  }
};

struct PAUM { // Li et al. 2002: uneven margins, with a bias of its own
  static constexpr const char *name = "PAUM";
  using Kind = AdditiveWithBias;
  double eta, radius;
  Step operator()(const UpdateInput &s) const {
    if (s.margin() > s.cost)
      return {};
    const double add = eta * s.y;
    return {1.0, add, add * (radius * radius)};
  }
};

struct CPAPB { // Crammer et al. 2006, sec. 8, prediction-based: mistakes only, capped
  static constexpr const char *name = "CPAPB";
  using Kind = AdditiveByNorm;
  double C;
  STEELYARD_INLINED Step operator()(const UpdateInput &s) const {
    if (!wrong_sign(s) || s.x2 == 0)
      return {};
    return additive(s.y * std::min(C, (std::sqrt(s.cost) - s.margin()) / s.x2));
  }
};

struct CPAPBTable2 { // the rule behind Table II of paper 000: every margin error, no cap
  static constexpr const char *name = "CPAPBTable2";
  using Kind = AdditiveByNorm;
  STEELYARD_INLINED Step operator()(const UpdateInput &s) const {
    return additive(hinge(s) > 0 && s.x2 > 0 ? s.y * ((std::sqrt(s.cost) - s.margin()) / s.x2) : 0.0);
  }
};

struct CSOGD1 { // paper 000, eq. (4): the cost moves the margin
  static constexpr const char *name = "CSOGD1";
  using Kind = Additive;
  double eta;
  Step operator()(const UpdateInput &s) const { return additive(s.cost - s.margin() > 0 ? eta * s.y : 0.0); }
  double class_step(const ClassInput &s) const { return s.margin > 0 ? eta : 0.0; }
};

struct CSOGD2 { // paper 000, eq. (5): the cost scales the slope
  static constexpr const char *name = "CSOGD2";
  using Kind = Additive;
  double eta;
  Step operator()(const UpdateInput &s) const { return additive(hinge(s) > 0 ? eta * s.cost * s.y : 0.0); }
  double class_step(const ClassInput &s) const { return s.share > 0 ? eta * s.range : 0.0; }
};

struct CSOALHinge { // Zhao & Hoi 2013, gradient step
  static constexpr const char *name = "CSOALHinge";
  using Kind = Additive;
  double eta;
  Step operator()(const UpdateInput &s) const { return additive(hinge(s) > 0 ? eta * s.cost * s.y : 0.0); }
  double class_step(const ClassInput &s) const { return s.share > 0 ? eta * s.range : 0.0; }
};

struct CSOALPA { // Zhao & Hoi 2013, passive-aggressive: PA-I on the loss cost * hinge
  static constexpr const char *name = "CSOALPA";
  using Kind = AdditiveByNorm;
  double C;
  Step operator()(const UpdateInput &s) const {
    return additive(hinge(s) > 0 && s.x2 > 0 ? s.y * std::min(C, s.cost * hinge(s) / s.x2) : 0.0);
  }
  double class_step(const ClassInput &s) const {
    return s.share > 0 && s.x2 > 0 ? std::min(C, s.range * s.share / s.x2) : 0.0;
  }
};

struct LogisticGradient { // the gradient of cost * log(1 + exp(-y f)); never exp of a large number
  static constexpr const char *name = "LogisticGradient";
  using Kind = AdditiveByFunction;
  double eta;
  static double slope(double margin) {
    const double e = std::exp(-std::fabs(margin));
    return (margin < 0 ? 1.0 : e) / (1.0 + e);
  }
  STEELYARD_INLINED Step operator()(const UpdateInput &s) const {
    return additive(eta * s.cost * slope(s.margin()) * s.y);
  }
  double class_step(const ClassInput &s) const { return eta * s.range * slope(1.0 - s.share); }
};

// The rules that have a kernel: everything else is derived from this list. A loop asks for the rules of its kind in
// this order, so the ones used most stand first.
using Updates = std::tuple<CSOGD2, CSOGD1, PA1, PA, PA2, Perceptron, CSOALHinge, CSOALPA, ROMMA, PAUM, CPAPB,
                           CPAPBTable2, LogisticGradient>;

} // namespace steelyard
