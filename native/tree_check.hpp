// What add_probabilities takes for granted of a tree: it indexes with these numbers. Children stand behind their one
// parent, so that every walk ends, and soon.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree_model.hpp"

namespace steelyard::tree {

// What is wrong with the weights of a node, or nullptr.
inline const char *weight_error(const TreeView &view, std::size_t node) {
  double total = 0;
  for (std::size_t c = 0; c < view.n_classes; ++c) {
    const double weight = view.weight[node * view.n_classes + c];
    if (!(weight >= 0))
      return "weights must not be negative";
    total += weight;
  }
  return total > 0 && std::isfinite(total) ? nullptr : "every node must have a finite weight above 0";
}

// What is wrong with the tree, or nullptr.
inline const char *array_error(const TreeView &view, std::size_t nodes, std::size_t n_features) {
  if (nodes == 0 || view.n_classes == 0)
    return "a tree must have a node and a class";
  std::vector<bool> has_parent(nodes, false);
  for (std::size_t node = 0; node < nodes; ++node) {
    if (view.test[node] > static_cast<std::uint8_t>(SplitKind::equals))
      return "a node has an unknown test";
    const bool leaf = view.test[node] == static_cast<std::uint8_t>(SplitKind::leaf);
    if (leaf != (view.column[node] < 0))
      return "leaves, and only they, must have no column";
    if (const char *wrong = weight_error(view, node))
      return wrong;
    if (leaf)
      continue;
    const std::int64_t first = view.first_child[node], count = view.n_children[node];
    const bool binary = view.test[node] != static_cast<std::uint8_t>(SplitKind::each);
    if (static_cast<std::size_t>(view.column[node]) >= n_features)
      return "a node tests a column that X does not have";
    if (count < 1 || (binary && count != 2))
      return "a test must have children, two if it is binary";
    if (first <= static_cast<std::int64_t>(node) || first + count > static_cast<std::int64_t>(nodes))
      return "the children of a node must stand behind it and within the tree";
    for (std::int64_t child = first; child < first + count; ++child) {
      if (has_parent[child])
        return "a node must not have two parents";
      has_parent[child] = true;
      if (!binary && child != first && !(view.branch[child - 1] < view.branch[child]))
        return "the branches of a node must be sorted";
    }
  }
  return nullptr;
}

} // namespace steelyard::tree
