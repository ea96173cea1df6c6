// A single row by the buffer protocol, dense or sparse: several times quicker than going through an ndarray.
#pragma once

#include "bind_buffer.hpp"
#include "bindings.hpp"
#include "rows.hpp"

namespace steelyard {

// Calls back with a dense row, or answers false if x is not a plain vector of d floats.
template <class Call> bool with_dense_row(nb::handle x, std::size_t d, Call &&call) {
  const Buffer row(x);
  if (!row.is_vector() || row.size() != d)
    return false;
  if (row.holds('d'))
    call(DenseRows<double>{row.data<double>(), 1, d});
  else if (row.holds('f'))
    call(DenseRows<float>{row.data<float>(), 1, d});
  else
    return false;
  return true;
}

// Columns that rise and lie within the weights: then every column comes once, as norms need it.
template <class I> bool rising_below(const I *columns, std::size_t n, std::size_t d) {
  for (std::size_t k = 0; k + 1 < n; ++k)
    if (columns[k] >= columns[k + 1])
      return false;
  return n == 0 || (columns[0] >= 0 && static_cast<std::size_t>(columns[n - 1]) < d);
}

template <class T, class I, class Call>
bool with_sparse_numbers(const T *values, const I *columns, std::size_t n, std::size_t d, Call &&call) {
  if (!rising_below(columns, n, d))
    return false;
  const I starts[2] = {0, static_cast<I>(n)};
  call(csr_rows(values, columns, starts, 1, d, n));
  return true;
}

template <class I, class Call>
bool with_sparse_columns(const Buffer &values, const I *columns, std::size_t n, std::size_t d, Call &&call) {
  if (values.holds('d'))
    return with_sparse_numbers(values.data<double>(), columns, n, d, call);
  return values.holds('f') && with_sparse_numbers(values.data<float>(), columns, n, d, call);
}

// The same for a sparse row: its numbers, and the columns they stand in.
template <class Call> bool with_sparse_row(nb::handle values, nb::handle columns, std::size_t d, Call &&call) {
  const Buffer x(values), at(columns);
  if (!x.is_vector() || !at.is_vector() || x.size() != at.size())
    return false;
  if (at.holds('i'))
    return with_sparse_columns(x, at.data<std::int32_t>(), x.size(), d, call);
  return at.holds_int64() && with_sparse_columns(x, at.data<std::int64_t>(), x.size(), d, call);
}

// One row as a vector or as a SparseRow, a tuple of values, columns and width. False for all else, for another width,
// and where columns are out of order or range.
template <class Call> bool with_one_row(nb::handle x, std::size_t d, Call &&call) {
  if (PyTuple_Check(x.ptr())) {
    if (PyTuple_Size(x.ptr()) != 3)
      return false;
    const std::size_t width = PyLong_AsSize_t(PyTuple_GetItem(x.ptr(), 2));
    if (PyErr_Occurred())
      PyErr_Clear();
    return width == d && with_sparse_row(PyTuple_GetItem(x.ptr(), 0), PyTuple_GetItem(x.ptr(), 1), d, call);
  }
  return with_dense_row(x, d, call);
}

} // namespace steelyard
