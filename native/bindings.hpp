// What every bind_*.cpp shares: the array types of the boundary, and one registration function per room.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace nb = nanobind;

namespace steelyard {

// Inputs are const so that read-only arrays work. Bind every array argument with .noconvert(): a silent copy of an
// output array would lose the learning without an error.
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using VectorOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using MatrixOut = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Python validates user input; a mismatch here is a fault of the caller and must not reach memory.
inline void require(bool holds, const char *message) {
  if (!holds)
    throw nb::value_error(message);
}

// The numbers of an array that may be left out; otherwise it has length n.
template <class Array> auto *optional_data(const Array &array, std::size_t n, const char *message) {
  require(!array.is_valid() || array.shape(0) == n, message);
  return array.is_valid() ? array.data() : nullptr;
}

// CSR arrays by which a kernel may index: starts that rise within the values, columns in [0, width).
template <class I, class S>
void require_csr(const I *columns, std::size_t stored, const S *starts, std::size_t n_starts, std::size_t width) {
  require(n_starts > 0 && starts[0] >= 0 && static_cast<std::uint64_t>(starts[n_starts - 1]) <= stored,
          "CSR arrays do not fit each other");
  require(std::is_sorted(starts, starts + n_starts), "the starts of CSR rows must rise");
  require(
      std::all_of(columns, columns + stored, [&](I at) { return at >= 0 && static_cast<std::uint64_t>(at) < width; }),
      "a column is out of range");
}

// Positions by which a kernel may index.
template <class Array> void require_positions(const Array &at, std::size_t n) {
  require(std::all_of(at.data(), at.data() + at.shape(0),
                      [&](auto i) { return i >= 0 && static_cast<std::size_t>(i) < n; }),
          "a position is out of range");
}

// A vector that Python owns.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> copied(const T *from, std::size_t n) {
  T *to = new T[n];
  std::copy(from, from + n, to);
  nb::capsule owner(to, [](void *p) noexcept { delete[] static_cast<T *>(p); });
  return {to, {n}, owner};
}

template <class Container> auto copied(const Container &from) { return copied(from.data(), from.size()); }

// Registration functions, one per bind_*.cpp; module.cpp calls each.
void bind_boost(nb::module_ &m);
void bind_data(nb::module_ &m);
void bind_forest(nb::module_ &m);
void bind_hashing(nb::module_ &m);
void bind_ldm(nb::module_ &m);
void bind_multiclass(nb::module_ &m);
void bind_online(nb::module_ &m);
void bind_scaler(nb::module_ &m);
void bind_svm(nb::module_ &m);
void bind_tree(nb::module_ &m);
void bind_updates(nb::module_ &m);

} // namespace steelyard
