// The inner loops of kernel matrices and of the SVM solver, each in the widest form the machine has.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "pulse.hpp"
#include "simd.hpp"

namespace steelyard {

enum class KernelKind : int { linear = 0, poly = 1, rbf = 2, perceptron = 3 };

struct Kernel {
  KernelKind kind;
  double gamma;
  int degree;
  double coef0;
  bool of_distance() const { return kind == KernelKind::rbf || kind == KernelKind::perceptron; }
};

constexpr std::size_t CHUNK = 16;
constexpr std::size_t ROW_BLOCK = 4;

inline double power(double base, int exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

// Rows packed feature by feature, PANEL rows side by side: the lanes of a vector register are different rows.
template <class T> class Panels {
  static constexpr std::size_t PANEL = Lane<T>::count;

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

// The working set: `size` entries, whole cache lines of them; an empty entry may move neither way.
template <class T, class F> struct SmoArrays {
  std::size_t size;
  const T *const *rows; // of the kernel, `size` entries each
  const F *diagonal;
  F *gradient;
  F *up_bar;   // 0 where b may grow, +inf where it is at its upper bound
  F *down_bar; // 0 where b may shrink, +inf where it is at its lower bound
  double *b, *lo, *hi;
};

template <class F> constexpr F curvature_floor() { return sizeof(F) == 4 ? F(1e-7) : F(1e-12); }

} // namespace steelyard

#define STEELYARD_ISA portable
#define STEELYARD_TARGET
#define STEELYARD_VECTOR_BYTES 16
namespace steelyard {
#include "svm_loops.inl"
}
#undef STEELYARD_ISA
#undef STEELYARD_TARGET
#undef STEELYARD_VECTOR_BYTES
#if STEELYARD_HAS_WIDE
#define STEELYARD_ISA avx2
#define STEELYARD_TARGET __attribute__((target("avx2,fma")))
#define STEELYARD_VECTOR_BYTES 32
namespace steelyard {
#include "svm_loops.inl"
}
#undef STEELYARD_ISA
#undef STEELYARD_TARGET
#undef STEELYARD_VECTOR_BYTES
#define STEELYARD_ISA avx512
#define STEELYARD_TARGET __attribute__((target("avx512f,avx512dq,avx2,fma")))
#define STEELYARD_VECTOR_BYTES 64
namespace steelyard {
#include "svm_loops.inl"
}
#undef STEELYARD_ISA
#undef STEELYARD_TARGET
#undef STEELYARD_VECTOR_BYTES
#define STEELYARD_WIDEST(call) (isa() == Isa::avx512 ? avx512::call : isa() == Isa::avx2 ? avx2::call : portable::call)
#else
#define STEELYARD_WIDEST(call) (portable::call)
#endif

namespace steelyard {

// out[r] = K(x[r], rows of the panels).
template <class T, class Out>
void kernel_rows(const Kernel &kernel, const T *const *x, std::size_t rows, const Panels<T> &panels, Out *const *out) {
  STEELYARD_WIDEST(kernel_rows(kernel, x, rows, panels, out));
}

template <class T, class Out> void finish(const Kernel &kernel, const T *base, std::size_t n, Out *out) {
  STEELYARD_WIDEST(finish_some(kernel, base, n, out));
}

// sums[j] += sum_r weight[r] * rows[r][j] for j < n.
template <class T>
void add_rows(const T *const *rows, const double *weight, std::size_t count, std::size_t n, double *sums) {
  STEELYARD_WIDEST(add_rows(rows, weight, count, n, sums));
}

// SMO steps until the violation inside the working set is at most `tolerance`; returns how many were taken.
template <class T, class F> std::size_t smo(const SmoArrays<T, F> &w, double tolerance, std::size_t max_steps) {
  return STEELYARD_WIDEST(smo(w, tolerance, max_steps));
}

} // namespace steelyard
