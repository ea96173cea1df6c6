// The covariance of second-order rules, its diagonal or the whole matrix.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "rows.hpp"

namespace steelyard {

// Calls f(column, value) for what row i stores.
template <class T, class Call> void each(const DenseRows<T> &rows, std::size_t i, Call &&f) {
  for (std::size_t j = 0; j < rows.d; ++j)
    f(j, static_cast<double>(rows.row(i)[j]));
}
template <class T, class I, class Call> void each(const CsrRows<T, I> &rows, std::size_t i, Call &&f) {
  for (std::size_t k = rows.begin(i); k < rows.end(i); ++k)
    f(static_cast<std::size_t>(rows.columns[k]), static_cast<double>(rows.values[k]));
}

// Sum of sigma x^2 over what row i stores. A dense row goes into four sums in turn: one alone would wait for itself.
template <class T> double sum_of_squares(const DenseRows<T> &rows, std::size_t i, const double *sigma) {
  const T *x = rows.row(i);
  double sums[4] = {};
  std::size_t j = 0;
  for (; j + 4 <= rows.d; j += 4)
    for (std::size_t k = 0; k < 4; ++k)
      sums[k] += sigma[j + k] * static_cast<double>(x[j + k]) * static_cast<double>(x[j + k]);
  for (; j < rows.d; ++j)
    sums[0] += sigma[j] * static_cast<double>(x[j]) * static_cast<double>(x[j]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
template <class T, class I> double sum_of_squares(const CsrRows<T, I> &rows, std::size_t i, const double *sigma) {
  double sum = 0;
  each(rows, i, [&](std::size_t j, double x) { sum += sigma[j] * x * x; });
  return sum;
}

class Covariance {
 public:
  std::vector<double> sigma; // empty for first-order rules; `width` numbers, or width x width of them
  std::size_t width = 0;     // features, and the constant one if there is an intercept

  bool full() const { return full_; }
  bool used() const { return !sigma.empty(); }

  // The identity.
  void begin(std::size_t features, bool constant, bool full) {
    const std::size_t wanted = features + constant;
    if (full && wanted > UINT32_MAX)
      throw std::bad_alloc(); // its square is no number of bytes
    width = wanted, constant_ = constant, full_ = full;
    sigma.assign(full ? width * width : width, full ? 0.0 : 1.0);
    for (std::size_t j = 0; full && j < width; ++j)
      sigma[j * width + j] = 1.0;
  }

  // x' Sigma x; for the whole matrix Sigma x is kept for the step that may follow.
  template <class Rows> double variance(const Rows &rows, std::size_t i) {
    double sum = 0;
    if (full_) {
      product_.resize(width);
      for (std::size_t j = 0; j < width; ++j)
        product_[j] = rows.dot(i, &sigma[j * width]) + (constant_ ? sigma[j * width + width - 1] : 0.0);
      sum = rows.dot(i, product_.data());
      if (constant_)
        sum += product_[width - 1];
    } else {
      sum = sum_of_squares(rows, i, sigma.data());
      if (constant_)
        sum += sigma[width - 1];
    }
    return sum < 0 ? 0.0 : sum; // rounding alone can make the whole matrix lose its sign
  }

  // Sigma^-1 += gain x x', after variance() of the same row; of the diagonal form only the diagonal of x x'.
  template <class Rows> void shrink(const Rows &rows, std::size_t i, double gain, double variance) {
    if (gain == 0)
      return;
    if (full_) {
      const double root = std::sqrt(gain / (1.0 + gain * variance)); // Sherman and Morrison; symmetric to the last bit
      for (std::size_t j = 0; j < width; ++j)
        scaled_row_minus(j, root);
      for (double &t : product_)
        t /= 1.0 + gain * variance; // the new Sigma times x
    } else {
      each(rows, i, [&](std::size_t j, double x) { sigma[j] /= 1.0 + gain * sigma[j] * x * x; });
      if (constant_)
        sigma[width - 1] /= 1.0 + gain * sigma[width - 1];
    }
  }

  // f(column, (Sigma x)[column]) wherever it may differ from zero; the constant feature has the column `width - 1`.
  template <class Rows, class Call> void each_product(const Rows &rows, std::size_t i, Call &&f) const {
    if (full_) {
      for (std::size_t j = 0; j < width; ++j)
        f(j, product_[j]);
    } else {
      each(rows, i, [&](std::size_t j, double x) { f(j, sigma[j] * x); });
      if (constant_)
        f(width - 1, sigma[width - 1]);
    }
  }

 private:
  void scaled_row_minus(std::size_t j, double root) {
    double *row = &sigma[j * width];
    const double own = root * product_[j];
    for (std::size_t k = 0; k < width; ++k)
      row[k] -= own * (root * product_[k]);
  }

  bool constant_ = false, full_ = false;
  std::vector<double> product_; // Sigma x of the row looked at last
};

} // namespace steelyard
