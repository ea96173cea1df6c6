// Dual coordinate passes for linear CS-LDM (paper 004, eq. 18). One call is one pass over `order`; Python owns the
// stopping rule, the order and the box.
#pragma once

#include "ldm_lanes.hpp"
#include "pulse.hpp"

#include <algorithm>
#include <cstdint>

namespace steelyard {

struct SparseRows {
  const double *values;
  const std::int32_t *columns;
  const std::int64_t *starts;
  const std::int32_t *chosen; // the rows that are meant, in turn; null for all

  std::size_t row(std::size_t i) const { return chosen ? static_cast<std::size_t>(chosen[i]) : i; }
  std::int64_t begin(std::size_t i) const { return starts[row(i)]; }
  std::int64_t end(std::size_t i) const { return starts[row(i) + 1]; }

  // What is written never overlaps the rows: said by __restrict, because aliasing is not strict.
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(end(i) - begin(i)); }

  double dot(std::size_t i, const double *w) const {
    const double *x = values + begin(i);
    const std::int32_t *column = columns + begin(i);
    const std::int64_t size = end(i) - begin(i);
    double sum = 0.0;
    for (std::int64_t k = 0; k < size; ++k)
      sum += x[k] * w[column[k]];
    return sum;
  }
  void add_to(std::size_t i, double factor, double *__restrict w) const {
    const double *__restrict x = values + begin(i);
    const std::int32_t *__restrict column = columns + begin(i);
    const std::int64_t size = end(i) - begin(i);
    for (std::int64_t k = 0; k < size; ++k)
      w[column[k]] += factor * x[k];
  }
  // factor x_i x_i' into the lower triangle; columns are sorted within a row
  void add_square(std::size_t i, double factor, double *__restrict matrix, std::size_t width) const {
    const double *__restrict x = values + begin(i);
    const std::int32_t *__restrict column = columns + begin(i);
    const std::int64_t size = end(i) - begin(i);
    for (std::int64_t a = 0; a < size; ++a) {
      double *__restrict line = matrix + static_cast<std::size_t>(column[a]) * width;
      const double scaled = factor * x[a];
      for (std::int64_t b = 0; b <= a; ++b)
        line[column[b]] += scaled * x[b];
    }
  }
  void prefetch(std::size_t i) const {
    __builtin_prefetch(values + begin(i));
    __builtin_prefetch(columns + begin(i));
  }
};

struct DenseRows64 {
  const double *values;
  std::size_t width;

  std::size_t length(std::size_t) const { return width; }
  double dot(std::size_t i, const double *w) const { return steelyard::dot(values + i * width, w, width); }
  void add_to(std::size_t i, double factor, double *w) const { axpy(factor, values + i * width, w, width); }
  void add_square(std::size_t i, double factor, double *matrix, std::size_t) const {
    const double *row = values + i * width;
    for (std::size_t a = 0; a < width; ++a)
      axpy(factor * row[a], row, matrix + a * width, a + 1);
  }
  void prefetch(std::size_t i) const {
    for (std::size_t k = 0; k < width && k < 32; k += kLanes)
      __builtin_prefetch(values + i * width + k);
  }
};

// Exact coordinate descent on rows y_i L^-1 x_i with M = LL': v = sum_i nu_i row_i, H_ii = |row_i|^2. A function of
// its own, because a look at the clock beside its loop would take registers from it.
STEELYARD_CLONES inline void metric_rows(const double *rows, std::size_t width, const double *diagonal,
                                         const double *lower, const double *upper, const std::int32_t *order,
                                         std::size_t count, double *nu, double *v) {
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = static_cast<std::size_t>(order[k]);
    const double *row = rows + i * width;
    if (k + 2 < count)
      for (std::size_t line = 0; line < width && line < 32; line += kLanes)
        __builtin_prefetch(rows + static_cast<std::size_t>(order[k + 2]) * width + line);
    if (lower[i] == upper[i])
      continue;
    const double gradient = dot(row, v, width) - 1.0;
    const double fresh = clamp(nu[i] - gradient / (diagonal[i] > 1e-300 ? diagonal[i] : 1e-300), lower[i], upper[i]);
    if (fresh == nu[i])
      continue;
    axpy(fresh - nu[i], row, v, width);
    nu[i] = fresh;
  }
}

inline void metric_pass(const double *rows, std::size_t width, const double *diagonal, const double *lower,
                        const double *upper, const std::int32_t *order, std::size_t count, double *nu, double *v) {
  const std::size_t together = 1 + 16384 / (width + 1); // many, since the last two of them fetch nothing ahead
  Pulse pulse;
  for (std::size_t first = 0; first < count; first += together) {
    pulse.spend(2 * width * together);
    metric_rows(rows, width, diagonal, lower, upper, order + first, std::min(count - first, together), nu, v);
  }
}

// The same on sparse rows: w = sum_i nu_i y_i M^-1 x_i; a step adds a few rows of the d x d inverse.
STEELYARD_CLONES inline void sparse_metric_pass(const SparseRows &rows, const double *y, const double *inverse,
                                                std::size_t width, const double *diagonal, const double *lower,
                                                const double *upper, const std::int32_t *order, std::size_t count,
                                                double *nu, double *w) {
  Pulse pulse;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = static_cast<std::size_t>(order[k]);
    pulse.spend(rows.length(i) * width);
    if (k + 4 < count)
      rows.prefetch(static_cast<std::size_t>(order[k + 4]));
    if (lower[i] == upper[i])
      continue;
    const double gradient = y[i] * rows.dot(i, w) - 1.0;
    const double fresh = clamp(nu[i] - gradient / (diagonal[i] > 1e-300 ? diagonal[i] : 1e-300), lower[i], upper[i]);
    if (fresh == nu[i])
      continue;
    const double step = (fresh - nu[i]) * y[i];
    for (std::int64_t at = rows.begin(i); at < rows.end(i); ++at)
      axpy(step * rows.values[at], inverse + static_cast<std::size_t>(rows.columns[at]) * width, w, width);
    nu[i] = fresh;
  }
}

// Margins y_i w'x_i.
inline void sparse_margins(const SparseRows &rows, std::size_t count, const double *y, const double *w,
                           double *__restrict out) {
  Pulse pulse;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = y[i] * rows.dot(i, w);
    pulse.spend(rows.length(i) + 8);
  }
}

// Sparse rows with one entry more each, a last feature of 1.
template <class Index>
void append_ones(const double *values, const Index *columns, const Index *starts, std::size_t count, Index feature,
                 double *out_values, Index *out_columns) {
  for (std::size_t i = 0; i < count; ++i) {
    out_values = std::copy(values + starts[i], values + starts[i + 1], out_values);
    out_columns = std::copy(columns + starts[i], columns + starts[i + 1], out_columns);
    *out_values++ = 1.0;
    *out_columns++ = feature;
  }
}

// x_i' A x_i for every sparse row: the diagonal of H from A = M^-1.
inline void sparse_quadratic_forms(const SparseRows &rows, std::size_t count, const double *matrix, std::size_t width,
                                   double *out) {
  Pulse pulse;
  for (std::size_t i = 0; i < count; ++i) {
    pulse.spend(rows.length(i) * rows.length(i) + 8);
    double sum = 0.0;
    for (std::int64_t a = rows.begin(i); a < rows.end(i); ++a) {
      const double *line = matrix + static_cast<std::size_t>(rows.columns[a]) * width;
      for (std::int64_t b = rows.begin(i); b < rows.end(i); ++b)
        sum += rows.values[a] * rows.values[b] * line[rows.columns[b]];
    }
    out[i] = sum;
  }
}

// The smoothed hinge h(r) = r^2 / (2 smooth) for 0 <= r <= smooth, r - smooth / 2 above, of r = 1 - margin: adds the
// pull sum_i c_i h'(r_i) y_i x_i and the curvature sum_i c_i h''(r_i) x_i x_i' (lower triangle). Only rows within the
// kink bend the objective, so the curvature is cheap. Returns sum_i c_i h(r_i).
template <class Rows>
STEELYARD_INTO_CLONES double smooth_hinge(const Rows &rows, std::size_t count, const double *y, const double *cost,
                                          const double *margins, double smooth, double *pull, double *curvature,
                                          std::size_t width) {
  double loss = 0.0;
  Pulse pulse;
  for (std::size_t i = 0; i < count; ++i) {
    const double lack = 1.0 - margins[i];
    if (lack <= 0.0 || cost[i] == 0.0)
      continue;
    const bool straight = lack >= smooth;
    loss += cost[i] * (straight ? lack - 0.5 * smooth : 0.5 * lack * lack / smooth);
    rows.add_to(i, y[i] * cost[i] * (straight ? 1.0 : lack / smooth), pull);
    pulse.spend(rows.length(i));
    if (!straight) {
      rows.add_square(i, cost[i] / smooth, curvature, width);
      pulse.spend(rows.length(i) * rows.length(i));
    }
  }
  return loss;
}

STEELYARD_CLONES inline double dense_smooth_hinge(const DenseRows64 &rows, std::size_t count, const double *y,
                                                  const double *cost, const double *margins, double smooth,
                                                  double *pull, double *curvature) {
  return smooth_hinge(rows, count, y, cost, margins, smooth, pull, curvature, rows.width);
}

inline double sparse_smooth_hinge(const SparseRows &rows, std::size_t count, const double *y, const double *cost,
                                  const double *margins, double smooth, double *pull, double *curvature,
                                  std::size_t width) {
  return smooth_hinge(rows, count, y, cost, margins, smooth, pull, curvature, width);
}

// -d/dt of sum_i c_i h(1 - margin_i - t change_i): what a line search needs, without looking at the rows.
STEELYARD_CLONES inline double smooth_hinge_slope(const double *margins, const double *change, const double *cost,
                                                  std::size_t count, double smooth, double t) {
  Lanes sums = {};
  const Lanes none = {}, one = none + 1.0;
  const double inverse = 1.0 / smooth;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes slope = (one - lanes(margins + i) - t * lanes(change + i)) * inverse;
    slope = slope < none ? none : slope;
    slope = slope > one ? one : slope;
    sums += lanes(cost + i) * slope * lanes(change + i);
  }
  double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; i < count; ++i)
    sum += cost[i] * clamp((1.0 - margins[i] - t * change[i]) * inverse, 0.0, 1.0) * change[i];
  return sum;
}

// sum_i c_i hinge_i, and what a dual point read off the smoothed slopes loses of it: sum_i c_i hinge_i (1 - slope_i).
struct HingeSums {
  double hinge, bent;
};

STEELYARD_CLONES inline HingeSums hinge_sums(const double *margins, const double *cost, std::size_t count,
                                             double smooth) {
  Lanes hinge = {}, bent = {};
  const Lanes none = {}, one = none + 1.0;
  const double inverse = 1.0 / smooth;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes lack = one - lanes(margins + i);
    lack = lack < none ? none : lack;
    Lanes slope = lack * inverse;
    slope = slope > one ? one : slope;
    const Lanes paid = lanes(cost + i) * lack;
    hinge += paid;
    bent += paid * (one - slope);
  }
  HingeSums sums{(hinge[0] + hinge[1]) + (hinge[2] + hinge[3]), (bent[0] + bent[1]) + (bent[2] + bent[3])};
  for (; i < count; ++i) {
    const double lack = 1.0 - margins[i] > 0.0 ? 1.0 - margins[i] : 0.0;
    sums.hinge += cost[i] * lack;
    sums.bent += cost[i] * lack * (1.0 - clamp(lack * inverse, 0.0, 1.0));
  }
  return sums;
}

// sum_i weight_i x_i x_i' into the lower triangle of a zeroed d x d matrix.
inline void sparse_gram(const SparseRows &rows, std::size_t count, const double *weight, std::size_t width,
                        double *out) {
  Pulse pulse;
  for (std::size_t i = 0; i < count; ++i) {
    rows.add_square(i, weight[i], out, width);
    pulse.spend(rows.length(i) * rows.length(i) + 8);
  }
}

// Stochastic dual coordinate ascent. The margin variance is min over a centre c of sum_i (pull_i / 2)(gamma_i - c)^2;
// its conjugate gives each row a second dual variable tau_i = pull_i (gamma_i - c), and w = sum (nu_i - tau_i) y_i x_i.
// The centre is held near its last value by (stiffness / 2)(c - c_last)^2, so that it moves with every step:
// c = c_last + sum tau / stiffness. Rows are given as CSR, dense data too; diagonal = |x_i|^2.
struct Centre {
  double value;
  double stiffness;
};

inline void sdca_pass(const SparseRows &rows, const double *y, const double *diagonal, const double *pull,
                      const double *lower, const double *upper, const std::int32_t *order, std::size_t count,
                      double *nu, double *tau, double *w, Centre *centre) {
  Pulse pulse;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = static_cast<std::size_t>(order[k]);
    pulse.spend(2 * rows.length(i) + 8);
    if (k + 4 < count)
      rows.prefetch(static_cast<std::size_t>(order[k + 4]));
    const double q = diagonal[i];
    const double others = y[i] * rows.dot(i, w) - q * (nu[i] - tau[i]); // the margin without row i's own share
    double fresh_nu, fresh_tau = 0.0;
    if (pull[i] > 0.0) {
      // With nu fixed, tau = (others + q nu - c0) / spread; then solve gamma = 1 for nu and clip.
      const double c0 = centre->value - tau[i] / centre->stiffness;
      const double spread = 1.0 / pull[i] + q + 1.0 / centre->stiffness;
      const double slope = q * (1.0 - q / spread);
      const double lack = 1.0 - others + q * (others - c0) / spread;
      fresh_nu = clamp(lack / (slope > 1e-300 ? slope : 1e-300), lower[i], upper[i]);
      fresh_tau = (others + q * fresh_nu - c0) / spread;
      centre->value = c0 + fresh_tau / centre->stiffness;
    } else {
      fresh_nu = clamp((1.0 - others) / (q > 1e-300 ? q : 1e-300), lower[i], upper[i]);
    }
    const double step = (fresh_nu - fresh_tau) - (nu[i] - tau[i]);
    if (step != 0.0)
      rows.add_to(i, step * y[i], w);
    nu[i] = fresh_nu;
    tau[i] = fresh_tau;
  }
}

} // namespace steelyard
