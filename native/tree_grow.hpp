// Growing, collapsing and pruning in one depth-first pass with an explicit stack, so that depth costs no C++ stack.
//
// A node is finished after its children. Collapsing looks only at the untouched subtree, pruning only at the finished
// one, so both can be decided there, while the node's rows still lie on the row stack.
#pragma once

#include "pulse.hpp"
#include "tree_prune.hpp"

namespace steelyard::tree {

class Grower {
 public:
  Grower(const Table &table, const double *weights, const Options &options, Workspace &workspace)
      : table_(table), weights_(weights), options_(options), ws_(workspace), K_(table.n_classes()),
        pruner_(table, options, workspace) {}

  void run(Tree &out) {
    load_rows();
    if (whole_)
      run_with<WholeXLogX>();
    else
      run_with<RealXLogX>();
    write(out);
  }

 private:
  template <class XLogX> void run_with() {
    switch (K_) {
    case 2:
      return run_with<XLogX, 2>();
    case 3:
      return run_with<XLogX, 3>();
    case 4:
      return run_with<XLogX, 4>();
    default:
      return run_with<XLogX, 0>();
    }
  }

  template <class XLogX, std::size_t Classes> void run_with() {
    SplitSearch<XLogX, Classes> search(table_, ws_.rows, ws_.occurs,
                                       std::get<SplitScratch<typename XLogX::Weight>>(ws_.split), options_.min_obj,
                                       options_.binary_nominal);
    ws_.nodes.assign(1, {});
    ws_.classes.assign(K_, 0.0);
    ws_.nodes[0].rows = {0, ws_.rows.top};
    ws_.rows.add_classes(table_, ws_.nodes[0].rows, 1.0, classes_of(0));
    open(0, true, 0, ws_.rows.top);
    while (ws_.n_visits > 0) {
      Visit &visit = ws_.visits[ws_.n_visits - 1];
      if (!visit.entered)
        enter(visit, search);
      else if (visit.next_child < ws_.nodes[visit.node].n_children)
        open_next_child(visit);
      else
        leave(visit);
    }
  }

  void load_rows() {
    RowStack &rows = ws_.rows;
    rows.top = 0;
    rows.reserve(table_.n_rows());
    double total = 0;
    bool whole = !table_.has_missing();
    for (std::size_t i = 0; i < table_.n_rows(); ++i) {
      if (!(weights_[i] > 0))
        continue;
      rows.row[rows.top] = static_cast<std::uint32_t>(i);
      rows.weight[rows.top++] = weights_[i];
      total += weights_[i];
      whole = whole && weights_[i] == std::floor(weights_[i]);
    }
    whole_ = whole && total <= static_cast<double>(kWhole);
    note_occurrence();
    ws_.closed.assign(table_.n_columns(), 0);
    ws_.closed_columns.clear();
    choose_columns_of_mean_gain(total);
  }

  void note_occurrence() {
    ws_.occurs.flag.clear();
    if (ws_.rows.top == table_.n_rows())
      return;
    ws_.occurs.flag.resize(table_.n_columns());
    for (std::size_t a = 0; a < table_.n_columns(); ++a) {
      ws_.occurs.flag[a].assign(table_.column(a).values.size() + 1, 0);
      for (std::size_t i = 0; i < ws_.rows.top; ++i)
        ws_.occurs.flag[a][table_.column(a).codes[ws_.rows.row[i]]] = 1;
    }
  }

  // Nominal columns with very many categories do not take part in the mean gain, unless there are no others.
  void choose_columns_of_mean_gain(double total) {
    bool any = false;
    ws_.few_values.assign(table_.n_columns(), 0);
    for (std::size_t a = 0; a < table_.n_columns(); ++a) {
      const Column &column = table_.column(a);
      std::size_t categories = 0;
      for (std::uint32_t code = 0; column.nominal && code < column.missing(); ++code)
        categories += ws_.occurs.at(a, code);
      ws_.few_values[a] = !column.nominal || static_cast<double>(categories) < 0.3 * total - kTolerance;
      any = any || ws_.few_values[a];
    }
    if (!any)
      std::fill(ws_.few_values.begin(), ws_.few_values.end(), 1);
  }

  void open(std::size_t node, bool growing, std::size_t depth, std::size_t top) {
    if (ws_.n_visits == ws_.visits.size())
      ws_.visits.emplace_back();
    Visit &visit = ws_.visits[ws_.n_visits++];
    visit.node = node;
    visit.growing = growing;
    visit.entered = false;
    visit.depth = depth;
    visit.top = top;
    visit.next_child = 0;
    visit.n_closed = ws_.closed_columns.size();
  }

  // Weighs the classes, finds a question if the node is new, and sorts the rows by its answers.
  template <class Search> void enter(Visit &visit, Search &search) {
    visit.entered = true;
    visit.next_child = 0;
    GrowingNode &node = ws_.nodes[visit.node];
    pulse_.spend(64 + node.rows.size());
    weigh(node, classes_of(visit.node));
    if (visit.growing && may_split(node, visit))
      node.question =
          search.best({node.rows, classes_of(visit.node), node.weight}, ws_.closed, ws_.closed_columns, ws_.few_values);
    if (node.question.test == SplitKind::leaf)
      return;
    ws_.rows.divide<true>(table_, node.question, node.rows, visit.groups);
    split_by_missing_ = split_by_missing_ || visit.groups.missing.size() > 0;
    if (visit.growing && node.question.test == SplitKind::each)
      close(static_cast<std::uint32_t>(node.question.column));
    match_children(visit);
  }

  void close(std::uint32_t column) {
    ws_.closed[column] = 1;
    ws_.closed_columns.push_back(column);
  }

  void reopen_columns(std::size_t keep) {
    for (; ws_.closed_columns.size() > keep; ws_.closed_columns.pop_back())
      ws_.closed[ws_.closed_columns.back()] = 0;
  }

  void weigh(GrowingNode &node, const double *classes) const {
    node.weight = 0;
    for (std::size_t c = 0; c < K_; ++c)
      node.weight += classes[c];
    node.errors = errors_of(classes, K_, node.weight);
  }

  bool may_split(const GrowingNode &node, const Visit &visit) const {
    return visit.depth < options_.max_depth && node.weight > 2 * options_.min_obj - kTolerance &&
           node.errors > kTolerance;
  }

  // One child per branch that has rows. A replaced node may meet categories that its branch had not seen: new leaves.
  void match_children(Visit &visit) {
    const std::vector<Group> &groups = visit.groups.branches;
    const std::size_t first = ws_.nodes.size();
    ws_.nodes.resize(first + groups.size());
    ws_.classes.insert(ws_.classes.end(), visit.groups.classes.begin(), visit.groups.classes.end());
    GrowingNode &node = ws_.nodes[visit.node];
    for (std::size_t k = 0, old = 0; k < groups.size(); ++k) {
      while (old < node.n_children && ws_.nodes[node.first_child + old].branch < groups[k].key)
        ++old;
      GrowingNode &child = ws_.nodes[first + k];
      if (old < node.n_children && ws_.nodes[node.first_child + old].branch == groups[k].key)
        child = ws_.nodes[node.first_child + old];
      child.branch = groups[k].key;
    }
    node.first_child = first;
    node.n_children = groups.size();
  }

  void open_next_child(Visit &visit) {
    ws_.rows.top = visit.top;
    const std::size_t k = visit.next_child++;
    const std::size_t child = ws_.nodes[visit.node].first_child + k;
    const Group &group = visit.groups.branches[k];
    const Range rows = ws_.nodes[child].rows = ws_.rows.branch_rows(visit.groups, group);
    ws_.rows.add_classes(table_, {rows.begin + group.known.size(), rows.end}, 1.0, classes_of(child));
    open(child, visit.growing, visit.depth + 1, ws_.rows.top);
  }

  void leave(Visit &visit) {
    GrowingNode &node = ws_.nodes[visit.node];
    ws_.rows.top = visit.top;
    reopen_columns(visit.n_closed);
    if (visit.growing)
      collapse(node);
    if (options_.prune && node.question.test != SplitKind::leaf) {
      const Verdict verdict = pruner_.judge(node, visit.groups);
      if (verdict == Verdict::leaf)
        make_leaf(node);
      if (verdict == Verdict::raise) {
        raise_largest_branch(node);
        visit.growing = visit.entered = false;
        return;
      }
    }
    node.estimate =
        node.question.test == SplitKind::leaf ? pruner_.estimate_of_leaf(node) : pruner_.sum_of_estimates(node);
    --ws_.n_visits;
  }

  void collapse(GrowingNode &node) {
    node.subtree_errors = node.question.test == SplitKind::leaf ? node.errors : 0.0;
    for (std::size_t k = 0; k < node.n_children; ++k)
      node.subtree_errors += ws_.nodes[node.first_child + k].subtree_errors;
    if (options_.collapse && node.subtree_errors >= node.errors - kSlackOfCollapse)
      make_leaf(node);
  }

  static void make_leaf(GrowingNode &node) {
    node.question = {};
    node.n_children = 0;
  }

  void raise_largest_branch(GrowingNode &node) {
    const GrowingNode &branch = ws_.nodes[pruner_.largest_branch(node)];
    node.question = branch.question;
    node.n_children = branch.n_children;
    node.first_child = branch.first_child;
  }

  double *classes_of(std::size_t node) { return ws_.classes.data() + node * K_; }

  // Breadth first, so that the children of a node stand side by side.
  void write(Tree &out) {
    out.clear();
    out.n_classes = K_;
    ws_.answer_of_row.assign(table_.n_rows(), -1);
    ws_.queue.assign(1, 0);
    for (std::size_t at = 0; at < ws_.queue.size(); ++at)
      write_node(ws_.queue[at], out);
  }

  void write_node(std::size_t id, Tree &out) {
    const GrowingNode &node = ws_.nodes[id];
    const bool leaf = node.question.test == SplitKind::leaf;
    const auto at = static_cast<std::int32_t>(out.size());
    out.test.push_back(static_cast<std::uint8_t>(node.question.test));
    out.column.push_back(node.question.column);
    const bool has_threshold = node.question.test == SplitKind::at_most || node.question.test == SplitKind::equals;
    const auto column = static_cast<std::size_t>(std::max(node.question.column, 0));
    out.threshold.push_back(has_threshold ? table_.column(column).values[node.question.code] : 0.0);
    const std::size_t first_child = ws_.queue.size();
    out.first_child.push_back(leaf ? -1 : static_cast<std::int32_t>(first_child));
    if (id == 0)
      out.branch.push_back(0.0);
    for (std::size_t k = 0; k < node.n_children; ++k) {
      const GrowingNode &child = ws_.nodes[node.first_child + k];
      if (node.question.test == SplitKind::each &&
          is_empty(child.weight)) { // the other questions give both sides min_obj
        note_answer(child.rows, at);
        continue;
      }
      out.branch.push_back(node.question.test == SplitKind::each ? table_.column(column).values[child.branch]
                                                                 : child.branch);
      ws_.queue.push_back(node.first_child + k);
    }
    out.n_children.push_back(static_cast<std::int32_t>(ws_.queue.size() - first_child));
    out.weight.insert(out.weight.end(), classes_of(id), classes_of(id) + K_);
    if (leaf)
      note_answer(node.rows, at);
  }

  // A node answers for the rows of its own leaf and of its empty branches.
  void note_answer(Range rows, std::int32_t node) {
    if (!split_by_missing_)
      for (std::size_t i = rows.begin; i < rows.end; ++i)
        ws_.answer_of_row[ws_.rows.row[i]] = node;
  }

  const Table &table_;
  const double *weights_;
  const Options &options_;
  Workspace &ws_;
  std::size_t K_;
  Pruner pruner_;
  Pulse pulse_;
  bool whole_ = false;            // all weights are whole numbers in the range of the table of x log2 x
  bool split_by_missing_ = false; // some row lies in several leaves
};

} // namespace steelyard::tree
