// The inner loops of kernel matrices and of the SVM solver. Included once per instruction set by svm_loops.hpp, which
// defines STEELYARD_ISA (a namespace), STEELYARD_TARGET (an attribute) and STEELYARD_VECTOR_BYTES (the width of its
// registers: wider vector types would be kept in memory); therefore no include guard.

namespace STEELYARD_ISA {

template <class T> struct Vector {
  static constexpr std::size_t count = STEELYARD_VECTOR_BYTES / sizeof(T);
  typedef T type __attribute__((vector_size(STEELYARD_VECTOR_BYTES)));
  typedef T unaligned __attribute__((vector_size(STEELYARD_VECTOR_BYTES), aligned(alignof(T)), may_alias));
  typedef typename Lane<T>::index index __attribute__((vector_size(STEELYARD_VECTOR_BYTES)));
};

// values[k] = exp(values[k]) for values <= 0; relative error below 1e-15.
STEELYARD_TARGET inline void exp_nonpositive(double *values, std::size_t n) { // n: whole vectors
  using V = typename Vector<double>::type;
  using U = typename Vector<double>::unaligned;
  using I = typename Vector<double>::index;
  constexpr double shift = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to the nearest integer
  constexpr double inverse_factorial[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
      1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  for (std::size_t k = 0; k < n; k += Vector<double>::count) {
    V x = *reinterpret_cast<const U *>(values + k);
    x = x < -708.0 ? V{} - 708.0 : x;
    const V shifted = x * 1.4426950408889634 + shift;
    const V whole = shifted - shift;
    const V r = (x - whole * 6.93145751953125e-1) - whole * 1.42860682030941723212e-6;
    V sum = V{};
    for (const double coefficient : inverse_factorial)
      sum = sum * r + coefficient;
    const I power = ((I)shifted + 1023) << 52; // the low bits of `shifted` are the power of two
    *reinterpret_cast<U *>(values + k) = sum * (V)power;
  }
}

// From dot products or squared distances to kernel values: the last step of every kernel.
template <class T, class Out>
STEELYARD_TARGET inline void finish(const Kernel &kernel, const T *base, std::size_t n, Out *out) {
  if (kernel.kind == KernelKind::perceptron) {
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(-std::sqrt(base[k]));
  } else if (kernel.kind == KernelKind::linear) {
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(base[k]);
  } else if (kernel.kind == KernelKind::poly) {
    for (std::size_t k = 0; k < n; ++k)
      out[k] = static_cast<Out>(power(kernel.gamma * base[k] + kernel.coef0, kernel.degree));
  } else {
    constexpr std::size_t piece = 64;
    double exponent[piece] = {};
    for (std::size_t start = 0; start < n; start += piece) {
      const std::size_t here = std::min(piece, n - start);
      for (std::size_t k = 0; k < here; ++k)
        exponent[k] = -kernel.gamma * base[start + k];
      STEELYARD_ISA::exp_nonpositive(exponent, padded(here, Lane<double>::count));
      for (std::size_t k = 0; k < here; ++k)
        out[start + k] = static_cast<Out>(exponent[k]);
    }
  }
}

// The same, not inlined: the last panel of a row is seldom full, and needs no loops of its own.
template <class T, class Out>
STEELYARD_TARGET __attribute__((noinline)) void finish_some(const Kernel &kernel, const T *base, std::size_t n,
                                                            Out *out) {
  STEELYARD_ISA::finish(kernel, base, n, out);
}

// Dot products or squared distances of ROW_BLOCK rows with one panel.
template <bool DISTANCE, class T>
STEELYARD_TARGET inline void base_block(const T *const *x, const T *panel, std::size_t features,
                                        T (*base)[Lane<T>::count]) {
  using V = typename Vector<T>::type;
  using U = typename Vector<T>::unaligned;
  constexpr std::size_t P = Lane<T>::count, W = Vector<T>::count, PARTS = P / W;
  double total[ROW_BLOCK][P] = {};
  for (std::size_t start = 0; start < features; start += CHUNK) {
    const std::size_t stop = std::min(features, start + CHUNK);
    V sum[ROW_BLOCK][PARTS] = {};
    for (std::size_t k = start; k < stop; ++k)
      for (std::size_t part = 0; part < PARTS; ++part) {
        const V z = *reinterpret_cast<const U *>(panel + k * P + part * W);
        for (std::size_t r = 0; r < ROW_BLOCK; ++r) {
          const V term = DISTANCE ? x[r][k] - z : x[r][k] * z;
          sum[r][part] += DISTANCE ? term * term : term;
        }
      }
    for (std::size_t r = 0; r < ROW_BLOCK; ++r)
      for (std::size_t part = 0; part < PARTS; ++part)
        *reinterpret_cast<U *>(base[r] + part * W) = sum[r][part];
    if (features <= CHUNK)
      return;
    for (std::size_t r = 0; r < ROW_BLOCK; ++r)
      for (std::size_t l = 0; l < P; ++l)
        total[r][l] += base[r][l];
  }
  for (std::size_t r = 0; r < ROW_BLOCK; ++r)
    for (std::size_t l = 0; l < P; ++l)
      base[r][l] = static_cast<T>(total[r][l]);
}

template <class T, class Out>
STEELYARD_TARGET inline void kernel_rows(const Kernel &kernel, const T *const *x, std::size_t rows,
                                         const Panels<T> &panels, Out *const *out) {
  constexpr std::size_t PANEL = Lane<T>::count;
  const std::size_t d = panels.features(), columns = panels.rows(), count = padded(columns, PANEL) / PANEL;
  Pulse pulse;
  const std::size_t tile = std::max<std::size_t>(1, (256u << 10) / (PANEL * std::max<std::size_t>(d, 1) * sizeof(T)));
  for (std::size_t first = 0; first < count; first += tile) // a tile of panels stays in the cache for all rows
    for (std::size_t i = 0; i < rows; i += ROW_BLOCK) {
      const T *block[ROW_BLOCK];
      for (std::size_t r = 0; r < ROW_BLOCK; ++r)
        block[r] = x[std::min(i + r, rows - 1)];
      pulse.spend(tile * PANEL * (d + 8)); // vectors do the rows of the block together
      for (std::size_t p = first; p < std::min(count, first + tile); ++p) {
        alignas(CACHE_LINE) T base[ROW_BLOCK][PANEL];
        if (kernel.of_distance())
          STEELYARD_ISA::base_block<true>(block, panels.panel(p), d, base);
        else
          STEELYARD_ISA::base_block<false>(block, panels.panel(p), d, base);
        const std::size_t column = p * PANEL, here = std::min(PANEL, columns - column);
        for (std::size_t r = 0; r < std::min(ROW_BLOCK, rows - i); ++r) {
          Out *to = out[i + r] + column;
          if (here == PANEL)
            STEELYARD_ISA::finish(kernel, base[r], PANEL, to);
          else
            STEELYARD_ISA::finish_some(kernel, base[r], here, to);
        }
      }
    }
}

// sums[j] += sum_r weight[r] * row[r][j], four rows to a pass because the sums are the larger stream.
template <class T>
STEELYARD_TARGET inline void add_rows(const T *const *rows, const double *weight, std::size_t count, std::size_t n,
                                      double *sums) {
  Pulse pulse;
  constexpr std::size_t piece = 2048; // of the sums, so that they stay in the first-level cache
  for (std::size_t start = 0; start < n; start += piece) {
    const std::size_t stop = std::min(n, start + piece);
    pulse.spend(count * piece / 4);
    std::size_t r = 0;
    for (; r + 4 <= count; r += 4) {
      const T *a = rows[r], *b = rows[r + 1], *c = rows[r + 2], *d = rows[r + 3];
      const double wa = weight[r], wb = weight[r + 1], wc = weight[r + 2], wd = weight[r + 3];
      for (std::size_t j = start; j < stop; ++j)
        sums[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j]);
    }
    for (; r < count; ++r) {
      const T *a = rows[r];
      const double wa = weight[r];
      for (std::size_t j = start; j < stop; ++j)
        sums[j] += wa * a[j];
    }
  }
}
// SMO steps until the violation inside the working set is at most `tolerance`; returns how many were taken.
template <class T, class F>
STEELYARD_TARGET inline std::size_t smo(const SmoArrays<T, F> &w, double tolerance, std::size_t max_steps) {
  constexpr std::size_t L = Vector<F>::count;
  using V = typename Vector<F>::type;
  using U = typename Vector<F>::unaligned;
  using I = typename Vector<F>::index;
  using Scalar = typename Lane<F>::index;
  typedef T KernelLane __attribute__((vector_size(L * sizeof(T)), aligned(alignof(T)), may_alias));
  constexpr F infinity = std::numeric_limits<F>::infinity();
  const std::size_t n = w.size;
  I first;
  for (std::size_t l = 0; l < L; ++l)
    first[l] = static_cast<Scalar>(l);

  std::size_t i = 0, j = 0;
  F step = 0;
  Pulse pulse;
  for (std::size_t steps = 0;; ++steps) {
    pulse.spend(n);
    // The last step's effect on the gradient, and on the way the smallest gradient among those that may grow.
    const T *row_i = w.rows[i], *row_j = w.rows[j];
    V least = infinity - V{};
    I least_at = first, at = first;
    for (std::size_t k = 0; k < n; k += L) {
      const V ki = __builtin_convertvector(*reinterpret_cast<const KernelLane *>(row_i + k), V);
      const V kj = __builtin_convertvector(*reinterpret_cast<const KernelLane *>(row_j + k), V);
      U *gradient = reinterpret_cast<U *>(w.gradient + k);
      const V g = *gradient + step * (ki - kj);
      *gradient = g;
      const V candidate = g + *reinterpret_cast<const U *>(w.up_bar + k);
      const I better = candidate < least;
      least = better ? candidate : least;
      least_at = better ? at : least_at;
      at += static_cast<Scalar>(L);
    }
    F smallest = infinity;
    for (std::size_t l = 0; l < L; ++l)
      if (least[l] < smallest) {
        smallest = least[l];
        i = static_cast<std::size_t>(least_at[l]);
      }
    if (smallest == infinity || steps == max_steps)
      return steps;

    // Second order: the partner that gains most, (g_j - g_i)^2 / (K_ii + K_jj - 2 K_ij).
    row_i = w.rows[i];
    const F kii = w.diagonal[i];
    V widest = -infinity - V{}, gain = V{} - 1;
    I gain_at = first;
    at = first;
    for (std::size_t k = 0; k < n; k += L) {
      const V ki = __builtin_convertvector(*reinterpret_cast<const KernelLane *>(row_i + k), V);
      const V apart =
          (*reinterpret_cast<const U *>(w.gradient + k) - *reinterpret_cast<const U *>(w.down_bar + k)) - smallest;
      V curvature = kii + *reinterpret_cast<const U *>(w.diagonal + k) - F(2) * ki;
      curvature = curvature > curvature_floor<F>() ? curvature : V{} + curvature_floor<F>();
      const V value = apart > 0 ? apart * apart / curvature : V{} - 1;
      const I better = value > gain;
      gain = better ? value : gain;
      gain_at = better ? at : gain_at;
      widest = apart > widest ? apart : widest;
      at += static_cast<Scalar>(L);
    }
    F violation = -infinity, most = -1;
    for (std::size_t l = 0; l < L; ++l) {
      violation = std::max(violation, widest[l]);
      if (gain[l] > most) {
        most = gain[l];
        j = static_cast<std::size_t>(gain_at[l]);
      }
    }
    if (most < 0 || violation <= tolerance)
      return steps;

    const double curvature = std::max<double>(double(kii) + w.diagonal[j] - 2.0 * row_i[j], curvature_floor<F>());
    double t = (double(w.gradient[j]) - w.gradient[i]) / curvature;
    const double room_i = w.hi[i] - w.b[i], room_j = w.b[j] - w.lo[j];
    const double most_t = std::min(room_i, room_j);
    t = std::min(t, most_t);
    w.b[i] = t == room_i ? w.hi[i] : w.b[i] + t;
    w.b[j] = t == room_j ? w.lo[j] : w.b[j] - t;
    w.up_bar[i] = w.b[i] < w.hi[i] ? F(0) : infinity;
    w.up_bar[j] = F(0);
    w.down_bar[i] = F(0);
    w.down_bar[j] = w.b[j] > w.lo[j] ? F(0) : infinity;
    step = static_cast<F>(t);
  }
}

} // namespace STEELYARD_ISA
