// Second-order update rules: how the weights move and how the covariance shrinks. One small struct each; every struct
// has its twin in src/steelyard/online/second_order.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>

namespace steelyard {

// All that a second-order rule may look at; the variance is x' Sigma x.
struct SecondOrderInput {
  double score, y, cost, variance;
  double margin() const { return y * score; }
};

// w <- w + add Sigma x;  Sigma^-1 <- Sigma^-1 + gain x x'. With `after` the step is along the new
// Sigma x, else along the old one.
struct SecondOrderStep {
  double add = 0.0, gain = 0.0;
  bool after = false;
};

struct SecondOrder {
  static constexpr bool x2 = false, w2 = false, scales = false, shifts = false;
};

struct AROW { // Crammer, Kulesza & Dredze 2009, fig. 1; the cost weighs the loss: 1 / r becomes cost / r
  static constexpr const char *name = "AROW";
  using Kind = SecondOrder;
  double r;
  SecondOrderStep operator()(const SecondOrderInput &s) const {
    const double hinge = 1.0 - s.margin();
    if (hinge <= 0)
      return {};
    const double slack = r / s.cost;
    return {s.y * (hinge / (s.variance + slack)), 1.0 / slack};
  }
};

// What SCW-I and SCW-II share: the gain that belongs to a step. Wang, Zhao & Hoi 2012, prop. 1 and 2.
inline SecondOrderStep confident(const SecondOrderInput &s, double phi, double alpha) {
  if (alpha <= 0)
    return {};
  const double push = alpha * s.variance * phi;
  const double root = 0.5 * (std::sqrt(push * push + 4.0 * s.variance) - push); // the deviation after the step
  return {alpha * s.y, alpha * phi / root};
}
inline bool unsure(const SecondOrderInput &s, double phi) {
  return s.variance > 0 && phi * std::sqrt(s.variance) > s.margin();
}

struct SCW1 { // Wang, Zhao & Hoi 2012, prop. 1, with C * cost for C
  static constexpr const char *name = "SCW1";
  using Kind = SecondOrder;
  double C, phi;
  SecondOrderStep operator()(const SecondOrderInput &s) const {
    if (!unsure(s, phi))
      return {};
    const double phi2 = phi * phi, psi = 1.0 + phi2 / 2.0, zeta = 1.0 + phi2, m = s.margin(), v = s.variance;
    const double wanted = (-m * psi + std::sqrt(m * m * (phi2 * phi2) / 4.0 + v * phi2 * zeta)) / (v * zeta);
    return confident(s, phi, std::min(C * s.cost, wanted));
  }
};

struct SCW2 { // Wang, Zhao & Hoi 2012, prop. 2, with C * cost for C
  static constexpr const char *name = "SCW2";
  using Kind = SecondOrder;
  double C, phi;
  SecondOrderStep operator()(const SecondOrderInput &s) const {
    if (!unsure(s, phi))
      return {};
    const double phi2 = phi * phi, m = s.margin(), v = s.variance, n = v + 1.0 / (2.0 * (C * s.cost));
    const double root = phi * std::sqrt(phi2 * (m * m) * (v * v) + 4.0 * n * v * (n + v * phi2));
    return confident(s, phi, (root - (2.0 * m * n + phi2 * m * v)) / (2.0 * (n * n + n * v * phi2)));
  }
};

struct ACOG { // Zhao et al. 2018, Algorithm 1: a gradient step of paper 000 along the new Sigma x
  static constexpr const char *name = "ACOG";
  using Kind = SecondOrder;
  double eta, gamma;
  bool shifts_margin; // loss I: max(0, cost - y f); loss II: cost max(0, 1 - y f)
  SecondOrderStep operator()(const SecondOrderInput &s) const {
    if ((shifts_margin ? s.cost : 1.0) - s.margin() <= 0)
      return {};
    return {eta * (shifts_margin ? 1.0 : s.cost) * s.y, 1.0 / gamma, true};
  }
};

using SecondOrderUpdates = std::tuple<AROW, SCW1, SCW2, ACOG>;

} // namespace steelyard
