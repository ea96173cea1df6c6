// A grown tree as flat arrays, and the walk of an example through it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard::tree {

enum class SplitKind : std::uint8_t {
  leaf = 0,
  at_most = 1, // numeric: child 0 holds x <= threshold, child 1 the rest
  each = 2,    // nominal: one child per category that has weight, in ascending order of category
  equals = 3,  // nominal: child 0 holds x == threshold, child 1 the rest
};

// Node 0 is the root; the children of a node stand side by side, behind their parent.
struct Tree {
  std::size_t n_classes = 0;
  std::vector<std::uint8_t> test;        // a SplitKind
  std::vector<std::int32_t> column;      // tested column, -1 in a leaf
  std::vector<double> threshold;         // at_most, equals
  std::vector<std::int32_t> first_child; // -1 in a leaf
  std::vector<std::int32_t> n_children;
  std::vector<double> branch; // category by which an `each` parent reaches this node
  std::vector<double> weight; // (nodes x classes) training weight of each class

  std::size_t size() const { return test.size(); }

  void clear() { // keeps the capacity
    test.clear();
    column.clear();
    threshold.clear();
    first_child.clear();
    n_children.clear();
    branch.clear();
    weight.clear();
  }
};

// The same without ownership: what prediction reads.
struct TreeView {
  std::size_t n_classes;
  const std::uint8_t *test;
  const std::int32_t *column;
  const double *threshold;
  const std::int32_t *first_child;
  const std::int32_t *n_children;
  const double *branch;
  const double *weight;

  TreeView(const Tree &t)
      : n_classes(t.n_classes), test(t.test.data()), column(t.column.data()), threshold(t.threshold.data()),
        first_child(t.first_child.data()), n_children(t.n_children.data()), branch(t.branch.data()),
        weight(t.weight.data()) {}
  TreeView() = default;

  double total(std::size_t node) const {
    double sum = 0;
    for (std::size_t c = 0; c < n_classes; ++c)
      sum += weight[node * n_classes + c];
    return sum;
  }

  // The child that x goes to, or -1 if its category had no weight at this node in training.
  std::int32_t child_of(std::size_t node, double x) const {
    const std::int32_t first = first_child[node];
    if (test[node] == static_cast<std::uint8_t>(SplitKind::at_most))
      return first + (x <= threshold[node] ? 0 : 1);
    if (test[node] == static_cast<std::uint8_t>(SplitKind::equals))
      return first + (x == threshold[node] ? 0 : 1);
    const double *begin = branch + first;
    const double *end = begin + n_children[node];
    const double *at = std::lower_bound(begin, end, x);
    return at != end && *at == x ? first + static_cast<std::int32_t>(at - begin) : -1;
  }
};

// Ties go to the first class; differences that only rounding can explain are ties.
inline std::int32_t first_largest(const double *share, std::size_t n_classes) {
  double largest = 0;
  for (std::size_t c = 0; c < n_classes; ++c)
    largest = std::max(largest, share[c]);
  std::size_t c = 0;
  while (c + 1 < n_classes && share[c] < largest * (1 - 1e-9))
    ++c;
  return static_cast<std::int32_t>(c);
}

struct Step {
  std::int32_t node;
  double share;
};

// Adds the class probabilities of one example to out. A missing value goes down every branch with the branch's share
// of the training weight; a category unknown to a node ends there, with the node's own distribution.
// `value(column)` gives the example's value, NaN if missing; `pending` is scratch.
template <class Value>
void add_probabilities(const TreeView &tree, const Value &value, std::vector<Step> &pending, double *out) {
  pending.assign(1, Step{0, 1.0});
  while (!pending.empty()) {
    Step at = pending.back();
    pending.pop_back();
    bool stopped = false;
    while (!stopped && tree.column[at.node] >= 0) {
      const double x = value(static_cast<std::size_t>(tree.column[at.node]));
      if (std::isnan(x)) {
        const std::int32_t first = tree.first_child[at.node], n = tree.n_children[at.node];
        double total = 0;
        for (std::int32_t k = 0; k < n; ++k)
          total += tree.total(first + k);
        for (std::int32_t k = n - 1; k >= 0; --k)
          pending.push_back({first + k, at.share * (tree.total(first + k) / total)});
        at = pending.back();
        pending.pop_back();
      } else {
        const std::int32_t child = tree.child_of(at.node, x);
        stopped = child < 0;
        at.node = stopped ? at.node : child;
      }
    }
    const double total = tree.total(at.node);
    for (std::size_t c = 0; c < tree.n_classes; ++c)
      out[c] += at.share * (tree.weight[at.node * tree.n_classes + c] / total);
  }
}

} // namespace steelyard::tree
