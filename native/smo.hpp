// min 1/2 b'Kb + c'b, sum b = 0, lo_i <= b_i <= hi_i  (lo_i <= 0 <= hi_i): the dual of every SVM here, with b = y a.
//
// Two levels. The outer one keeps F = Kb + c over all examples, certifies the KKT violation max{F_i: b_i > lo_i} -
// min{F_i: b_i < hi_i} and picks a working set from its two ends. The inner one is SMO with second-order selection
// (WSS2) on the working set's own contiguous block of the kernel, so that its steps cost O(working set) from the
// cache; where many examples are free it works on all of them, in the kernel as it lies. Only kernel rows of examples
// whose b changed are then added to F.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernel_source.hpp"
#include "pulse.hpp"
#include "working_block.hpp"

namespace steelyard {

template <class T> class SvmSolver {
 public:
  SvmSolver(std::unique_ptr<KernelSource<T>> kernel, const double *linear, const double *lo, const double *hi,
            double tolerance)
      : kernel_(std::move(kernel)), n_(kernel_->examples()), c_(linear, linear + n_), lo_(lo, lo + n_),
        hi_(hi, hi + n_), b_(n_, 0.0), f_(c_), kb_(kernel_->width(), 0.0), tolerance_(tolerance), block_(n_) {
    measure();
  }

  // A shorter or longer box. b and Kb scale in proportion or stay as they are, so no kernel value is needed.
  void rescale(double ratio) {
    const double growth = ratio < 1 || mostly_at_bounds() ? ratio : 1.0;
    for (std::size_t i = 0; i < n_; ++i) {
      b_[i] *= growth;
      lo_[i] *= ratio;
      hi_[i] *= ratio;
    }
    for (double &v : kb_)
      v *= growth;
    refresh();
  }

  // At most about max_steps SMO steps; returns how many were taken. Stops early when the violation is accuracy() or
  // less.
  std::size_t run(std::size_t max_steps) {
    if (interrupted_)
      throw std::logic_error("this solver was interrupted and holds no solution");
    interrupted_ = true; // unless the loop ends
    std::size_t taken = 0;
    while (taken < max_steps && violation_ > accuracy()) {
      const std::size_t left = max_steps - taken;
      const WorkingSet<T> set = choose_working_set();
      taken += std::max<std::size_t>(1, set.rows.empty() ? plain_steps(left) : solve(set, left));
    }
    interrupted_ = false;
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
  // Examples at their bounds follow a growing box; where few are, b is nearly the solution as it stands.
  bool mostly_at_bounds() const {
    std::size_t used = 0, bounded = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      used += b_[i] != 0;
      bounded += b_[i] != 0 && (b_[i] == lo_[i] || b_[i] == hi_[i]);
    }
    return 3 * bounded > used;
  }

  bool may_grow(std::size_t i) const { return b_[i] < hi_[i]; }
  bool may_shrink(std::size_t i) const { return b_[i] > lo_[i]; }

  void refresh() {
    for (std::size_t i = 0; i < n_; ++i)
      f_[i] = kb_[kernel_->place(i)] + c_[i];
    measure();
  }

  // The violation to come down to. Where the decisions themselves lie close together, as under strong regularisation,
  // it is a share of their spread: otherwise their order, and so the sign of every answer, would be left to chance.
  double accuracy() const {
    constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
    return std::max(tolerance_ * std::min(1.0, spread_), rounding * std::max(std::abs(least_), std::abs(largest_)));
  }

  void measure() {
    least_ = std::numeric_limits<double>::infinity();
    largest_ = -least_;
    double lowest = least_, highest = largest_, finite = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      finite += f_[i] * 0.0;
      lowest = std::min(lowest, f_[i] - c_[i]);
      highest = std::max(highest, f_[i] - c_[i]);
      if (may_grow(i))
        least_ = std::min(least_, f_[i]);
      if (may_shrink(i))
        largest_ = std::max(largest_, f_[i]);
    }
    if (finite != 0.0) // NaN has no order, and what follows picks examples by theirs
      throw std::domain_error("the kernel, c and the box must give finite gradients");
    violation_ = std::max(0.0, largest_ - least_);
    spread_ = highest - lowest;
  }

  // Half from each end: the smallest gradients that may grow, the largest that may shrink. The set must hold all free
  // examples with room to spare: a smaller one makes the rounds undo each other's work.
  WorkingSet<T> choose_working_set() {
    std::size_t free = 0;
    for (std::size_t i = 0; i < n_; ++i)
      free += may_grow(i) && may_shrink(i);
    const std::size_t most = std::min(n_, kernel_->largest_block());
    const std::size_t spare = std::clamp<std::size_t>(n_ / 32, 256, 1024);
    const bool crowded = free > most - most / 8 && most < n_;
    if (crowded || free > n_ / 16) // a copy of so large a part of the kernel would cost more than it saves
      if (WorkingSet<T> all = kernel_->all_examples(crowded); crowded || !all.rows.empty())
        return all;
    const std::size_t size = std::min(most, spare + free + free / 4);
    chosen_.clear();
    taken_.assign(n_, 0);
    take_end(size / 2, true);
    take_end(size, false);
    take_end(size, true);
    return block_.hold(chosen_, *kernel_);
  }

  void take_end(std::size_t up_to, bool growing) {
    ends_.clear();
    for (std::size_t i = 0; i < n_; ++i)
      if (!taken_[i] && (growing ? may_grow(i) : may_shrink(i)))
        ends_.push_back({growing ? f_[i] : -f_[i], static_cast<std::int32_t>(i)});
    const std::size_t count = std::min(ends_.size(), up_to > chosen_.size() ? up_to - chosen_.size() : 0);
    if (count < ends_.size())
      std::nth_element(ends_.begin(), ends_.begin() + count, ends_.end());
    for (std::size_t k = 0; k < count; ++k) {
      chosen_.push_back(ends_[k].second);
      taken_[ends_[k].second] = 1;
    }
  }

  std::size_t solve(const WorkingSet<T> &set, std::size_t max_steps) {
    const double target = std::max(accuracy(), 0.1 * violation_);
    // Single-precision gradients, counted from the level, carry the inner steps unless the target is near their noise.
    const double level = 0.5 * (least_ + largest_);
    double spread = 0.0;
    for (const std::int32_t i : set.examples)
      if (i != NO_EXAMPLE)
        spread = std::max(spread, std::abs(f_[i] - level));
    if constexpr (sizeof(T) == sizeof(float))
      if (target > 1e-5 * spread)
        return solve_in<float>(set, level, target, max_steps);
    return solve_in<double>(set, level, target, max_steps);
  }

  template <class F>
  std::size_t solve_in(const WorkingSet<T> &set, double level, double target, std::size_t max_steps) {
    const std::size_t size = set.rows.size();
    const Examples &example = set.examples;
    constexpr F infinity = std::numeric_limits<F>::infinity();
    std::vector<F> diagonal(size, F(0)), gradient(size, F(0)), up(size, infinity), down(size, infinity);
    std::vector<double> b(size, 0.0), lo(size, 0.0), hi(size, 0.0);
    for (std::size_t k = 0; k < size; ++k) {
      const std::int32_t i = example[k];
      if (i == NO_EXAMPLE)
        continue; // the bars of an empty slot stay up
      diagonal[k] = static_cast<F>(set.rows[k][k]);
      gradient[k] = static_cast<F>(f_[i] - level);
      up[k] = may_grow(i) ? F(0) : infinity;
      down[k] = may_shrink(i) ? F(0) : infinity;
      b[k] = b_[i];
      lo[k] = lo_[i];
      hi[k] = hi_[i];
    }
    const SmoArrays<T, F> w{size,        set.rows.data(), diagonal.data(), gradient.data(), up.data(),
                            down.data(), b.data(),        lo.data(),       hi.data()};
    const std::size_t steps = smo(w, target, max_steps);
    Examples changed;
    std::vector<double> by;
    for (std::size_t k = 0; k < size; ++k)
      if (const std::int32_t i = example[k]; i != NO_EXAMPLE && b[k] != b_[i]) {
        changed.push_back(i);
        by.push_back(b[k] - b_[i]);
        b_[i] = b[k];
      }
    kernel_->add(changed, by, kb_.data());
    refresh();
    return steps;
  }

  // SMO over all examples, for solutions with more free examples than a block may hold.
  std::size_t plain_steps(std::size_t max_steps) {
    std::size_t steps = 0;
    Pulse pulse;
    for (const std::size_t most = std::min<std::size_t>(max_steps, n_); steps < most && violation_ > accuracy();
         ++steps) {
      pulse.spend(8 * n_);
      const std::size_t i = lowest_that_may_grow();
      const std::size_t j = i < n_ ? best_partner(i) : n_;
      if (j == n_)
        throw std::domain_error("the kernel among the examples must be finite");
      const double t = std::min({(f_[j] - f_[i]) / curvature(i, j), hi_[i] - b_[i], b_[j] - lo_[j]});
      const bool fills = t == hi_[i] - b_[i], empties = t == b_[j] - lo_[j];
      b_[i] = fills ? hi_[i] : b_[i] + t;
      b_[j] = empties ? lo_[j] : b_[j] - t;
      kernel_->add({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)}, {t, -t}, kb_.data());
      refresh();
    }
    return steps;
  }

  std::size_t lowest_that_may_grow() const {
    std::size_t at = n_;
    for (std::size_t i = 0; i < n_; ++i)
      if (may_grow(i) && (at == n_ || f_[i] < f_[at]))
        at = i;
    return at;
  }

  std::size_t best_partner(std::size_t i) {
    if (diagonal_.empty())
      for (std::int32_t k = 0; k < static_cast<std::int32_t>(n_); ++k) {
        diagonal_.push_back(T(0));
        kernel_->cross({k}, {k}, &diagonal_.back());
      }
    row_ = kernel_->row(i);
    std::size_t at = n_;
    double most = 0.0;
    for (std::size_t j = 0; j < n_; ++j)
      if (may_shrink(j) && f_[j] > f_[i])
        if (const double gain = (f_[j] - f_[i]) * (f_[j] - f_[i]) / curvature(i, j); gain > most) {
          most = gain;
          at = j;
        }
    return at;
  }

  double curvature(std::size_t i, std::size_t j) const { // of the row that best_partner looked up
    return std::max(double(diagonal_[i]) + diagonal_[j] - 2.0 * row_[j], curvature_floor<double>());
  }

  std::unique_ptr<KernelSource<T>> kernel_;
  std::size_t n_;
  std::vector<double> c_, lo_, hi_, b_, f_, kb_;
  double tolerance_, violation_ = 0.0, least_ = 0.0, largest_ = 0.0, spread_ = 0.0;
  WorkingBlock<T> block_;
  std::vector<T> diagonal_;
  const T *row_ = nullptr;
  bool interrupted_ = false;
  Examples chosen_;
  std::vector<unsigned char> taken_;
  std::vector<std::pair<double, std::int32_t>> ends_;
};

} // namespace steelyard
