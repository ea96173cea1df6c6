// What growing a tree works on: options, nodes under construction and all buffers.
#pragma once

#include <limits>
#include <tuple>

#include "tree_split.hpp"

namespace steelyard::tree {

struct Options {
  double min_obj = 2;          // weight that at least two branches must hold
  double confidence = 0.25;    // of the error estimate, (0, 1/2]
  bool prune = true;           // error-based pruning
  bool collapse = true;        // drop splits that save no training error
  bool raising = true;         // pruning may replace a node by its largest branch
  bool binary_nominal = false; // category against the rest instead of one branch per category
  std::size_t max_depth = std::numeric_limits<std::size_t>::max();
};

struct GrowingNode {
  Question question;
  std::size_t first_child = 0, n_children = 0;
  std::uint32_t branch = 0;
  Range rows;
  double weight = 0, errors = 0; // errors: of the node as a leaf
  double subtree_errors = 0;     // training errors of all that was grown below
  double estimate = 0;           // pessimistic errors of the finished subtree
};

// A node being worked on: first grown, and examined again without growing whenever it was replaced by a branch.
struct Visit {
  std::size_t node;
  bool growing, entered = false;
  std::size_t depth, top, next_child = 0;
  std::size_t n_closed = 0; // columns that were closed before this node
  Groups groups;
};

// A part of a branch on trial as a replacement.
struct Trial {
  std::size_t node;
  Range rows;
};

// All buffers of one thread. Reuse it: its capacity stays.
struct Workspace {
  RowStack rows;
  std::tuple<SplitScratch<double>, SplitScratch<std::int32_t>> split; // by type of weight
  Occurrence occurs;
  std::vector<std::uint8_t> closed, few_values; // by column
  std::vector<std::uint32_t> closed_columns;    // in the order of closing
  std::vector<GrowingNode> nodes;
  std::vector<double> classes; // (nodes x classes)
  std::vector<Visit> visits;   // only the first n_visits are in use; the others keep their capacity
  std::size_t n_visits = 0;
  std::vector<Trial> trials;
  Groups trial_groups;
  std::vector<double> trial_classes;
  std::vector<std::size_t> queue;
  std::vector<std::int32_t> answer_of_row; // node whose distribution answers for all of a row, -1 if there is none
  std::vector<std::int32_t> node_label;
  std::vector<double> share;
  std::vector<Step> pending;
};

// Weight of all classes but the largest.
inline double errors_of(const double *classes, std::size_t n_classes, double total) {
  return total - *std::max_element(classes, classes + n_classes);
}

} // namespace steelyard::tree
