// min 1/2 b'Kb + c'b, sum b = 0, lo_i <= b_i <= hi_i  (lo_i <= 0 <= hi_i): the dual of every SVM here, with b = y a.
//
// Two levels. The outer one keeps F = Kb + c over all examples, certifies the KKT violation max{F_i: b_i > lo_i} -
// min{F_i: b_i < hi_i} and picks a working set from its two ends. The inner one is SMO with second-order selection
// (WSS2) on the working set's own contiguous block of the kernel, so that its steps cost O(working set) from the
// cache. Only kernel rows of examples whose b changed are then added to F.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernel_source.hpp"
#include "simd.hpp"

namespace steelyard {

// The working set: `size` entries padded to whole lanes; the padding may move neither way.
template <class T, class F> struct WorkingSet {
  std::size_t size, padded_size;
  const T *kernel; // padded_size x padded_size
  const F *diagonal;
  F *gradient;
  F *up_bar;   // 0 where b may grow, +inf where it is at its upper bound
  F *down_bar; // 0 where b may shrink, +inf where it is at its lower bound
  double *b, *lo, *hi;
};

template <class F> constexpr F curvature_floor() { return sizeof(F) == 4 ? F(1e-7) : F(1e-12); }

// SMO steps until the violation inside the working set is at most `tolerance`; returns how many were taken.
template <class T, class F>
STEELYARD_INLINE std::size_t smo_body(const WorkingSet<T, F> &w, double tolerance, std::size_t max_steps) {
  using V = typename Lane<F>::type;
  using U = typename Lane<F>::unaligned;
  using Scalar = typename LaneIndex<F>::scalar;
  constexpr std::size_t L = Lane<F>::count;
  typedef Scalar I __attribute__((vector_size(CACHE_LINE)));
  typedef T KernelLane __attribute__((vector_size(L * sizeof(T)), aligned(alignof(T)), may_alias));
  constexpr F infinity = std::numeric_limits<F>::infinity();
  const std::size_t n = w.padded_size;
  I first;
  for (std::size_t l = 0; l < L; ++l)
    first[l] = static_cast<Scalar>(l);

  std::size_t i = 0, j = 0;
  F step = 0;
  for (std::size_t steps = 0;; ++steps) {
    // The last step's effect on the gradient, and on the way the smallest gradient among those that may grow.
    const T *row_i = w.kernel + i * n, *row_j = w.kernel + j * n;
    V least = infinity - V{};
    I least_at = first, at = first;
    for (std::size_t k = 0; k < n; k += L) {
      const V ki = __builtin_convertvector(*reinterpret_cast<const KernelLane *>(row_i + k), V);
      const V kj = __builtin_convertvector(*reinterpret_cast<const KernelLane *>(row_j + k), V);
      U *gradient = reinterpret_cast<U *>(w.gradient + k);
      const V g = *gradient + step * (ki - kj);
      *gradient = g;
      const V candidate = g + *reinterpret_cast<const U *>(w.up_bar + k);
      const I better = candidate < least;
      least = better ? candidate : least;
      least_at = better ? at : least_at;
      at += static_cast<Scalar>(L);
    }
    F smallest = infinity;
    for (std::size_t l = 0; l < L; ++l)
      if (least[l] < smallest) {
        smallest = least[l];
        i = static_cast<std::size_t>(least_at[l]);
      }
    if (smallest == infinity || steps == max_steps)
      return steps;

    // Second order: the partner that gains most, (g_j - g_i)^2 / (K_ii + K_jj - 2 K_ij).
    row_i = w.kernel + i * n;
    const F kii = w.diagonal[i];
    V widest = -infinity - V{}, gain = V{} - 1;
    I gain_at = first;
    at = first;
    for (std::size_t k = 0; k < n; k += L) {
      const V ki = __builtin_convertvector(*reinterpret_cast<const KernelLane *>(row_i + k), V);
      const V apart =
          (*reinterpret_cast<const U *>(w.gradient + k) - *reinterpret_cast<const U *>(w.down_bar + k)) - smallest;
      V curvature = kii + *reinterpret_cast<const U *>(w.diagonal + k) - F(2) * ki;
      curvature = curvature > curvature_floor<F>() ? curvature : V{} + curvature_floor<F>();
      const V value = apart > 0 ? apart * apart / curvature : V{} - 1;
      const I better = value > gain;
      gain = better ? value : gain;
      gain_at = better ? at : gain_at;
      widest = apart > widest ? apart : widest;
      at += static_cast<Scalar>(L);
    }
    F violation = -infinity, most = -1;
    for (std::size_t l = 0; l < L; ++l) {
      violation = std::max(violation, widest[l]);
      if (gain[l] > most) {
        most = gain[l];
        j = static_cast<std::size_t>(gain_at[l]);
      }
    }
    if (most < 0 || violation <= tolerance)
      return steps;

    const double curvature = std::max<double>(double(kii) + w.diagonal[j] - 2.0 * row_i[j], curvature_floor<F>());
    double t = (double(w.gradient[j]) - w.gradient[i]) / curvature;
    const double room_i = w.hi[i] - w.b[i], room_j = w.b[j] - w.lo[j];
    const double most_t = std::min(room_i, room_j);
    t = std::min(t, most_t);
    w.b[i] = t == room_i ? w.hi[i] : w.b[i] + t;
    w.b[j] = t == room_j ? w.lo[j] : w.b[j] - t;
    w.up_bar[i] = w.b[i] < w.hi[i] ? F(0) : infinity;
    w.up_bar[j] = F(0);
    w.down_bar[i] = F(0);
    w.down_bar[j] = w.b[j] > w.lo[j] ? F(0) : infinity;
    step = static_cast<F>(t);
  }
}

STEELYARD_WIDE inline std::size_t smo(const WorkingSet<float, float> &w, double tolerance, std::size_t max_steps) {
  return smo_body(w, tolerance, max_steps);
}
STEELYARD_WIDE inline std::size_t smo(const WorkingSet<float, double> &w, double tolerance, std::size_t max_steps) {
  return smo_body(w, tolerance, max_steps);
}
STEELYARD_WIDE inline std::size_t smo(const WorkingSet<double, double> &w, double tolerance, std::size_t max_steps) {
  return smo_body(w, tolerance, max_steps);
}

template <class T> class SvmSolver {
 public:
  SvmSolver(std::unique_ptr<KernelSource<T>> kernel, const double *linear, const double *lo, const double *hi,
            double tolerance, std::size_t working_set)
      : kernel_(std::move(kernel)), n_(kernel_->examples()), c_(linear, linear + n_), lo_(lo, lo + n_),
        hi_(hi, hi + n_), b_(n_, 0.0), f_(c_), kb_(kernel_->width(), 0.0), tolerance_(tolerance),
        working_set_(std::max<std::size_t>(2, std::min(working_set, n_))) {
    measure();
  }

  // A shorter or longer box, all else in proportion: b and Kb scale, so no kernel value is needed.
  void rescale(double ratio) {
    for (std::size_t i = 0; i < n_; ++i) {
      b_[i] *= ratio;
      lo_[i] *= ratio;
      hi_[i] *= ratio;
    }
    for (double &v : kb_)
      v *= ratio;
    refresh();
  }

  // At most about max_steps SMO steps; returns how many were taken. Stops early when `violation() <= tolerance`.
  std::size_t run(std::size_t max_steps) {
    std::size_t taken = 0;
    while (taken < max_steps && violation_ > tolerance_) {
      choose_working_set();
      taken += std::max<std::size_t>(1, solve_working_set(max_steps - taken));
    }
    return taken;
  }

  double violation() const { return violation_; }
  const std::vector<double> &b() const { return b_; }
  const std::vector<double> &gradient() const { return f_; }

  double objective() const { // 1/2 b'Kb + c'b
    double sum = 0.0;
    for (std::size_t i = 0; i < n_; ++i)
      sum += b_[i] * (0.5 * (f_[i] - c_[i]) + c_[i]);
    return sum;
  }

  // The level nu at which free examples sit: their mean gradient, or the middle of the interval optimality leaves.
  double level() const {
    double sum = 0.0;
    std::size_t free = 0;
    for (std::size_t i = 0; i < n_; ++i)
      if (b_[i] > lo_[i] && b_[i] < hi_[i]) {
        sum += f_[i];
        ++free;
      }
    if (free > 0)
      return sum / double(free);
    if (std::isfinite(least_) && std::isfinite(largest_))
      return 0.5 * (least_ + largest_);
    return std::isfinite(least_) ? least_ : std::isfinite(largest_) ? largest_ : 0.0;
  }

  // Objective minus a lower bound of its minimum: the linear model at b, minimised over the box, for one multiplier.
  double gap(double level) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double slope = f_[i] - level;
      sum += slope > 0 ? slope * (b_[i] - lo_[i]) : slope * (b_[i] - hi_[i]);
    }
    return sum;
  }

 private:
  bool may_grow(std::size_t i) const { return b_[i] < hi_[i]; }
  bool may_shrink(std::size_t i) const { return b_[i] > lo_[i]; }

  void refresh() {
    for (std::size_t i = 0; i < n_; ++i)
      f_[i] = kb_[kernel_->place(i)] + c_[i];
    measure();
  }

  void measure() {
    least_ = std::numeric_limits<double>::infinity();
    largest_ = -least_;
    for (std::size_t i = 0; i < n_; ++i) {
      if (may_grow(i))
        least_ = std::min(least_, f_[i]);
      if (may_shrink(i))
        largest_ = std::max(largest_, f_[i]);
    }
    violation_ = std::max(0.0, largest_ - least_);
  }

  // Half from each end: the smallest gradients that may grow, the largest that may shrink.
  void choose_working_set() {
    std::vector<std::int32_t> chosen;
    if (working_set_ >= n_) {
      for (std::size_t i = 0; i < n_; ++i)
        chosen.push_back(static_cast<std::int32_t>(i));
    } else {
      taken_.assign(n_, false);
      take_end(chosen, working_set_ / 2, true);
      take_end(chosen, working_set_, false);
      take_end(chosen, working_set_, true);
      std::sort(chosen.begin(), chosen.end());
    }
    const std::size_t stride = padded(chosen.size(), CACHE_LINE / sizeof(float));
    if (chosen == chosen_)
      return; // its block of the kernel is still there
    chosen_ = std::move(chosen);
    stride_ = stride;
    block_.assign(stride * stride, T(0));
    kernel_->block(chosen_, block_.data(), stride);
  }

  void take_end(std::vector<std::int32_t> &chosen, std::size_t up_to, bool growing) {
    ends_.clear();
    for (std::size_t i = 0; i < n_; ++i)
      if (!taken_[i] && (growing ? may_grow(i) : may_shrink(i)))
        ends_.push_back({growing ? f_[i] : -f_[i], static_cast<std::int32_t>(i)});
    const std::size_t count = std::min(ends_.size(), up_to > chosen.size() ? up_to - chosen.size() : 0);
    if (count < ends_.size())
      std::nth_element(ends_.begin(), ends_.begin() + count, ends_.end());
    for (std::size_t k = 0; k < count; ++k) {
      chosen.push_back(ends_[k].second);
      taken_[ends_[k].second] = true;
    }
  }

  std::size_t solve_working_set(std::size_t max_steps) {
    const double target = std::max(tolerance_, chosen_.size() == n_ ? 0.0 : 0.1 * violation_);
    // Single-precision gradients, counted from the level, carry the inner steps unless the target is near their noise.
    double spread = 0.0;
    const double level = 0.5 * (least_ + largest_);
    for (const std::int32_t i : chosen_)
      spread = std::max(spread, std::abs(f_[i] - level));
    if constexpr (sizeof(T) == sizeof(float))
      if (target > 1e-5 * spread)
        return solve_in<float>(level, target, max_steps);
    return solve_in<double>(level, target, max_steps);
  }

  template <class F> std::size_t solve_in(double level, double target, std::size_t max_steps) {
    const std::size_t q = chosen_.size();
    constexpr F infinity = std::numeric_limits<F>::infinity();
    std::vector<F> diagonal(stride_, F(0)), gradient(stride_, F(0)), up(stride_, infinity), down(stride_, infinity);
    std::vector<double> b(stride_, 0.0), lo(stride_, 0.0), hi(stride_, 0.0);
    for (std::size_t k = 0; k < q; ++k) {
      const std::int32_t i = chosen_[k];
      diagonal[k] = static_cast<F>(block_[k * stride_ + k]);
      gradient[k] = static_cast<F>(f_[i] - level);
      up[k] = may_grow(i) ? F(0) : infinity;
      down[k] = may_shrink(i) ? F(0) : infinity;
      b[k] = b_[i];
      lo[k] = lo_[i];
      hi[k] = hi_[i];
    }
    const WorkingSet<T, F> w{q,         stride_,     block_.data(), diagonal.data(), gradient.data(),
                             up.data(), down.data(), b.data(),      lo.data(),       hi.data()};
    const std::size_t steps = smo(w, target, max_steps);
    std::vector<std::int32_t> changed;
    std::vector<double> by;
    for (std::size_t k = 0; k < q; ++k)
      if (b[k] != b_[chosen_[k]]) {
        changed.push_back(chosen_[k]);
        by.push_back(b[k] - b_[chosen_[k]]);
        b_[chosen_[k]] = b[k];
      }
    kernel_->add(changed, by, kb_.data());
    refresh();
    return steps;
  }

  std::unique_ptr<KernelSource<T>> kernel_;
  std::size_t n_;
  std::vector<double> c_, lo_, hi_, b_, f_, kb_;
  double tolerance_, violation_ = 0.0, least_ = 0.0, largest_ = 0.0;
  std::size_t working_set_, stride_ = 0;
  std::vector<std::int32_t> chosen_;
  std::vector<T> block_;
  std::vector<bool> taken_;
  std::vector<std::pair<double, std::int32_t>> ends_;
};

} // namespace steelyard
