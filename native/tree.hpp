// C4.5 (Quinlan 1993): gain ratio, multiway nominal splits, missing values by fractional weights, error-based pruning.
//
//   Table table(X, rows, columns, nominal, labels, classes);   // once; shared by all threads
//   Workspace workspace;                                       // one per thread; reused, so no allocation per tree
//   Tree tree;
//   grow(table, weights, options, workspace, tree);            // weights: one per row, >= 0, not all 0
//   training_labels(table, tree, workspace, labels);           // right after grow, same workspace
//   predict(table, tree, row, workspace)                       // any row of the table, e.g. one of weight 0
//
// grow and training_labels read nothing but their arguments: same input, same bits, on any thread.
#pragma once

#include "pulse.hpp"
#include "tree_model.hpp"
#include "tree_table.hpp"
#include "tree_workspace.hpp"

namespace steelyard::tree {

// Fits a tree to the rows of positive weight. Rows of weight 0 change nothing. In tree.cpp, for it takes long to
// compile.
void grow(const Table &table, const double *weights, const Options &options, Workspace &workspace, Tree &out);

// Class of one row of the table.
inline std::int32_t predict(const Table &table, const TreeView &tree, std::size_t row, Workspace &workspace) {
  workspace.share.assign(tree.n_classes, 0.0);
  add_probabilities(
      tree, [&](std::size_t a) { return table.value(row, a); }, workspace.pending, workspace.share.data());
  return first_largest(workspace.share.data(), tree.n_classes);
}

// Class of every row of the table by the tree just grown in this workspace: by membership where a row lies at one
// node, by a walk for rows of weight 0 and where missing values were split. Equal to predict() for every row.
inline void training_labels(const Table &table, const Tree &tree, Workspace &workspace, std::int32_t *out) {
  std::vector<std::int32_t> &label = workspace.node_label;
  label.resize(tree.size());
  for (std::size_t node = 0; node < tree.size(); ++node) {
    const double total = TreeView(tree).total(node);
    workspace.share.resize(tree.n_classes);
    for (std::size_t c = 0; c < tree.n_classes; ++c)
      workspace.share[c] = tree.weight[node * tree.n_classes + c] / total;
    label[node] = first_largest(workspace.share.data(), tree.n_classes);
  }
  Pulse pulse;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    pulse.spend(8);
    const std::int32_t node = workspace.answer_of_row[row];
    out[row] = node >= 0 ? label[node] : predict(table, tree, row, workspace);
  }
}

} // namespace steelyard::tree
