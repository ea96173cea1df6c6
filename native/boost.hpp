// Cost-sensitive boosting of C4.5 trees: all rounds on one prepared table. Paper 003, eqs. (13), (26), (31), (32).
//
// A variant is its weight columns (src/steelyard/boosting/rules.py). The order of every operation is that of the Python
// template, so both have the same bits; rows of weight 0 add exact zeros and change nothing.
#pragma once

#include <cmath>

#include "pulse.hpp"
#include "tree.hpp"

namespace steelyard::boost {

constexpr double kRounding = 1e-12; // ROUNDING of rules.py

struct Columns {
  const double *counted, *pull_right, *pull_wrong, *carried_right, *carried_wrong;
  double pace;        // used unless it is alpha
  bool pace_is_alpha; // in all variants but CSB0 and CSB1
  bool pull_is_one;   // spares an exponential per row
};

enum class Stop : std::int32_t { rounds = 0, perfect = 1, weak = 2 };

struct Ensemble {
  std::vector<tree::Tree> trees;
  std::vector<double> alphas;
  std::vector<double> normalisers; // Z_t, eqs. (17) and (29)
  std::vector<double> margins;     // votes for the truth minus votes against it, of every row
  Stop stop = Stop::rounds;
};

// Buffers of one thread.
struct Workspace {
  tree::Workspace tree;
  std::vector<double> weights;
  std::vector<std::int32_t> labels;
};

struct Balance {
  double pro = 0, contra = 0, missed = 0;
};

class Booster {
 public:
  Booster(const tree::Table &table, const tree::Options &options, const Columns &columns, Workspace &workspace)
      : table_(table), options_(options), columns_(columns), ws_(workspace), n_(table.n_rows()) {}

  // `first_tree` and `first_labels`, if given, are those that the weights of round one would grow.
  // `size` is the sum that the weights are kept at.
  Ensemble run(const double *weights, double size, std::size_t n_rounds, const tree::Tree *first_tree = nullptr,
               const std::int32_t *first_labels = nullptr) {
    Ensemble out;
    out.margins.assign(n_, 0.0);
    ws_.weights.assign(weights, weights + n_);
    ws_.labels.resize(n_);
    for (std::size_t t = 0; t < n_rounds; ++t) {
      tree::Tree grown;
      const std::int32_t *labels = ws_.labels.data();
      if (t == 0 && first_tree != nullptr) {
        grown = *first_tree;
        labels = first_labels;
      } else {
        tree::grow(table_, ws_.weights.data(), options_, ws_.tree, grown);
        tree::training_labels(table_, grown, ws_.tree, ws_.labels.data());
      }
      const Balance b = balance(labels);
      if (b.missed == 0 || b.contra == 0) {
        keep(out, std::move(grown), labels, 1.0, size);
        out.stop = Stop::perfect;
        return out;
      }
      const double alpha = vote(b);
      if (alpha == 0) {
        if (out.trees.empty())
          keep(out, std::move(grown), labels, 1.0, size);
        out.stop = Stop::weak;
        return out;
      }
      keep(out, std::move(grown), labels, alpha, size);
    }
    return out;
  }

 private:
  // Adds a hypothesis and makes the weights those of the next round.
  void keep(Ensemble &out, tree::Tree &&grown, const std::int32_t *labels, double alpha, double size) {
    out.trees.push_back(std::move(grown));
    out.alphas.push_back(alpha);
    out.normalisers.push_back(reweigh(labels, alpha, size));
    for (std::size_t i = 0; i < n_; ++i)
      out.margins[i] += right(labels, i) ? alpha : -alpha;
  }

  bool right(const std::int32_t *labels, std::size_t i) const { return labels[i] == table_.labels()[i]; }

  Balance balance(const std::int32_t *labels) const {
    Balance b;
    for (std::size_t i = 0; i < n_; ++i) {
      const double counted = columns_.counted[i] * ws_.weights[i];
      const bool ok = right(labels, i);
      const double pull = ok ? columns_.pull_right[i] : -columns_.pull_wrong[i];
      b.pro += counted * (0.5 * (1.0 + pull));
      b.contra += counted * (0.5 * (1.0 - pull));
      b.missed += ok ? 0.0 : counted;
    }
    return b;
  }

  static double vote(const Balance &b) {
    const double alpha = b.pro > b.contra ? 0.5 * (std::log(b.pro) - std::log(b.contra)) : 0.0;
    return alpha > kRounding ? alpha : 0.0;
  }

  // Z, the sum that the weights had before they were scaled back, over their size.
  double reweigh(const std::int32_t *labels, double alpha, double size) {
    const double pace = columns_.pace_is_alpha ? alpha : columns_.pace;
    const double down = std::exp(-pace), up = std::exp(pace);
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const bool ok = right(labels, i);
      const double factor = columns_.pull_is_one ? (ok ? down : up)
                            : ok                 ? std::exp(-pace * columns_.pull_right[i])
                                                 : std::exp(pace * columns_.pull_wrong[i]);
      ws_.weights[i] = ws_.weights[i] * factor * (ok ? columns_.carried_right[i] : columns_.carried_wrong[i]);
      sum += ws_.weights[i];
    }
    const double scale = size / sum;
    for (double &w : ws_.weights)
      w *= scale;
    return sum / size;
  }

  const tree::Table &table_;
  const tree::Options &options_;
  const Columns columns_;
  Workspace &ws_;
  std::size_t n_;
};

// The vote of an ensemble on rows of its own table, by eq. (15); ties go to the first class.
inline void answers(const tree::Table &table, const Ensemble &ensemble, const std::int64_t *rows, std::size_t n_rows,
                    Workspace &workspace, std::int32_t *out) {
  const std::size_t K = table.n_classes();
  std::vector<double> votes(K);
  Pulse pulse;
  for (std::size_t i = 0; i < n_rows; ++i) {
    pulse.spend(32 * ensemble.trees.size());
    std::fill(votes.begin(), votes.end(), 0.0);
    for (std::size_t t = 0; t < ensemble.trees.size(); ++t)
      votes[static_cast<std::size_t>(tree::predict(table, ensemble.trees[t], static_cast<std::size_t>(rows[i]),
                                                   workspace.tree))] += ensemble.alphas[t];
    out[i] = static_cast<std::int32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
  }
}

} // namespace steelyard::boost
