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

CostRows truth_of(const CostWeights &weights, std::size_t n, const Matrix<double> &target, const Matrix<bool> &cheapest,
                  const Vector<double> &draws) {
  check(target.shape(0) == n && cheapest.shape(0) == n && target.shape(1) == weights.classes &&
            cheapest.shape(1) == weights.classes && (!draws.is_valid() || draws.shape(0) == n),
        "the columns do not have as many rows as X");
  return {target.data(), cheapest.data(), draws.is_valid() ? draws.data() : nullptr};
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
      [make](const WeightsOut &w, const BiasOut &bias, Stream &stream, const Arrays &...arrays,
             const Matrix<double> &target, const Matrix<bool> &cheapest, double eta, bool constant,
             std::size_t negative, const Vector<double> &draws, const VectorOut<double> &gap,
             const VectorOut<std::int64_t> &answer, const VectorOut<double> &chance, const VectorOut<bool> &asked) {
        const CostWeights weights = weights_of(w, bias, constant);
        const auto rows = make(weights.d, arrays...);
        const CostRows truth = truth_of(weights, rows.n, target, cheapest, draws);
        check(gap.shape(0) == rows.n && answer.shape(0) == rows.n && chance.is_valid() == asked.is_valid() &&
                  (!chance.is_valid() || (chance.shape(0) == rows.n && asked.shape(0) == rows.n)),
              "the columns do not have as many rows as X");
        const CostRecord record{gap.data(), answer.data(), chance.is_valid() ? chance.data() : nullptr,
                                asked.is_valid() ? asked.data() : nullptr};
        std::vector<double> cost(weights.classes);
        nb::gil_scoped_release release;
        return run_costs(weights, stream, rows, truth, {eta, negative}, cost.data(), record);
      },
      nb::arg("weights").noconvert(), nb::arg("bias").noconvert(), nb::arg("stream"), names...,
      nb::arg("target").noconvert(), nb::arg("cheapest").noconvert(), nb::arg("eta"), nb::arg("constant"),
      nb::arg("negative"), nb::arg("draws").noconvert().none(), nb::arg("gap").noconvert(),
      nb::arg("answer").noconvert(), nb::arg("chance").noconvert().none(), nb::arg("asked").noconvert().none());
  m.def(
      "learn_costs",
      [make](const WeightsOut &w, const BiasOut &bias, Stream &stream, const Arrays &...arrays,
             const Matrix<double> &target, const Matrix<bool> &cheapest, double eta, bool constant) {
        const CostWeights weights = weights_of(w, bias, constant);
        const auto rows = make(weights.d, arrays...);
        const CostRows truth = truth_of(weights, rows.n, target, cheapest, {});
        std::vector<double> cost(weights.classes);
        nb::gil_scoped_release release;
        return learn_costs_later(weights, stream, rows, truth, eta, cost.data());
      },
      nb::arg("weights").noconvert(), nb::arg("bias").noconvert(), nb::arg("stream"), names...,
      nb::arg("target").noconvert(), nb::arg("cheapest").noconvert(), nb::arg("eta"), nb::arg("constant"));
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
