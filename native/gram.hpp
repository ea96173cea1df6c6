// Kernel matrices: linear, polynomial, RBF and perceptron (-|x - z|), from dense or CSR rows.
//
// Distances are summed from differences, never as |x|^2 + |z|^2 - 2xz, which loses all digits between near neighbours.
// Rows of Z are packed in panels, feature by feature and a cache line of rows side by side, so that the lanes of a
// vector register are different pairs; sums of CHUNK features in the input's precision are added up in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "pulse.hpp"
#include "svm_loops.hpp"

namespace steelyard {

template <class T> struct DenseView {
  const T *values;
  std::size_t rows, features;
  const T *row(std::size_t i) const { return values + i * features; }
};

template <class T> struct CsrView {
  const T *values;
  const std::int32_t *indices;
  const std::int64_t *starts;
  std::size_t rows, features;
};

// Kernel values between one CSR row, spread over a dense buffer, and other CSR rows.
template <class T> class SparseRow {
 public:
  // calloc hands out pages that are zero and taken only when touched: rows of a billion columns cost what they store.
  explicit SparseRow(std::size_t features)
      : spread_(static_cast<double *>(std::calloc(std::max<std::size_t>(1, features), sizeof(double))), std::free) {
    if (!spread_)
      throw std::bad_alloc();
  }

  void load(const CsrView<T> &rows, std::size_t i) {
    for (const std::int32_t k : touched_)
      spread_[k] = 0.0;
    touched_.assign(rows.indices + rows.starts[i], rows.indices + rows.starts[i + 1]);
    norm2_ = 0.0;
    for (std::int64_t k = rows.starts[i]; k < rows.starts[i + 1]; ++k) {
      spread_[rows.indices[k]] = rows.values[k];
      norm2_ += double(rows.values[k]) * rows.values[k];
    }
  }

  // The dot product or the squared distance. Where |x|^2 + |z|^2 - 2xz would cancel, differences are summed instead.
  double base(bool distance, const CsrView<T> &rows, std::size_t j) const {
    double dot = 0.0, norm2 = 0.0;
    for (std::int64_t k = rows.starts[j]; k < rows.starts[j + 1]; ++k) {
      const double z = rows.values[k];
      dot += spread_[rows.indices[k]] * z;
      norm2 += z * z;
    }
    if (!distance)
      return dot;
    const double square = norm2_ + norm2 - 2.0 * dot;
    return square > 1e-6 * (norm2_ + norm2) ? square : square_of_differences(rows, j);
  }

 private:
  double square_of_differences(const CsrView<T> &rows, std::size_t j) const { // a walk along two sorted lists
    double square = 0.0;
    std::size_t mine = 0;
    std::int64_t its = rows.starts[j];
    while (mine < touched_.size() || its < rows.starts[j + 1]) {
      const bool it_has = its < rows.starts[j + 1] && (mine == touched_.size() || rows.indices[its] <= touched_[mine]);
      const bool i_have = mine < touched_.size() && (!it_has || touched_[mine] == rows.indices[its]);
      const double difference = (i_have ? spread_[touched_[mine]] : 0.0) - (it_has ? double(rows.values[its]) : 0.0);
      square += difference * difference;
      mine += i_have;
      its += it_has;
    }
    return square;
  }

  std::unique_ptr<double[], decltype(&std::free)> spread_;
  std::vector<std::int32_t> touched_; // sorted, as CSR rows are
  double norm2_ = 0.0;
};

// out[i - begin, :] = K(x_i, Z) for rows begin <= i < end of X.
template <class T, class Out>
void gram(const Kernel &kernel, const DenseView<T> &X, std::size_t begin, std::size_t end, const Panels<T> &Z,
          Out *out) {
  std::vector<const T *> rows;
  std::vector<Out *> to;
  for (std::size_t i = begin; i < end; ++i) {
    rows.push_back(X.row(i));
    to.push_back(out + (i - begin) * Z.rows());
  }
  if (!rows.empty())
    kernel_rows(kernel, rows.data(), rows.size(), Z, to.data());
}

template <class T, class Out>
void gram(const Kernel &kernel, const CsrView<T> &X, std::size_t begin, std::size_t end, const CsrView<T> &Z,
          Out *out) {
  SparseRow<T> x(X.features);
  std::vector<double> base(Z.rows);
  Pulse pulse;
  for (std::size_t i = begin; i < end; ++i) {
    pulse.spend(static_cast<std::size_t>(Z.starts[Z.rows]) + Z.rows);
    x.load(X, i);
    for (std::size_t j = 0; j < Z.rows; ++j)
      base[j] = x.base(kernel.of_distance(), Z, j);
    finish(kernel, base.data(), Z.rows, out + (i - begin) * Z.rows);
  }
}

} // namespace steelyard
