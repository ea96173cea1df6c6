// A weight vector w = scale * v with bias, and the running average of all the weights that were used.
#pragma once

#include <cmath>
#include <vector>

#include "large_pages.hpp"
#include "step.hpp"

namespace steelyard {

using Numbers = std::vector<double, LargePageAllocator<double>>;

struct Factors {
  double scale = 1.0; // keep * w costs one product instead of a pass over w
  double bias = 0.0;
  double square = 0.0;   // |w|^2, kept up only for rules that read it
  double age = 0.0;      // see Weights::u
  double bias_sum = 0.0; // over the rounds
};

struct Weights : Factors {
  std::size_t d = 0;
  Numbers v;
  // Sum over the rounds of w = age * v + u. A change of v by delta leaves the sum as it is if u moves by -age * delta:
  // so a sparse step stays sparse. Empty if no average is wanted.
  Numbers u;
  bool given = false; // by a caller, not learned from zeros

  Weights() = default;
  Weights(std::size_t features, bool averaging) : d(features), v(features) {
    if (averaging)
      u.assign(v.size(), 0.0);
  }

  bool averaging() const { return !u.empty(); }

  void count_round() {
    age += scale;
    bias_sum += bias;
  }

  template <class Rows> __attribute__((always_inline)) void apply(const Step &step, const Rows &rows, std::size_t i) {
    if (step.keep != 1.0) {
      shrink(step.keep);
      bias *= step.keep;
    }
    if (step.add != 0.0) {
      const double delta = scale == 1.0 ? step.add : step.add / scale; // the same bits, without waiting for a quotient
      rows.add(i, delta, v.data());
      if (averaging())
        rows.add(i, -age * delta, u.data());
    }
    if (step.shift != 0.0)
      bias += step.shift;
  }

  // w[j] += by, for rules that leave the scale at 1; column d is the bias.
  void move(std::size_t j, double by) {
    if (j == d) {
      bias += by;
      return;
    }
    v[j] += by;
    if (averaging())
      u[j] -= age * by;
  }

  void shrink(double keep) {
    scale *= keep;
    // Far from 1 (also 0) the scale is folded back into v. The bounds are powers of two, well inside the range.
    if (!(std::fabs(scale) > 0x1.0p-100 && std::fabs(scale) < 0x1.0p+100))
      fold();
  }

  void fold() {
    for (std::size_t j = 0; j < u.size(); ++j)
      u[j] += age * v[j];
    age = 0.0;
    for (double &vj : v)
      vj *= scale;
    scale = 1.0;
  }

  void become_average(double rounds) {
    for (std::size_t j = 0; j < v.size(); ++j)
      v[j] = (age * v[j] + u[j]) / rounds;
    scale = 1.0;
    bias = bias_sum / rounds;
    u.clear();
  }
};

} // namespace steelyard
