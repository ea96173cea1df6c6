// The rows at the nodes of a growing tree: one stack of (row, weight) pairs, cut into ranges.
#pragma once

#include "tree_model.hpp"
#include "tree_table.hpp"

namespace steelyard::tree {

// Weights and gains closer than this are equal, so a weight below it is none: boosting with steep costs leaves rows of
// weight 1e-60, and a branch of nothing but such rows knows no more than an empty one. Absolute, like min_obj, because
// weights count objects: unit weights sum to the number of rows, and boosting keeps that sum in every round.
constexpr double kTolerance = 1e-6;

inline bool is_empty(double weight) { return weight < kTolerance; }

struct Range {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

// What a node asks. `code` is a code of the column: the largest one of the left branch, or the category asked for.
struct Question {
  SplitKind test = SplitKind::leaf;
  std::int32_t column = -1;
  std::uint32_t code = 0;
};

// Rows of one branch: those whose value is known.
struct Group {
  std::uint32_t key; // category of an `each` test, else 0 or 1
  Range known;
  double weight = 0; // their sum, if the node has missing values
};

// All rows of a node sorted by branch; the rows with a missing value stand last.
struct Groups {
  std::vector<Group> branches; // none of them empty
  std::vector<double> classes; // (branches x classes) class weights of their known rows, if asked for
  Range missing;
  double known_weight = 0;

  void start(Range range) {
    branches.clear();
    classes.clear();
    missing = {range.end, range.end};
  }

  // An empty branch is none.
  template <bool Classes> void add(std::uint32_t key, Range known, const double *sums, std::size_t n_classes) {
    if (known.size() == 0)
      return;
    branches.push_back({key, known});
    if (Classes)
      classes.insert(classes.end(), sums, sums + n_classes);
  }

  // Share of every row with a missing value that follows this branch; nothing to speak of follows a tiny one.
  double share(const Group &group) const {
    const double share = group.weight / known_weight;
    return missing.size() > 0 && share > kTolerance ? share : 0.0;
  }
};

class RowStack {
 public:
  std::vector<std::uint32_t> row;
  std::vector<double> weight;
  std::size_t top = 0;

  void reserve(std::size_t more) {
    if (top + more > row.size()) {
      row.resize(std::max(top + more, 2 * row.size()));
      weight.resize(row.size());
    }
  }

  Range copy_to_top(Range from, double factor = 1.0) {
    reserve(from.size());
    for (std::size_t i = from.begin; i < from.end; ++i) {
      row[top + i - from.begin] = row[i];
      weight[top + i - from.begin] = weight[i] * factor;
    }
    top += from.size();
    return {top - from.size(), top};
  }

  // Adds the class weights of a range of rows, each weight times a factor.
  void add_classes(const Table &table, Range range, double factor, double *classes) const {
    const std::int32_t *labels = table.labels().data();
    for (std::size_t i = range.begin; i < range.end; ++i)
      classes[labels[row[i]]] += weight[i] * factor;
  }

  // Known rows of a branch and its share of the rows with a missing value, as one range.
  Range branch_rows(const Groups &groups, const Group &group) {
    const double share = groups.share(group);
    if (share == 0.0)
      return group.known;
    const Range known = copy_to_top(group.known);
    return {known.begin, copy_to_top(groups.missing, share).end};
  }

  // Sorts a range by the answer to a question, keeping the order within a branch. With `Classes` it also sums the class
  // weights of the branches, in the order of their rows.
  template <bool Classes> void divide(const Table &table, const Question &question, Range range, Groups &out) {
    const Column &column = table.column(static_cast<std::size_t>(question.column));
    const std::uint32_t *codes = column.codes.data();
    const std::uint32_t missing = column.missing(), code = question.code;
    switch (question.test) {
    case SplitKind::each:
      return divide_by<Classes>(table, [=](std::uint32_t r) { return codes[r]; }, missing, range, out);
    case SplitKind::equals:
      return divide_in_two<Classes>(table, column, [=](std::uint32_t c) { return c != code; }, range, out);
    default:
      return divide_in_two<Classes>(table, column, [=](std::uint32_t c) { return c > code; }, range, out);
    }
  }

 private:
  // Keys run from 0 to missing, which is the key of a missing value.
  template <bool Classes, class Key>
  void divide_by(const Table &table, const Key &key_of, std::uint32_t missing, Range range, Groups &out) {
    if (missing < kBuckets)
      deal<Classes>(table, key_of, missing, range, out);
    else
      sort<Classes>(table, key_of, missing, range, out);
    weigh(out);
  }

  template <bool Classes, class Key>
  void divide_in_two(const Table &table, const Column &column, const Key &key_of_code, Range range, Groups &out) {
    const std::uint32_t *codes = column.codes.data(), missing = column.missing();
    if (column.has_missing)
      divide_by<Classes>(
          table, [=](std::uint32_t r) { return codes[r] == missing ? 2u : std::uint32_t{key_of_code(codes[r])}; }, 2,
          range, out);
    else
      part<Classes>(table, [=](std::uint32_t r) { return key_of_code(codes[r]); }, range, out);
  }

  // Two keys: the rows of the first close up where they are, those of the second wait aside. No branch to guess.
  template <bool Classes, class Key> void part(const Table &table, const Key &key_of, Range range, Groups &out) {
    const std::size_t n_classes = table.n_classes();
    const std::int32_t *labels = table.labels().data();
    make_room(range.size());
    sums_.assign(Classes ? 2 * n_classes : 0, 0.0);
    std::uint32_t *rows = row.data(), *aside = spare_row_.data();
    double *weights = weight.data(), *weights_aside = spare_weight_.data(), *sums = sums_.data();
    std::size_t middle = range.begin, n_aside = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::uint32_t r = rows[i];
      const double w = weights[i];
      const std::size_t second = key_of(r);
      rows[middle] = aside[n_aside] = r;
      weights[middle] = weights_aside[n_aside] = w;
      middle += 1 - second;
      n_aside += second;
      if (Classes)
        sums[second * n_classes + static_cast<std::size_t>(labels[r])] += w;
    }
    std::copy_n(aside, n_aside, rows + middle);
    std::copy_n(weights_aside, n_aside, weights + middle);
    out.start(range);
    out.add<Classes>(0, {range.begin, middle}, sums, n_classes);
    out.add<Classes>(1, {middle, range.end}, sums + n_classes, n_classes);
  }

  // Few keys: every key has a bucket as large as the range, so one pass deals the rows out and sums the classes.
  template <bool Classes, class Key>
  void deal(const Table &table, const Key &key_of, std::uint32_t missing, Range range, Groups &out) {
    const std::size_t n = range.size(), n_classes = table.n_classes();
    const std::int32_t *labels = table.labels().data();
    make_room((missing + 1) * n);
    std::size_t end[kBuckets];
    for (std::uint32_t key = 0; key <= missing; ++key)
      end[key] = key * n;
    sums_.assign(Classes ? (missing + 1) * n_classes : 0, 0.0);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::uint32_t r = row[i], key = key_of(r);
      const double w = weight[i];
      const std::size_t to = end[key]++;
      spare_row_[to] = r;
      spare_weight_[to] = w;
      if (Classes)
        sums_[key * n_classes + static_cast<std::size_t>(labels[r])] += w;
    }
    out.start(range);
    std::size_t to = range.begin;
    for (std::uint32_t key = 0; key <= missing; ++key) {
      const std::size_t size = end[key] - key * n;
      std::copy_n(spare_row_.data() + key * n, size, row.data() + to);
      std::copy_n(spare_weight_.data() + key * n, size, weight.data() + to);
      if (key == missing)
        out.missing = {to, to + size};
      else
        out.add<Classes>(key, {to, to + size}, sums_.data() + key * n_classes, n_classes);
      to += size;
    }
  }

  template <bool Classes, class Key>
  void sort(const Table &table, const Key &key_of, std::uint32_t missing, Range range, Groups &out) {
    const std::size_t n = range.size();
    keys_.resize(n);
    make_room(n);
    for (std::size_t i = 0; i < n; ++i)
      keys_[i] = key_of(row[range.begin + i]);
    if (missing > 8 * n + 64)
      scatter_by_sorting(range);
    else
      scatter_by_counting(range, missing);
    std::copy_n(spare_row_.data(), n, row.data() + range.begin);
    std::copy_n(spare_weight_.data(), n, weight.data() + range.begin);
    collect<Classes>(table, key_of, missing, range, out);
  }

  void make_room(std::size_t n) {
    if (n > spare_row_.size()) {
      spare_row_.resize(n);
      spare_weight_.resize(n);
    }
  }

  void scatter_by_counting(Range range, std::uint32_t missing) {
    first_.assign(missing + 2, 0);
    for (std::size_t i = 0; i < range.size(); ++i)
      ++first_[keys_[i] + 1];
    for (std::size_t k = 1; k < first_.size(); ++k)
      first_[k] += first_[k - 1];
    for (std::size_t i = 0; i < range.size(); ++i)
      scatter(range.begin + i, first_[keys_[i]]++);
  }

  void scatter_by_sorting(Range range) {
    order_.resize(range.size());
    for (std::size_t i = 0; i < range.size(); ++i)
      order_[i] = (static_cast<std::uint64_t>(keys_[i]) << 32) | i;
    std::sort(order_.begin(), order_.end());
    for (std::size_t i = 0; i < range.size(); ++i)
      scatter(range.begin + (order_[i] & 0xffffffffu), i);
  }

  void scatter(std::size_t from, std::size_t to) {
    spare_row_[to] = row[from];
    spare_weight_[to] = weight[from];
  }

  template <bool Classes, class Key>
  void collect(const Table &table, const Key &key_of, std::uint32_t missing, Range range, Groups &out) {
    out.start(range);
    for (std::size_t i = range.begin; i < range.end;) {
      const std::uint32_t key = key_of(row[i]);
      const std::size_t begin = i;
      while (i < range.end && key_of(row[i]) == key)
        ++i;
      if (key == missing) {
        out.missing = {begin, i};
        continue;
      }
      sums_.assign(table.n_classes(), 0.0);
      if (Classes)
        add_classes(table, {begin, i}, 1.0, sums_.data());
      out.add<Classes>(key, {begin, i}, sums_.data(), table.n_classes());
    }
  }

  // Weights of the branches: only shares of missing values ask for them.
  void weigh(Groups &out) const {
    out.known_weight = 0;
    if (out.missing.size() == 0)
      return;
    for (Group &group : out.branches) {
      for (std::size_t i = group.known.begin; i < group.known.end; ++i)
        group.weight += weight[i];
      out.known_weight += group.weight;
    }
  }

  static constexpr std::uint32_t kBuckets = 8;

  std::vector<std::uint32_t> keys_, first_, spare_row_;
  std::vector<std::uint64_t> order_;
  std::vector<double> spare_weight_, sums_;
};

} // namespace steelyard::tree
