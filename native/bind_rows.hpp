// Rows as they cross from Python: one array if dense, three if CSR, which differ by their dtypes. One binding serves
// every kind of rows; what it calls is compiled for each.
#pragma once

#include "bindings.hpp"
#include "rows.hpp"

namespace steelyard {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class Array> const T *data_of(const Array &array) { return static_cast<const T *>(array.data()); }

// Calls back with the rows; what the callback returns has one type for all of them.
template <class Call> auto with_rows(std::size_t d, const AnyMatrix &X, Call &&call) {
  require(X.shape(1) == d, "the rows do not have as many columns as there are weights");
  if (X.dtype() == nb::dtype<double>())
    return call(DenseRows<double>{data_of<double>(X), X.shape(0), d});
  if (X.dtype() == nb::dtype<float>())
    return call(DenseRows<float>{data_of<float>(X), X.shape(0), d});
  throw nb::type_error("X must have dtype float64 or float32");
}

template <class T, class I, class Call>
auto with_csr(std::size_t d, const AnyVector &values, const AnyVector &columns, const AnyVector &starts, Call &&call) {
  return call(
      csr_rows(data_of<T>(values), data_of<I>(columns), data_of<I>(starts), starts.shape(0) - 1, d, values.shape(0)));
}

template <class Call>
auto with_rows(std::size_t d, const AnyVector &values, const AnyVector &columns, const AnyVector &starts, Call &&call) {
  using std::int32_t, std::int64_t;
  require(starts.shape(0) >= 1 && columns.shape(0) == values.shape(0),
          "values, columns and starts do not belong together");
  const bool narrow = columns.dtype() == nb::dtype<int32_t>(), wide = columns.dtype() == nb::dtype<int64_t>();
  if (columns.dtype() == starts.dtype() && (narrow || wide)) {
    if (values.dtype() == nb::dtype<double>())
      return narrow ? with_csr<double, int32_t>(d, values, columns, starts, call)
                    : with_csr<double, int64_t>(d, values, columns, starts, call);
    if (values.dtype() == nb::dtype<float>())
      return narrow ? with_csr<float, int32_t>(d, values, columns, starts, call)
                    : with_csr<float, int64_t>(d, values, columns, starts, call);
  }
  throw nb::type_error("values must be float64 or float32, columns and starts both int32 or both int64");
}

// Binds what `bind.with<Arrays...>(names...)` binds, for dense and for CSR rows.
template <class Bind> void for_dense_and_csr(Bind bind) {
  bind.template with<AnyMatrix>(nb::arg("X").noconvert());
  bind.template with<AnyVector, AnyVector, AnyVector>(nb::arg("values").noconvert(), nb::arg("columns").noconvert(),
                                                      nb::arg("starts").noconvert());
}

template <class Rows> void check_one_row(const Rows &rows) {
  require(rows.n == 1 && rows.in_range(0), "the row or one of its columns is out of range");
}
template <class Rows> void check_row(const Rows &rows, std::size_t i) {
  require(i < rows.n && rows.in_range(i), "the row or one of its columns is out of range");
}

} // namespace steelyard
