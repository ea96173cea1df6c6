// C4.5's error-based pruning: a node stays, becomes a leaf or is replaced by its largest branch, by pessimistic errors.
#pragma once

#include "tree_workspace.hpp"

namespace steelyard::tree {

constexpr double kSlackOfErrors = 0.1;    // a simpler tree may be estimated worse by this much
constexpr double kSlackOfCollapse = 1e-3; // training errors that a split must save

// Errors to expect on `weight` unseen objects after `errors` on as many seen ones: the upper confidence limit of a
// binomial. Exact without errors, the normal approximation with continuity correction from one error on, linear
// between.
class ErrorEstimate {
 public:
  explicit ErrorEstimate(double confidence) : confidence_(confidence), z_(upper_quantile(confidence)) {}

  double operator()(double weight, double errors) const {
    return is_empty(weight) ? 0.0 : errors + added(weight, errors);
  }

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

enum class Verdict { keep, leaf, raise };

class Pruner {
 public:
  Pruner(const Table &table, const Options &options, Workspace &workspace)
      : table_(table), options_(options), ws_(workspace), K_(table.n_classes()), estimate_(options.confidence) {}

  double estimate_of_leaf(const GrowingNode &node) const { return estimate_(node.weight, node.errors); }

  Verdict judge(const GrowingNode &node, const Groups &groups) {
    const double as_tree = sum_of_estimates(node);
    const double as_leaf = estimate_of_leaf(node);
    const double worth_knowing = std::max(as_tree + kSlackOfErrors, as_leaf - kSlackOfErrors) + kTolerance;
    const double as_branch =
        options_.raising ? estimate_of_branch(node, groups, worth_knowing) : std::numeric_limits<double>::infinity();
    if (as_leaf < as_tree + kSlackOfErrors + kTolerance && as_leaf < as_branch + kSlackOfErrors + kTolerance)
      return Verdict::leaf;
    return as_branch < as_tree + kSlackOfErrors + kTolerance ? Verdict::raise : Verdict::keep;
  }

  double sum_of_estimates(const GrowingNode &node) const {
    double sum = 0;
    for (std::size_t k = 0; k < node.n_children; ++k)
      sum += ws_.nodes[node.first_child + k].estimate;
    return sum;
  }

  // The last of the largest.
  std::size_t largest_branch(const GrowingNode &node) const {
    std::size_t largest = node.first_child;
    for (std::size_t k = 1; k < node.n_children; ++k)
      if (ws_.nodes[node.first_child + k].weight > ws_.nodes[largest].weight - kTolerance)
        largest = node.first_child + k;
    return largest;
  }

 private:
  // Pessimistic errors if all rows of the node went down its largest branch, or infinity once they exceed the limit.
  // Without missing values the branch's own rows stay where they are, and only the others are sent down on top of them;
  // with missing values the shares of the branches change, and all rows are sent down anew. More rows never lower an
  // estimate, so the sum only grows.
  double estimate_of_branch(const GrowingNode &node, const Groups &groups, double limit) {
    const std::size_t top = ws_.rows.top, branch = largest_branch(node);
    if (ws_.nodes[branch].question.test == SplitKind::leaf)
      return estimate_of_leaf(node);
    const bool anew = table_.has_missing();
    const Range own = anew ? Range{node.rows.begin, node.rows.begin} : groups.branches[branch - node.first_child].known;
    const Range before = ws_.rows.copy_to_top({node.rows.begin, own.begin});
    const Range after = ws_.rows.copy_to_top({own.end, node.rows.end});
    double sum = anew ? 0.0 : ws_.nodes[branch].estimate;
    ws_.trials.assign(1, {branch, {before.begin, after.end}});
    while (!ws_.trials.empty() && sum <= limit) {
      const Trial trial = ws_.trials.back();
      ws_.trials.pop_back();
      ws_.rows.top = trial.rows.end; // trials further down the list lie below
      sum += send_down(ws_.nodes[trial.node], trial.rows, anew);
    }
    ws_.rows.top = top;
    return sum <= limit ? sum : std::numeric_limits<double>::infinity();
  }

  // What the leaves right below a node add to the estimate; its other children go on the list.
  double send_down(const GrowingNode &node, Range rows, bool anew) {
    Groups &groups = ws_.trial_groups;
    ws_.rows.divide<false>(table_, node.question, rows, groups);
    double sum = 0;
    std::size_t k = 0;
    for (const Group &group : groups.branches) {
      while (k < node.n_children && ws_.nodes[node.first_child + k].branch < group.key)
        ++k;
      const std::size_t child = node.first_child + k;
      const bool known = k < node.n_children && ws_.nodes[child].branch == group.key;
      if (known && ws_.nodes[child].question.test != SplitKind::leaf)
        ws_.trials.push_back({child, ws_.rows.branch_rows(groups, group)});
      else
        sum += change_of_leaf(groups, group, known && !anew ? child : kNewLeaf);
    }
    return sum;
  }

  double change_of_leaf(const Groups &groups, const Group &group, std::size_t leaf) {
    std::vector<double> &classes = ws_.trial_classes;
    classes.assign(K_, 0.0);
    if (leaf != kNewLeaf)
      std::copy_n(ws_.classes.begin() + static_cast<std::ptrdiff_t>(leaf * K_), K_, classes.begin());
    ws_.rows.add_classes(table_, group.known, 1.0, classes.data());
    if (groups.share(group) > 0)
      ws_.rows.add_classes(table_, groups.missing, groups.share(group), classes.data());
    double total = 0;
    for (double w : classes)
      total += w;
    const double before = leaf != kNewLeaf ? ws_.nodes[leaf].estimate : 0.0;
    return estimate_(total, errors_of(classes.data(), K_, total)) - before;
  }

  static constexpr std::size_t kNewLeaf = std::numeric_limits<std::size_t>::max();

  const Table &table_;
  const Options &options_;
  Workspace &ws_;
  std::size_t K_;
  ErrorEstimate estimate_;
};

} // namespace steelyard::tree
