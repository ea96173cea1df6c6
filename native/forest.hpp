// Binary trees of any library as one array of nodes: what is checked before they are believed, and the walk of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pulse.hpp"

namespace steelyard::forest {

enum Flag : std::uint8_t {
  categorical = 1,     // left where the whole part of x is in the set `threshold`, else right
  missing_left = 2,    // where a missing value goes
  nan_is_zero = 4,     // NaN counts as 0
  zero_is_missing = 8, // 0 counts as missing
  all_flags = 15,
};
constexpr double zero_reach = 1e-35f; // LightGBM's kZeroThreshold, a float there

// Trees one behind the other, the root of each first. `left` and `right` say how far behind a node its children
// stand, 0 and 0 in a leaf; so nothing can lead back. Set s has the words [set_ends[s - 1], set_ends[s]).
struct Arrays {
  std::size_t n_nodes, n_trees, n_sets, n_words, n_leaves, width;
  const std::int32_t *column, *left, *right;
  const double *threshold;
  const std::uint8_t *flags;
  const std::int64_t *tree_ends, *set_ends;
  const std::uint32_t *words;
  const double *values; // (leaves x width), leaves in the order of their nodes
};

// What is wrong with the arrays, or nullptr. Nothing below may be called before this was asked.
inline const char *array_error(const Arrays &a, std::size_t n_features, std::size_t n_outputs) {
  if (a.n_trees == 0 || a.n_nodes == 0 || a.n_nodes > INT32_MAX)
    return "trees must have nodes";
  if (n_outputs == 0 || (a.width != 1 && a.width != n_outputs) || a.n_trees % (a.width == 1 ? n_outputs : 1))
    return "leaves must answer for every output";
  std::int64_t before = 0;
  for (std::size_t s = 0; s < a.n_sets; before = a.set_ends[s++])
    if (a.set_ends[s] < before || a.set_ends[s] > static_cast<std::int64_t>(a.n_words))
      return "sets of categories must lie behind one another";
  std::size_t start = 0, leaves = 0;
  for (std::size_t t = 0; t < a.n_trees; ++t) {
    if (a.tree_ends[t] <= static_cast<std::int64_t>(start) || a.tree_ends[t] > static_cast<std::int64_t>(a.n_nodes))
      return "trees must lie behind one another";
    const auto end = static_cast<std::size_t>(a.tree_ends[t]);
    for (std::size_t i = start; i < end; ++i) {
      if (a.left[i] == 0 && a.right[i] == 0) {
        ++leaves;
        continue;
      }
      const auto room = static_cast<std::int64_t>(end - i);
      if (a.left[i] <= 0 || a.right[i] <= 0 || a.left[i] >= room || a.right[i] >= room)
        return "children must come after their parent and before the end";
      if (a.column[i] < 0 || static_cast<std::size_t>(a.column[i]) >= n_features)
        return "nodes must test columns that exist";
      if (a.flags[i] > all_flags || std::isnan(a.threshold[i]))
        return "nodes must ask a question that is known";
      if ((a.flags[i] & categorical) && !(a.threshold[i] >= 0 && a.threshold[i] < static_cast<double>(a.n_sets)))
        return "nodes must name sets that exist";
    }
    start = end;
  }
  if (start != a.n_nodes || leaves != a.n_leaves)
    return "every node must belong to a tree and every leaf have values";
  return nullptr;
}

class Forest {
 public:
  // The arrays must be without error; they are copied.
  Forest(const Arrays &a, std::size_t n_features, std::size_t n_outputs)
      : n_features_(n_features), n_outputs_(n_outputs), width_(a.width), nodes_(a.n_nodes), roots_(a.n_trees),
        set_ends_(a.set_ends, a.set_ends + a.n_sets), words_(a.words, a.words + a.n_words),
        values_(a.values, a.values + a.n_leaves * a.width) {
    std::int32_t leaf = 0;
    for (std::size_t i = 0; i < a.n_nodes; ++i) {
      const auto at = static_cast<std::int32_t>(i);
      const bool is_leaf = a.left[i] == 0;
      nodes_[i] = is_leaf ? Node{0.0, -1, leaf++, 0, 0}
                          : Node{a.threshold[i], a.column[i], at + a.left[i], at + a.right[i], a.flags[i]};
    }
    for (std::size_t t = 0; t < a.n_trees; ++t)
      roots_[t] = t == 0 ? 0 : static_cast<std::int32_t>(a.tree_ends[t - 1]);
  }

  std::size_t n_features() const { return n_features_; }
  std::size_t n_outputs() const { return n_outputs_; }

  // Adds what every tree says of each row to out (n x n_outputs), tree after tree.
  template <class T> void add(const T *X, std::size_t n, double *out) const {
    Pulse pulse;
    for (std::size_t first = 0; first < n; first += rows_at_once) { // a tree stays in the cache for some rows
      const std::size_t last = std::min(n, first + rows_at_once);
      pulse.spend(16 * (last - first) * roots_.size());
      for (std::size_t t = 0; t < roots_.size(); ++t)
        for (std::size_t i = first; i < last; ++i)
          add_tree(t, X + i * n_features_, out + i * n_outputs_);
    }
  }

  static constexpr std::size_t rows_at_once = 64;

 private:
  struct Node {
    double threshold;
    std::int32_t column; // -1 in a leaf, whose `left` is then its place among the leaves
    std::int32_t left, right;
    std::uint32_t flags;
  };

  template <class T> void add_tree(std::size_t t, const T *x, double *out) const {
    const Node *node = &nodes_[roots_[t]];
    while (node->column >= 0)
      node = &nodes_[goes_left(*node, static_cast<double>(x[node->column])) ? node->left : node->right];
    const double *value = &values_[static_cast<std::size_t>(node->left) * width_];
    if (width_ == 1)
      out[t % n_outputs_] += *value;
    else
      for (std::size_t k = 0; k < width_; ++k)
        out[k] += value[k];
  }

  bool goes_left(const Node &node, double x) const {
    if (std::isnan(x)) {
      if (!(node.flags & nan_is_zero))
        return node.flags & missing_left;
      x = 0.0;
    }
    if ((node.flags & zero_is_missing) && std::fabs(x) <= zero_reach)
      return node.flags & missing_left;
    if (node.flags & categorical)
      return in_set(node, x);
    return x <= node.threshold;
  }

  bool in_set(const Node &node, double x) const {
    x = std::trunc(x);
    if (!(x >= 0.0 && x < 2147483648.0))
      return node.flags & missing_left;
    const auto set = static_cast<std::size_t>(node.threshold);
    const std::int64_t begin = set == 0 ? 0 : set_ends_[set - 1], end = set_ends_[set];
    const auto code = static_cast<std::uint32_t>(x);
    const std::int64_t word = begin + code / 32;
    return word < end && (words_[static_cast<std::size_t>(word)] >> (code % 32) & 1u);
  }

  std::size_t n_features_, n_outputs_, width_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> roots_;
  std::vector<std::int64_t> set_ends_;
  std::vector<std::uint32_t> words_;
  std::vector<double> values_;
};

} // namespace steelyard::forest
