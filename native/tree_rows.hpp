// The rows at the nodes of a growing tree: one stack of (row, weight) pairs, cut into ranges.
#pragma once

#include "tree_model.hpp"
#include "tree_table.hpp"

namespace steelyard::tree {

constexpr double kTolerance = 1e-6; // weights and gains closer than this are equal

struct Range {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

// What a node asks. `code` is a code of the column: the largest one of the left branch, or the category asked for.
struct Question {
  Test test = Test::leaf;
  std::int32_t column = -1;
  std::uint32_t code = 0;
};

// Rows of one branch: those whose value is known; `weight` is their sum.
struct Group {
  std::uint32_t key; // category of an `each` test, else 0 or 1
  Range known;
  double weight;
};

// All rows of a node sorted by branch; the rows with a missing value stand last.
struct Groups {
  std::vector<Group> branches; // none of them empty
  Range missing;
  double known_weight = 0;

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

  // Known rows of a branch and its share of the rows with a missing value, as one range.
  Range branch_rows(const Groups &groups, const Group &group) {
    const double share = groups.share(group);
    if (share == 0.0)
      return group.known;
    const Range known = copy_to_top(group.known);
    return {known.begin, copy_to_top(groups.missing, share).end};
  }

  // Sorts a range by the answer to a question, keeping the order within a branch.
  void divide(const Table &table, const Question &question, Range range, Groups &out) {
    const Column &column = table.column(static_cast<std::size_t>(question.column));
    const std::uint32_t *codes = column.codes.data();
    const std::uint32_t missing = column.missing(), code = question.code;
    switch (question.test) {
    case Test::each:
      return divide_by([=](std::uint32_t r) { return codes[r]; }, missing, range, out);
    case Test::equals:
      return divide_by([=](std::uint32_t r) { return codes[r] == missing ? 2u : codes[r] != code; }, 2, range, out);
    default:
      return divide_by([=](std::uint32_t r) { return codes[r] == missing ? 2u : codes[r] > code; }, 2, range, out);
    }
  }

 private:
  // Keys run from 0 to missing, which is the key of a missing value.
  template <class Key> void divide_by(const Key &key_of, std::uint32_t missing, Range range, Groups &out) {
    const std::size_t n = range.size();
    keys_.resize(n);
    spare_row_.resize(std::max(n, spare_row_.size()));
    spare_weight_.resize(spare_row_.size());
    for (std::size_t i = 0; i < n; ++i)
      keys_[i] = key_of(row[range.begin + i]);
    if (missing > 8 * n + 64)
      scatter_by_sorting(range);
    else
      scatter_by_counting(range, missing);
    std::copy_n(spare_row_.begin(), n, row.begin() + static_cast<std::ptrdiff_t>(range.begin));
    std::copy_n(spare_weight_.begin(), n, weight.begin() + static_cast<std::ptrdiff_t>(range.begin));
    collect(key_of, missing, range, out);
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

  template <class Key> void collect(const Key &key_of, std::uint32_t missing, Range range, Groups &out) const {
    out.branches.clear();
    out.known_weight = 0;
    out.missing = {range.end, range.end};
    for (std::size_t i = range.begin; i < range.end;) {
      const std::uint32_t key = key_of(row[i]);
      Group group{key, {i, i}, 0};
      for (; i < range.end && key_of(row[i]) == key; ++i)
        group.weight += weight[i];
      group.known.end = i;
      if (key == missing) {
        out.missing = group.known;
      } else {
        out.branches.push_back(group);
        out.known_weight += group.weight;
      }
    }
  }

  std::vector<std::uint32_t> keys_, first_, spare_row_;
  std::vector<std::uint64_t> order_;
  std::vector<double> spare_weight_;
};

} // namespace steelyard::tree
