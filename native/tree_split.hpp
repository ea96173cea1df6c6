// Which question to ask at a node: the best gain ratio among the candidates whose gain reaches the mean gain.
#pragma once

#include "pulse.hpp"
#include "tree_count.hpp"

namespace steelyard::tree {

constexpr double kSlackOfMeanGain = 1e-3; // a candidate may miss the mean gain by this much

// x log2 x; whole numbers up to kWhole from a table, which holds the same bits.
constexpr std::size_t kWhole = 16384;

inline double x_log_x(double x) { return is_empty(x) ? 0.0 : x * std::log2(x); }

inline const std::vector<double> &whole_x_log_x() {
  static const std::vector<double> table = [] {
    std::vector<double> t(kWhole + 1);
    for (std::size_t k = 0; k <= kWhole; ++k)
      t[k] = x_log_x(static_cast<double>(k));
    return t;
  }();
  return table;
}

// Likewise log2 of a count, of 1 and more.
inline double log2_of_count(std::size_t n) {
  static const std::vector<double> table = [] {
    std::vector<double> t(1025);
    for (std::size_t k = 1; k < t.size(); ++k)
      t[k] = std::log2(static_cast<double>(k));
    return t;
  }();
  return n < table.size() ? table[n] : std::log2(static_cast<double>(n));
}

// How weights are counted and what x log2 x costs. x > limit(y) whenever x > y.
struct RealXLogX {
  using Weight = double;
  static constexpr bool cheap = false;
  double operator()(double x) const { return x_log_x(x); }
  static double limit(double y) { return y; }
};
struct WholeXLogX {
  using Weight = std::int32_t;
  static constexpr bool cheap = true;
  const double *table = whole_x_log_x().data();
  double operator()(std::int32_t x) const { return table[x]; }
  static std::int32_t limit(double y) { return static_cast<std::int32_t>(std::floor(std::min(y, 2.0 * kWhole))); }
};

// `hopeless`: no split here, nor with any part of these rows, can give two branches their weight.
struct Candidate {
  Question question;
  double gain = 0, ratio = 0;
  bool hopeless = false;
};

// Which values occur in rows of positive weight; all of them when no row has weight 0.
struct Occurrence {
  std::vector<std::vector<std::uint8_t>> flag; // by column and value; empty: all
  bool at(std::size_t column, std::uint32_t code) const { return flag.empty() || flag[column][code] != 0; }
};

// What the search knows about the node.
struct NodeFacts {
  Range range;
  const double *classes; // weight of each class
  double total;          // their sum
};

// Buffers of the search, kept from node to node.
template <class Weight> struct SplitScratch {
  ValueCounter<Weight> counter;
  std::vector<Weight> known, left; // by class
  std::vector<double> log;
  std::vector<Candidate> candidates;
};

// `Classes` is the number of classes if it is small, so that loops over them unroll, else 0.
template <class XLogX, std::size_t Classes> class SplitSearch {
  using Weight = typename XLogX::Weight;

 public:
  SplitSearch(const Table &table, const RowStack &rows, const Occurrence &occurs, SplitScratch<Weight> &scratch,
              double min_obj, bool binary_nominal)
      : table_(table), rows_(rows), occurs_(occurs), s_(scratch), min_obj_(std::max(min_obj, 2 * kTolerance)),
        binary_nominal_(binary_nominal), n_classes_(table.n_classes()) {
    s_.counter.reset(table);
    s_.known.resize(n_classes_);
    s_.left.resize(n_classes_);
    s_.log.resize(n_classes_);
  }

  // Columns that are `closed` are passed over; the search closes those that turn out hopeless and lists them in
  // `newly_closed`. Only columns with `few_values` take part in the mean gain.
  Question best(const NodeFacts &node, std::vector<std::uint8_t> &closed, std::vector<std::uint32_t> &newly_closed,
                const std::vector<std::uint8_t> &few_values) {
    s_.counter.count(table_, rows_, node.range, closed);
    s_.candidates.clear();
    double sum = 0;
    std::size_t n = 0;
    know(node);
    for (std::size_t a = 0; a < table_.n_columns(); ++a) {
      if (closed[a])
        continue;
      pulse_.spend(node.range.size());
      const Candidate candidate = examine(node, a);
      s_.counter.clear(table_, a);
      if (candidate.hopeless) {
        closed[a] = 1;
        newly_closed.push_back(static_cast<std::uint32_t>(a));
      } else if (candidate.question.column >= 0) {
        s_.candidates.push_back(candidate);
        sum += few_values[a] ? candidate.gain : 0.0;
        n += few_values[a];
      }
    }
    return n > 0 ? best_ratio(sum / static_cast<double>(n)) : Question{};
  }

 private:
  std::size_t K() const { return Classes > 0 ? Classes : n_classes_; }

  Question best_ratio(double mean_gain) const {
    Candidate best;
    for (const Candidate &c : s_.candidates)
      if (c.gain >= mean_gain - kSlackOfMeanGain && c.ratio > best.ratio + kTolerance)
        best = c;
    return best.question;
  }

  Candidate examine(const NodeFacts &node, std::size_t a) {
    if (!table_.column(a).has_missing)
      return ask(node, a);
    know_column(node, a);
    const Candidate candidate = ask(node, a);
    know(node);
    return candidate;
  }

  Candidate ask(const NodeFacts &node, std::size_t a) {
    if (!table_.column(a).nominal)
      return at_most(node, a);
    return binary_nominal_ ? equals(node, a) : each(node, a);
  }

  template <class Visit> void for_each_value(const NodeFacts &node, std::size_t a, Visit &&visit) {
    s_.counter.template for_each_value<Classes>(table_, rows_, node.range, a, visit);
  }

  // Takes the class weights of all rows of the node.
  void know(const NodeFacts &node) {
    for (std::size_t c = 0; c < K(); ++c)
      s_.known[c] = static_cast<Weight>(node.classes[c]);
    know_total(static_cast<Weight>(node.total));
  }

  // Takes the class weights of the rows whose value is known.
  void know_column(const NodeFacts &node, std::size_t a) {
    std::fill(s_.known.begin(), s_.known.end(), Weight{0});
    for_each_value(node, a, [&](std::uint32_t, const Weight *cell) {
      for (std::size_t c = 0; c < K(); ++c)
        s_.known[c] += cell[c];
      return true;
    });
    Weight total = 0;
    for (std::size_t c = 0; c < K(); ++c)
      total += s_.known[c];
    know_total(total);
  }

  void know_total(Weight total) {
    known_total_ = total;
    before_ = f_(total);
    for (std::size_t c = 0; c < K(); ++c)
      before_ -= f_(s_.known[c]);
  }

  // Gain in bits over all rows here: the rows with a missing value gain nothing.
  static double gain(const NodeFacts &node, double saved) {
    return std::fabs(saved) < kTolerance ? 0.0 : saved / node.total;
  }

  // The missing values count as one more branch of the split information.
  double ratio(const NodeFacts &node, double gain, double sum_of_branches) const {
    const auto total = static_cast<Weight>(node.total);
    const double information = f_(total) - sum_of_branches - f_(total - known_total_);
    return std::fabs(information) < kTolerance ? 0.0 : gain / (information / node.total);
  }

  Candidate each(const NodeFacts &node, std::size_t a) {
    const Weight enough = XLogX::limit(min_obj_ - kTolerance);
    double after = 0, branches = 0;
    std::size_t large = 0;
    for_each_value(node, a, [&](std::uint32_t, const Weight *cell) {
      Weight total = 0;
      for (std::size_t c = 0; c < K(); ++c) {
        total += cell[c];
        after -= f_(cell[c]);
      }
      branches += f_(total);
      large += total > enough;
      return true;
    });
    if (large < 2)
      return {{}, 0, 0, true};
    const double g = gain(node, before_ - (after + branches));
    return {{SplitKind::each, static_cast<std::int32_t>(a), 0}, g, ratio(node, g, branches)};
  }

  Candidate equals(const NodeFacts &node, std::size_t a) {
    const Weight enough = XLogX::limit(min_obj_ - kTolerance);
    Candidate best;
    for_each_value(node, a, [&](std::uint32_t code, const Weight *cell) {
      Weight total = 0;
      double after = 0;
      for (std::size_t c = 0; c < K(); ++c) {
        total += cell[c];
        after -= f_(cell[c]) + f_(s_.known[c] - cell[c]);
      }
      const Weight rest = known_total_ - total;
      if (total <= enough || rest <= enough)
        return true;
      const double branches = f_(total) + f_(rest);
      const double g = gain(node, before_ - (after + branches));
      const double r = ratio(node, g, branches);
      if (best.question.column < 0 || r > best.ratio + kTolerance)
        best = {{SplitKind::equals, static_cast<std::int32_t>(a), code}, g, r};
      return true;
    });
    best.hopeless = best.question.column < 0;
    return best;
  }

  // Bits that a cut must save to be better than one of this gain: a little less, so that rounding loses none. Saves the
  // division of all others.
  static double saved_by(double gain, const NodeFacts &node) { return (gain + kTolerance) * node.total * (1 - 1e-12); }

  // Cuts between neighbouring values; the best one pays log2(number of cuts) bits for having been chosen (MDL).
  Candidate at_most(const NodeFacts &node, std::size_t a) {
    const Column &column = table_.column(a);
    const double share = 0.1 * static_cast<double>(known_total_) / static_cast<double>(K());
    const double min_side = std::max(min_obj_, std::min(share, 25.0));
    const Weight enough = XLogX::limit(min_side - kTolerance);
    Sides sides(*this);
    Weight left = 0, best_left = 0;
    double best_gain = 0, worth_knowing = saved_by(best_gain, node);
    std::uint32_t below = 0, best_below = 0, best_above = 0;
    std::size_t cuts = 0;
    bool two_large_sides = false;
    for_each_value(node, a, [&](std::uint32_t code, const Weight *cell) {
      const Weight right = known_total_ - left;
      if (right <= enough)
        return false;
      two_large_sides = two_large_sides || left > enough;
      if (left > enough && (column.apart || column.values[below] + column.same_value < column.values[code])) {
        ++cuts;
        const double saved = before_ - (f_(left) + f_(right) - sides.sum_of_logs());
        if (saved > worth_knowing) {
          const double g = gain(node, saved);
          if (g > best_gain + kTolerance) {
            best_gain = g;
            worth_knowing = saved_by(g, node);
            best_left = left;
            best_below = below;
            best_above = code;
          }
        }
      }
      left += sides.move_to_the_left(cell);
      below = code;
      return true;
    });
    const double paid = cuts > 0 ? best_gain - log2_of_count(cuts) / node.total : 0.0;
    if (paid < kTolerance)
      return {{}, 0, 0, !two_large_sides && min_side == min_obj_};
    const double branches = f_(best_left) + f_(known_total_ - best_left);
    const std::uint32_t code = last_code_up_to_middle(a, best_below, best_above);
    return {{SplitKind::at_most, static_cast<std::int32_t>(a), code}, paid, ratio(node, paid, branches)};
  }

  // Class weights on both sides of a moving cut. Logarithms are taken when a cut asks for them; costly ones only of
  // what changed.
  class Sides {
   public:
    explicit Sides(const SplitSearch &search)
        : K_(search.K()), f_(search.f_), known_(search.s_.known.data()), many_(search.s_.left.data()),
          log_(search.s_.log.data()) {
      for (std::size_t c = 0; c < K(); ++c)
        left(c) = 0;
      if (!XLogX::cheap)
        std::fill_n(log_, K(), kUnknown);
    }

    Weight move_to_the_left(const Weight *cell) {
      Weight moved = 0;
      for (std::size_t c = 0; c < K(); ++c) {
        moved += cell[c];
        left(c) += cell[c];
        if (!XLogX::cheap && cell[c] > 0)
          log_[c] = kUnknown;
      }
      return moved;
    }

    double sum_of_logs() {
      double sum = 0;
      for (std::size_t c = 0; c < K(); ++c) {
        if (XLogX::cheap) {
          sum += f_(left(c)) + f_(known_[c] - left(c));
        } else {
          if (log_[c] == kUnknown)
            log_[c] = f_(left(c)) + f_(known_[c] - left(c));
          sum += log_[c];
        }
      }
      return sum;
    }

   private:
    static constexpr double kUnknown = -1e306; // below any x log2 x
    std::size_t K() const { return Classes > 0 ? Classes : K_; }
    Weight &left(std::size_t c) { return Classes > 0 ? few_[c] : many_[c]; }

    std::size_t K_;
    XLogX f_;
    const Weight *known_;
    Weight few_[Classes > 0 ? Classes : 1]; // may stay in registers
    Weight *many_;
    double *log_;
  };

  // C4.5 states thresholds that occur in the training data: the largest value not above the middle of the gap.
  std::uint32_t last_code_up_to_middle(std::size_t a, std::uint32_t below, std::uint32_t above) const {
    const std::vector<double> &values = table_.column(a).values;
    const double middle = values[below] / 2 + values[above] / 2;
    std::uint32_t last = below;
    for (std::uint32_t code = below + 1; code < above && values[code] <= middle; ++code)
      if (occurs_.at(a, code))
        last = code;
    return last;
  }

  const Table &table_;
  const RowStack &rows_;
  const Occurrence &occurs_;
  SplitScratch<Weight> &s_;
  double min_obj_; // large enough that no branch that holds it is empty
  bool binary_nominal_;
  std::size_t n_classes_;
  XLogX f_{};
  Pulse pulse_;
  Weight known_total_ = 0; // of the column under examination
  double before_ = 0;
};

} // namespace steelyard::tree
