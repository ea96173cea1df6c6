// Which question to ask at a node: the best gain ratio among the candidates whose gain reaches the mean gain.
#pragma once

#include "tree_rows.hpp"

namespace steelyard::tree {

constexpr double kSlackOfMeanGain = 1e-3; // a candidate may miss the mean gain by this much

// x log2 x; whole numbers up to kWhole from a table, which holds the same bits.
constexpr std::size_t kWhole = 16384;

inline double x_log_x(double x) { return x > 0 ? x * std::log2(x) : 0.0; }

inline const std::vector<double> &whole_x_log_x() {
  static const std::vector<double> table = [] {
    std::vector<double> t(kWhole + 1);
    for (std::size_t k = 0; k <= kWhole; ++k)
      t[k] = x_log_x(static_cast<double>(k));
    return t;
  }();
  return table;
}

struct RealXLogX {
  double operator()(double x) const { return x_log_x(x); }
};
struct WholeXLogX {
  const double *table = whole_x_log_x().data();
  double operator()(double x) const { return table[static_cast<std::size_t>(x)]; }
};

struct Candidate {
  Question question;
  double gain = 0, ratio = 0; // of a candidate without a question: not to be used
};

// Which values occur in rows of positive weight; all of them when no row has weight 0.
struct Occurrence {
  std::vector<std::uint8_t> flag; // by (column, value); empty: all
  bool at(const Column &column, std::uint32_t code, std::size_t n_classes) const {
    return flag.empty() || flag[column.first_cell / n_classes + code] != 0;
  }
};

// What the search knows about the node.
struct NodeFacts {
  Range range;
  const double *classes; // weight of each class
  double total;          // their sum
};

// Buffers of the search, kept from node to node.
struct SplitScratch {
  std::vector<double> histogram, known, left, left_log, right_log, cell;
  std::vector<std::uint32_t> dense; // columns counted in the histogram at this node
  std::vector<std::uint64_t> order; // (code, position) of a column counted by sorting
  std::vector<Candidate> candidates;
};

template <class XLogX> class SplitSearch {
 public:
  SplitSearch(const Table &table, const RowStack &rows, const Occurrence &occurs, SplitScratch &scratch, double min_obj,
              bool binary_nominal)
      : table_(table), rows_(rows), occurs_(occurs), s_(scratch), min_obj_(min_obj), binary_nominal_(binary_nominal),
        K_(table.n_classes()) {
    s_.histogram.resize(table.n_cells());
    for (auto *buffer : {&s_.known, &s_.left, &s_.left_log, &s_.right_log, &s_.cell})
      buffer->resize(K_);
  }

  // `closed[a]`: column a was asked for each of its categories above and has nothing left to tell.
  // `few_values[a]`: column a takes part in the mean gain.
  Question best(const NodeFacts &node, const std::vector<std::uint8_t> &closed,
                const std::vector<std::uint8_t> &few_values) {
    count_dense_columns(node, closed);
    s_.candidates.assign(table_.n_columns(), {});
    double sum = 0;
    std::size_t n = 0;
    std::size_t next_dense = 0;
    for (std::size_t a = 0; a < table_.n_columns(); ++a) {
      if (closed[a])
        continue;
      const bool dense = next_dense < s_.dense.size() && s_.dense[next_dense] == a;
      next_dense += dense;
      s_.candidates[a] = examine(node, a, dense);
      if (s_.candidates[a].question.column >= 0 && few_values[a]) {
        sum += s_.candidates[a].gain;
        ++n;
      }
    }
    Candidate best;
    for (const Candidate &c : s_.candidates)
      if (n > 0 && c.question.column >= 0 && c.gain >= sum / static_cast<double>(n) - kSlackOfMeanGain &&
          c.ratio > best.ratio + kTolerance)
        best = c;
    return best.question;
  }

 private:
  // One pass over the rows fills the histograms of all columns that have few values compared with the rows here.
  // Columns side by side: their additions do not wait for each other.
  void count_dense_columns(const NodeFacts &node, const std::vector<std::uint8_t> &closed) {
    const std::size_t n = node.range.size();
    s_.dense.clear();
    for (std::size_t a = 0; a < table_.n_columns(); ++a) {
      const Column &column = table_.column(a);
      const std::size_t cells = (column.values.size() + 1) * K_;
      if (!closed[a] && cells <= 4 * n + 64) {
        s_.dense.push_back(static_cast<std::uint32_t>(a));
        std::fill_n(s_.histogram.begin() + static_cast<std::ptrdiff_t>(column.first_cell), cells, 0.0);
      }
    }
    double *histogram = s_.histogram.data();
    const std::uint32_t *dense = s_.dense.data();
    const std::size_t n_dense = s_.dense.size();
    for (std::size_t i = node.range.begin; i < node.range.end; ++i) {
      const std::uint32_t *cells = table_.cells(rows_.row[i]);
      const double w = rows_.weight[i];
      for (std::size_t k = 0; k < n_dense; ++k)
        histogram[cells[dense[k]]] += w;
    }
  }

  Candidate examine(const NodeFacts &node, std::size_t a, bool dense) {
    const Column &column = table_.column(a);
    if (!dense)
      sort_column(node, column);
    known_classes(node, column, dense);
    if (!column.nominal)
      return at_most(node, a, dense);
    return binary_nominal_ ? equals(node, a, dense) : each(node, a, dense);
  }

  void sort_column(const NodeFacts &node, const Column &column) {
    const std::uint32_t *codes = column.codes.data();
    s_.order.resize(node.range.size());
    for (std::size_t i = 0; i < s_.order.size(); ++i)
      s_.order[i] = (static_cast<std::uint64_t>(codes[rows_.row[node.range.begin + i]]) << 32) | i;
    std::sort(s_.order.begin(), s_.order.end());
  }

  // Calls visit(code, class weights) for every value that occurs here, in ascending order, until it returns false.
  template <class Visit> void for_each_value(const NodeFacts &node, const Column &column, bool dense, Visit &&visit) {
    if (dense) {
      const double *cell = s_.histogram.data() + column.first_cell;
      for (std::uint32_t code = 0; code < column.missing(); ++code, cell += K_) {
        bool occurs = false;
        for (std::size_t c = 0; c < K_; ++c)
          occurs = occurs || cell[c] > 0;
        if (occurs && !visit(code, cell))
          return;
      }
      return;
    }
    for (std::size_t i = 0; i < s_.order.size();) {
      const auto code = static_cast<std::uint32_t>(s_.order[i] >> 32);
      if (code == column.missing())
        return;
      std::fill(s_.cell.begin(), s_.cell.end(), 0.0);
      for (; i < s_.order.size() && s_.order[i] >> 32 == code; ++i) {
        const std::size_t at = node.range.begin + (s_.order[i] & 0xffffffffu);
        s_.cell[static_cast<std::size_t>(table_.labels()[rows_.row[at]])] += rows_.weight[at];
      }
      if (!visit(code, s_.cell.data()))
        return;
    }
  }

  void known_classes(const NodeFacts &node, const Column &column, bool dense) {
    if (!column.has_missing) {
      std::copy_n(node.classes, K_, s_.known.begin());
      known_total_ = node.total;
    } else {
      std::fill(s_.known.begin(), s_.known.end(), 0.0);
      for_each_value(node, column, dense, [&](std::uint32_t, const double *cell) {
        for (std::size_t c = 0; c < K_; ++c)
          s_.known[c] += cell[c];
        return true;
      });
      known_total_ = 0;
      for (double w : s_.known)
        known_total_ += w;
    }
    before_ = f_(known_total_);
    for (double w : s_.known)
      before_ -= f_(w);
  }

  // Gain in bits over all rows here: the rows with a missing value gain nothing.
  double gain(const NodeFacts &node, double after) const {
    const double saved = before_ - after;
    return std::fabs(saved) < kTolerance ? 0.0 : saved / node.total;
  }

  // The missing values count as one more branch of the split information.
  double ratio(const NodeFacts &node, double gain, double sum_of_branches) const {
    const double unknown = column_has_missing(node) ? x_log_x(node.total - known_total_) : 0.0;
    const double information = x_log_x(node.total) - sum_of_branches - unknown;
    return std::fabs(information) < kTolerance ? 0.0 : gain / (information / node.total);
  }
  bool column_has_missing(const NodeFacts &node) const { return known_total_ < node.total; }

  Candidate each(const NodeFacts &node, std::size_t a, bool dense) {
    double after = 0, branches = 0;
    std::size_t large = 0;
    for_each_value(node, table_.column(a), dense, [&](std::uint32_t, const double *cell) {
      double total = 0;
      for (std::size_t c = 0; c < K_; ++c) {
        total += cell[c];
        after -= f_(cell[c]);
      }
      after += f_(total);
      branches += f_(total);
      large += total > min_obj_ - kTolerance;
      return true;
    });
    if (large < 2)
      return {};
    const double g = gain(node, after);
    return {{Test::each, static_cast<std::int32_t>(a), 0}, g, ratio(node, g, branches)};
  }

  Candidate equals(const NodeFacts &node, std::size_t a, bool dense) {
    Candidate best;
    for_each_value(node, table_.column(a), dense, [&](std::uint32_t code, const double *cell) {
      double total = 0, after = 0;
      for (std::size_t c = 0; c < K_; ++c) {
        total += cell[c];
        after -= f_(cell[c]) + f_(s_.known[c] - cell[c]);
      }
      const double rest = known_total_ - total;
      if (total <= min_obj_ - kTolerance || rest <= min_obj_ - kTolerance)
        return true;
      const double branches = f_(total) + f_(rest);
      const double g = gain(node, after + branches);
      const double r = ratio(node, g, branches);
      if (best.question.column < 0 || r > best.ratio + kTolerance)
        best = {{Test::equals, static_cast<std::int32_t>(a), code}, g, r};
      return true;
    });
    return best;
  }

  // Cuts between neighbouring values; the best one pays log2(number of cuts) bits for having been chosen (MDL).
  Candidate at_most(const NodeFacts &node, std::size_t a, bool dense) {
    const Column &column = table_.column(a);
    const double share = 0.1 * known_total_ / static_cast<double>(K_);
    const double min_side = share <= min_obj_ + kTolerance ? min_obj_ : std::min(share, 25.0);
    if (known_total_ < 2 * min_side - kTolerance)
      return {};
    start_on_the_right();
    double left = 0, best_gain = 0, best_left = 0;
    std::uint32_t below = 0, best_below = 0, best_above = 0;
    std::size_t cuts = 0;
    for_each_value(node, column, dense, [&](std::uint32_t code, const double *cell) {
      const double right = known_total_ - left;
      if (right < min_side - kTolerance)
        return false;
      if (left > min_side - kTolerance && column.values[below] + column.same_value < column.values[code]) {
        ++cuts;
        const double g = gain(node, after_cut(left, right));
        if (g > best_gain + kTolerance) {
          best_gain = g;
          best_left = left;
          best_below = below;
          best_above = code;
        }
      }
      left += move_to_the_left(cell);
      below = code;
      return true;
    });
    const double paid = cuts > 0 ? best_gain - std::log2(static_cast<double>(cuts)) / node.total : 0.0;
    if (paid < kTolerance)
      return {};
    const double branches = f_(best_left) + f_(known_total_ - best_left);
    return {{Test::at_most, static_cast<std::int32_t>(a), last_code_up_to_middle(column, best_below, best_above)},
            paid,
            ratio(node, paid, branches)};
  }

  void start_on_the_right() {
    std::fill(s_.left.begin(), s_.left.end(), 0.0);
    std::fill(s_.left_log.begin(), s_.left_log.end(), 0.0);
    for (std::size_t c = 0; c < K_; ++c)
      s_.right_log[c] = f_(s_.known[c]);
  }

  double move_to_the_left(const double *cell) {
    double moved = 0;
    for (std::size_t c = 0; c < K_; ++c)
      if (cell[c] > 0) {
        moved += cell[c];
        s_.left[c] += cell[c];
        s_.left_log[c] = f_(s_.left[c]);
        s_.right_log[c] = f_(s_.known[c] - s_.left[c]);
      }
    return moved;
  }

  double after_cut(double left, double right) const {
    double after = f_(left) + f_(right);
    for (std::size_t c = 0; c < K_; ++c)
      after -= s_.left_log[c] + s_.right_log[c];
    return after;
  }

  // C4.5 states thresholds that occur in the training data: the largest value not above the middle of the gap.
  std::uint32_t last_code_up_to_middle(const Column &column, std::uint32_t below, std::uint32_t above) const {
    const double middle = column.values[below] / 2 + column.values[above] / 2;
    std::uint32_t last = below;
    for (std::uint32_t code = below + 1; code < above && column.values[code] <= middle; ++code)
      if (occurs_.at(column, code, K_))
        last = code;
    return last;
  }

  const Table &table_;
  const RowStack &rows_;
  const Occurrence &occurs_;
  SplitScratch &s_;
  double min_obj_;
  bool binary_nominal_;
  std::size_t K_;
  XLogX f_{};
  double known_total_ = 0, before_ = 0; // of the column under examination
};

} // namespace steelyard::tree
