// Pessimistic error estimate of C4.5's error-based pruning.
#pragma once

#include <algorithm>
#include <cmath>

namespace steelyard::tree {

constexpr double kSlackOfErrors = 0.1;    // a simpler tree may be estimated worse by this much
constexpr double kSlackOfCollapse = 1e-3; // training errors that a split must save

// Errors to expect on `weight` unseen objects after `errors` on as many seen ones: the upper confidence limit of a
// binomial. Exact without errors, the normal approximation with continuity correction from one error on, linear
// between.
class ErrorEstimate {
 public:
  explicit ErrorEstimate(double confidence) : confidence_(confidence), z_(upper_quantile(confidence)) {}

  double operator()(double weight, double errors) const { return weight > 0 ? errors + added(weight, errors) : 0.0; }

 private:
  double added(double n, double e) const {
    if (e < 1) {
      const double none = n * (1 - std::pow(confidence_, 1 / n));
      return e == 0 ? none : none + e * (added(n, 1) - none);
    }
    if (e + 0.5 >= n)
      return std::max(n - e, 0.0);
    const double f = (e + 0.5) / n, z2 = z_ * z_;
    const double limit = (f + z2 / (2 * n) + z_ * std::sqrt(f / n - f * f / n + z2 / (4 * n * n))) / (1 + z2 / n);
    return limit * n - e;
  }

  // z with P(Z > z) = p for a standard normal Z and 0 < p <= 1/2, by Newton's method: P is convex there, so it
  // converges from the left without overshooting.
  static double upper_quantile(double p) {
    double z = 0;
    for (int k = 0; k < 200; ++k) {
      const double excess = 0.5 * std::erfc(z / std::sqrt(2.0)) - p;
      const double step = excess * std::sqrt(2 * 3.14159265358979323846) * std::exp(z * z / 2);
      z += step;
      if (step < 1e-15)
        break;
    }
    return z;
  }

  double confidence_, z_;
};

} // namespace steelyard::tree
