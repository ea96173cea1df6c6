#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "multiclass.hpp"

namespace steelyard {
namespace {

using WeightsOut = MatrixOut<double>;
using BiasOut = VectorOut<double>;

void check(bool ok, const char *what) {
  if (!ok)
    throw nb::value_error(what);
}

CostWeights weights_of(const WeightsOut &w, const BiasOut &bias, bool constant) {
  check(w.shape(0) >= 2 && bias.shape(0) == w.shape(0), "weights and biases do not belong together");
  return {w.data(), bias.data(), w.shape(0), w.shape(1), constant};
}

template <class T> DenseRows<T> dense(std::size_t d, const Matrix<T> &X) {
  check(X.shape(1) == d, "the rows do not have as many columns as the weights");
  return {X.data(), X.shape(0), d};
}

template <class T, class I>
CsrRows<T, I> csr(std::size_t d, const Vector<T> &values, const Vector<I> &columns, const Vector<I> &starts) {
  check(starts.shape(0) >= 1 && columns.shape(0) == values.shape(0), "values, columns and starts do not fit");
  return csr_rows(values.data(), columns.data(), starts.data(), starts.shape(0) - 1, d, values.shape(0));
}

template <class... Arrays, class Make, class... Names>
void bind_rows(nb::module_ &m, Make make, const Names &...names) {
  m.def(
      "run_costs",
      [make](const WeightsOut &w, const BiasOut &bias, const Arrays &...arrays, const Matrix<double> &target,
             const Matrix<bool> &cheapest, double eta, bool constant, const VectorOut<double> &gap,
             const VectorOut<std::int64_t> &answer) {
        const CostWeights weights = weights_of(w, bias, constant);
        const auto rows = make(weights.d, arrays...);
        check(target.shape(0) == rows.n && cheapest.shape(0) == rows.n && target.shape(1) == weights.classes &&
                  cheapest.shape(1) == weights.classes && gap.shape(0) == rows.n && answer.shape(0) == rows.n,
              "the columns do not have as many rows as X");
        std::vector<double> cost(weights.classes);
        std::uint64_t updates = 0;
        std::int64_t end = 0;
        {
          nb::gil_scoped_release release;
          end = run_costs(weights, rows, CostRows{target.data(), cheapest.data()}, eta, cost.data(), gap.data(),
                          answer.data(), updates);
        }
        return std::make_tuple(end, updates);
      },
      nb::arg("weights").noconvert(), nb::arg("bias").noconvert(), names..., nb::arg("target").noconvert(),
      nb::arg("cheapest").noconvert(), nb::arg("eta"), nb::arg("constant"), nb::arg("gap").noconvert(),
      nb::arg("answer").noconvert());
  m.def(
      "cost_table",
      [make](const Matrix<double> &w, const Vector<double> &bias, const Arrays &...arrays,
             const MatrixOut<double> &cost) {
        check(w.shape(0) >= 2 && bias.shape(0) == w.shape(0), "weights and biases do not belong together");
        // Predicting writes nothing to the weights; the struct is shared with learning.
        const CostWeights weights{const_cast<double *>(w.data()), const_cast<double *>(bias.data()), w.shape(0),
                                  w.shape(1), false};
        const auto rows = make(weights.d, arrays...);
        check(cost.shape(0) == rows.n && cost.shape(1) == weights.classes, "the table does not fit");
        nb::gil_scoped_release release;
        return cost_table(weights, rows, cost.data());
      },
      nb::arg("weights").noconvert(), nb::arg("bias").noconvert(), names..., nb::arg("cost").noconvert());
}

} // namespace

void bind_multiclass(nb::module_ &m) {
  const auto X = nb::arg("X").noconvert();
  const auto values = nb::arg("values").noconvert(), columns = nb::arg("columns").noconvert(),
             starts = nb::arg("starts").noconvert();
  using std::int32_t, std::int64_t;
  bind_rows<Matrix<double>>(m, dense<double>, X);
  bind_rows<Matrix<float>>(m, dense<float>, X);
  bind_rows<Vector<double>, Vector<int32_t>, Vector<int32_t>>(m, csr<double, int32_t>, values, columns, starts);
  bind_rows<Vector<double>, Vector<int64_t>, Vector<int64_t>>(m, csr<double, int64_t>, values, columns, starts);
  bind_rows<Vector<float>, Vector<int32_t>, Vector<int32_t>>(m, csr<float, int32_t>, values, columns, starts);
  bind_rows<Vector<float>, Vector<int64_t>, Vector<int64_t>>(m, csr<float, int64_t>, values, columns, starts);
}

} // namespace steelyard
