// Kernel matrices: linear, polynomial, RBF and perceptron (-|x - z|), from dense or CSR rows.
//
// Distances are summed from differences, never as |x|^2 + |z|^2 - 2xz, which loses all digits between near neighbours.
// Rows of Z are packed in panels (feature by feature, PANEL rows side by side) so that the lanes of a vector register
// are PANEL different pairs; sums of CHUNK features in the input's precision are added up in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd.hpp"

namespace steelyard {

enum class KernelKind : int { linear = 0, poly = 1, rbf = 2, perceptron = 3 };

struct Kernel {
  KernelKind kind;
  double gamma, degree, coef0;
  bool of_distance() const { return kind == KernelKind::rbf || kind == KernelKind::perceptron; }
};

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

constexpr std::size_t PANEL = 16;
constexpr std::size_t CHUNK = 16;
constexpr std::size_t ROW_BLOCK = 4;

// exp(x) for x <= 0, written so that compilers vectorize it; relative error below 4e-16.
STEELYARD_INLINE double exp_nonpositive(double x) {
  constexpr double shift = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to the nearest integer
  x = x < -708.0 ? -708.0 : x;
  const double shifted = x * 1.4426950408889634 + shift;
  const double n = shifted - shift;
  const double r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  double p = 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  std::int64_t bits, power;
  std::memcpy(&bits, &shifted, sizeof bits);
  power = (bits + 1023) << 52; // the low bits of `shifted` are n
  double scale;
  std::memcpy(&scale, &power, sizeof scale);
  return p * scale;
}

// From dot products or squared distances to kernel values, in place of the last step of every kernel.
template <class T, class Out>
STEELYARD_INLINE void finish(const Kernel &kernel, const T *base, std::size_t n, Out *out) {
  switch (kernel.kind) {
  case KernelKind::linear:
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(base[k]);
    break;
  case KernelKind::poly:
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(std::pow(kernel.gamma * base[k] + kernel.coef0, kernel.degree));
    break;
  case KernelKind::rbf:
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(exp_nonpositive(-kernel.gamma * base[k]));
    break;
  case KernelKind::perceptron:
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(-std::sqrt(base[k]));
    break;
  }
}

template <class T> class Panels {
 public:
  explicit Panels(std::size_t features) : features_(features) {}
  template <class RowAt> Panels(std::size_t rows, std::size_t features, RowAt row_at) : Panels(features) {
    pack(rows, row_at);
  }
  template <class RowAt> void pack(std::size_t rows, RowAt row_at) {
    rows_ = rows;
    values_.assign(padded(rows, PANEL) * features_, T(0));
    for (std::size_t i = 0; i < rows; ++i) {
      const T *x = row_at(i);
      T *to = values_.data() + i / PANEL * PANEL * features_ + i % PANEL;
      for (std::size_t k = 0; k < features_; ++k)
        to[k * PANEL] = x[k];
    }
  }
  std::size_t rows() const { return rows_; }
  std::size_t features() const { return features_; }
  const T *panel(std::size_t p) const { return values_.data() + p * PANEL * features_; }

 private:
  std::vector<T> values_;
  std::size_t rows_ = 0, features_;
};

// Dot products or squared distances of ROW_BLOCK rows with one panel.
template <bool DISTANCE, class T>
STEELYARD_INLINE void base_block(const T *const *x, const T *panel, std::size_t features, T (*base)[PANEL]) {
  typedef T Lanes __attribute__((vector_size(PANEL * sizeof(T)), aligned(alignof(T)), may_alias));
  typedef double Wide __attribute__((vector_size(PANEL * sizeof(double))));
  Wide total[ROW_BLOCK] = {};
  for (std::size_t start = 0; start < features; start += CHUNK) {
    const std::size_t stop = std::min(features, start + CHUNK);
    Lanes sum[ROW_BLOCK] = {};
    for (std::size_t k = start; k < stop; ++k) {
      const Lanes z = *reinterpret_cast<const Lanes *>(panel + k * PANEL);
      for (std::size_t r = 0; r < ROW_BLOCK; ++r) {
        const Lanes term = DISTANCE ? x[r][k] - z : x[r][k] * z;
        sum[r] += DISTANCE ? term * term : term;
      }
    }
    if (features <= CHUNK) {
      for (std::size_t r = 0; r < ROW_BLOCK; ++r)
        *reinterpret_cast<Lanes *>(base[r]) = sum[r];
      return;
    }
    for (std::size_t r = 0; r < ROW_BLOCK; ++r)
      total[r] += __builtin_convertvector(sum[r], Wide);
  }
  for (std::size_t r = 0; r < ROW_BLOCK; ++r)
    for (std::size_t l = 0; l < PANEL; ++l)
      base[r][l] = static_cast<T>(total[r][l]);
}

template <class T, class Out>
STEELYARD_INLINE void kernel_rows_body(const Kernel &kernel, const T *const *x, std::size_t rows,
                                       const Panels<T> &panels, Out *out, std::size_t stride) {
  const std::size_t d = panels.features(), columns = panels.rows(), count = padded(columns, PANEL) / PANEL;
  const std::size_t tile = std::max<std::size_t>(1, (16u << 10) / (PANEL * std::max<std::size_t>(d, 1) * sizeof(T)));
  for (std::size_t first = 0; first < count; first += tile) // a tile of panels stays in the cache for all rows
    for (std::size_t i = 0; i < rows; i += ROW_BLOCK) {
      const T *block[ROW_BLOCK];
      for (std::size_t r = 0; r < ROW_BLOCK; ++r)
        block[r] = x[std::min(i + r, rows - 1)];
      for (std::size_t p = first; p < std::min(count, first + tile); ++p) {
        alignas(CACHE_LINE) T base[ROW_BLOCK][PANEL];
        if (kernel.of_distance())
          base_block<true>(block, panels.panel(p), d, base);
        else
          base_block<false>(block, panels.panel(p), d, base);
        const std::size_t column = p * PANEL, here = std::min(PANEL, columns - column);
        for (std::size_t r = 0; r < std::min(ROW_BLOCK, rows - i); ++r) {
          Out *to = out + (i + r) * stride + column;
          if (here == PANEL)
            finish(kernel, base[r], PANEL, to);
          else
            finish(kernel, base[r], here, to);
        }
      }
    }
}

STEELYARD_WIDE inline void kernel_rows(const Kernel &kernel, const float *const *x, std::size_t rows,
                                       const Panels<float> &panels, float *out, std::size_t stride) {
  kernel_rows_body(kernel, x, rows, panels, out, stride);
}
STEELYARD_WIDE inline void kernel_rows(const Kernel &kernel, const double *const *x, std::size_t rows,
                                       const Panels<double> &panels, float *out, std::size_t stride) {
  kernel_rows_body(kernel, x, rows, panels, out, stride);
}
STEELYARD_WIDE inline void kernel_rows(const Kernel &kernel, const double *const *x, std::size_t rows,
                                       const Panels<double> &panels, double *out, std::size_t stride) {
  kernel_rows_body(kernel, x, rows, panels, out, stride);
}

// Kernel values between one CSR row, spread over a dense buffer, and other CSR rows.
template <class T> class SparseRow {
 public:
  explicit SparseRow(std::size_t features) : spread_(features, 0.0) {}

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

  std::vector<double> spread_;
  std::vector<std::int32_t> touched_; // sorted, as CSR rows are
  double norm2_ = 0.0;
};

// out[i - begin, :] = K(x_i, Z) for rows begin <= i < end of X.
template <class T, class Out>
void gram(const Kernel &kernel, const DenseView<T> &X, std::size_t begin, std::size_t end, const Panels<T> &Z,
          Out *out) {
  std::vector<const T *> rows;
  for (std::size_t i = begin; i < end; ++i)
    rows.push_back(X.row(i));
  if (!rows.empty())
    kernel_rows(kernel, rows.data(), rows.size(), Z, out, Z.rows());
}

template <class T, class Out>
void gram(const Kernel &kernel, const CsrView<T> &X, std::size_t begin, std::size_t end, const CsrView<T> &Z,
          Out *out) {
  SparseRow<T> x(X.features);
  std::vector<double> base(Z.rows);
  for (std::size_t i = begin; i < end; ++i) {
    x.load(X, i);
    for (std::size_t j = 0; j < Z.rows; ++j)
      base[j] = x.base(kernel.of_distance(), Z, j);
    finish(kernel, base.data(), Z.rows, out + (i - begin) * Z.rows);
  }
}

} // namespace steelyard
