// Arrays in, arrays out: the solvers of CS-LDM.
#include "bindings.hpp"
#include "box_qp.hpp"
#include "linear_ldm.hpp"
#include "pair_sgd.hpp"

#include <initializer_list>
#include <stdexcept>

namespace steelyard {
namespace {

using In = Vector<double>;
using Out = VectorOut<double>;
using Order = Vector<std::int32_t>;

struct Csr {
  In values;
  Order columns;
  Vector<std::int64_t> starts;

  std::size_t count() const { return starts.size() - 1; }
  SparseRows view() const { return {values.data(), columns.data(), starts.data()}; }
};

// The Python packages validate user input; a mismatch here is a fault of the library and must not reach memory.
void same_size(std::size_t n, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes)
    if (size != n)
      throw std::invalid_argument("array sizes do not match");
}

std::size_t greedy(Matrix<double> hessian, In lower, In upper, Out x, Out gradient, double target, std::size_t limit) {
  const std::size_t n = x.size();
  same_size(n, {hessian.shape(0), hessian.shape(1), lower.size(), upper.size(), gradient.size()});
  nb::gil_scoped_release quiet;
  return greedy_box_qp(hessian.data(), {lower.data(), upper.data(), n}, x.data(), gradient.data(), target, limit);
}

double algorithm1(Matrix<double> signed_gram, Matrix<double> update, In diagonal, In lower, In upper, Out x,
                  Out alpha) {
  const std::size_t n = x.size();
  same_size(n, {signed_gram.shape(0), signed_gram.shape(1), update.shape(0), update.shape(1), diagonal.size(),
                lower.size(), upper.size(), alpha.size()});
  nb::gil_scoped_release quiet;
  return algorithm1_sweep(signed_gram.data(), update.data(), diagonal.data(), lower.data(), upper.data(), n, x.data(),
                          alpha.data());
}

void dense_pass(Matrix<double> rows, In diagonal, In lower, In upper, Order order, Out nu, Out v) {
  same_size(nu.size(), {rows.shape(0), diagonal.size(), lower.size(), upper.size()});
  same_size(v.size(), {rows.shape(1)});
  nb::gil_scoped_release quiet;
  metric_pass(rows.data(), v.size(), diagonal.data(), lower.data(), upper.data(), order.data(), order.size(), nu.data(),
              v.data());
}

void sparse_pass(const Csr &rows, In y, Matrix<double> inverse, In diagonal, In lower, In upper, Order order, Out nu,
                 Out w) {
  same_size(nu.size(), {rows.count(), y.size(), diagonal.size(), lower.size(), upper.size()});
  same_size(w.size(), {inverse.shape(0), inverse.shape(1)});
  nb::gil_scoped_release quiet;
  sparse_metric_pass(rows.view(), y.data(), inverse.data(), w.size(), diagonal.data(), lower.data(), upper.data(),
                     order.data(), order.size(), nu.data(), w.data());
}

void quadratic_forms(const Csr &rows, Matrix<double> matrix, Out out) {
  same_size(out.size(), {rows.count()});
  nb::gil_scoped_release quiet;
  sparse_quadratic_forms(rows.view(), rows.count(), matrix.data(), matrix.shape(1), out.data());
}

void gram(const Csr &rows, In weight, MatrixOut<double> out) {
  same_size(weight.size(), {rows.count()});
  nb::gil_scoped_release quiet;
  sparse_gram(rows.view(), rows.count(), weight.data(), out.shape(1), out.data());
}

double sparse_hinge(const Csr &rows, In y, In cost, In margins, double smooth, Out pull, MatrixOut<double> curvature) {
  same_size(rows.count(), {y.size(), cost.size(), margins.size()});
  same_size(pull.size(), {curvature.shape(0), curvature.shape(1)});
  nb::gil_scoped_release quiet;
  return sparse_smooth_hinge(rows.view(), rows.count(), y.data(), cost.data(), margins.data(), smooth, pull.data(),
                             curvature.data(), pull.size());
}

double dense_hinge(Matrix<double> rows, In y, In cost, In margins, double smooth, Out pull,
                   MatrixOut<double> curvature) {
  same_size(rows.shape(0), {y.size(), cost.size(), margins.size()});
  same_size(rows.shape(1), {pull.size(), curvature.shape(0), curvature.shape(1)});
  nb::gil_scoped_release quiet;
  return dense_smooth_hinge({rows.data(), rows.shape(1)}, rows.shape(0), y.data(), cost.data(), margins.data(), smooth,
                            pull.data(), curvature.data());
}

double hinge_slope(In margins, In change, In cost, double smooth, double t) {
  same_size(margins.size(), {change.size(), cost.size()});
  nb::gil_scoped_release quiet;
  return smooth_hinge_slope(margins.data(), change.data(), cost.data(), margins.size(), smooth, t);
}

double sdca(const Csr &rows, In y, In diagonal, In pull, In lower, In upper, Order order, Out nu, Out tau, Out w,
            double centre, double stiffness) {
  same_size(nu.size(), {rows.count(), y.size(), diagonal.size(), pull.size(), lower.size(), upper.size(), tau.size()});
  nb::gil_scoped_release quiet;
  Centre moving{centre, stiffness};
  sdca_pass(rows.view(), y.data(), diagonal.data(), pull.data(), lower.data(), upper.data(), order.data(), order.size(),
            nu.data(), tau.data(), w.data(), &moving);
  return moving.value;
}

struct Loss {
  In y, mean_slope, hinge_slope;
  double variance, decay;

  PairLoss view() const { return {y.data(), mean_slope.data(), hinge_slope.data(), variance, decay}; }
};

// `factors` holds scale, carried, mass between calls.
struct Average {
  Out weights, sums, factors;

  Averaged load() const { return {factors.data()[0], factors.data()[1], factors.data()[2]}; }
  void store(const Averaged &s) const {
    factors.data()[0] = s.scale;
    factors.data()[1] = s.carried;
    factors.data()[2] = s.mass;
  }
};

void dense_steps(Matrix<double> rows, const Loss &loss, Order i_of, Order j_of, double eta0, std::int64_t first,
                 std::int64_t from, const Average &average) {
  same_size(rows.shape(0), {loss.y.size(), loss.mean_slope.size(), loss.hinge_slope.size()});
  same_size(rows.shape(1), {average.weights.size(), average.sums.size()});
  same_size(i_of.size(), {j_of.size()});
  nb::gil_scoped_release quiet;
  Averaged state = average.load();
  dense_pair_steps({rows.data(), rows.shape(1)}, loss.view(), i_of.data(), j_of.data(), i_of.size(), eta0, first, from,
                   average.weights.data(), average.sums.data(), &state);
  average.store(state);
}

void sparse_steps(const Csr &rows, const Loss &loss, Order i_of, Order j_of, double eta0, std::int64_t first,
                  std::int64_t from, const Average &average) {
  same_size(rows.count(), {loss.y.size(), loss.mean_slope.size(), loss.hinge_slope.size()});
  same_size(average.weights.size(), {average.sums.size()});
  same_size(i_of.size(), {j_of.size()});
  nb::gil_scoped_release quiet;
  Averaged state = average.load();
  sparse_pair_steps(rows.view(), average.weights.size(), loss.view(), i_of.data(), j_of.data(), i_of.size(), eta0,
                    first, from, average.weights.data(), average.sums.data(), &state);
  average.store(state);
}

} // namespace

void bind_ldm(nb::module_ &m) {
  using namespace nb::literals;
  m.def("ldm_greedy", greedy, "hessian"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "x"_a.noconvert(),
        "gradient"_a.noconvert(), "target"_a, "limit"_a);
  m.def("ldm_algorithm1_sweep", algorithm1, "signed_gram"_a.noconvert(), "update"_a.noconvert(),
        "diagonal"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "x"_a.noconvert(),
        "alpha"_a.noconvert());
  m.def("ldm_metric_pass", dense_pass, "rows"_a.noconvert(), "diagonal"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "order"_a.noconvert(), "nu"_a.noconvert(), "v"_a.noconvert());
  nb::class_<Csr>(m, "LdmCsr")
      .def(
          "__init__",
          [](Csr *self, In values, Order columns, Vector<std::int64_t> starts) {
            same_size(values.size(), {columns.size()});
            if (starts.size() == 0 || static_cast<std::size_t>(starts.data()[starts.size() - 1]) != values.size())
              throw std::invalid_argument("array sizes do not match");
            new (self) Csr{values, columns, starts};
          },
          "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert())
      .def("metric_pass", sparse_pass, "y"_a.noconvert(), "inverse"_a.noconvert(), "diagonal"_a.noconvert(),
           "lower"_a.noconvert(), "upper"_a.noconvert(), "order"_a.noconvert(), "nu"_a.noconvert(), "w"_a.noconvert())
      .def("quadratic_forms", quadratic_forms, "matrix"_a.noconvert(), "out"_a.noconvert())
      .def("gram", gram, "weight"_a.noconvert(), "out"_a.noconvert())
      .def("smooth_hinge", sparse_hinge, "y"_a.noconvert(), "cost"_a.noconvert(), "margins"_a.noconvert(), "smooth"_a,
           "pull"_a.noconvert(), "curvature"_a.noconvert())
      .def("sdca_pass", sdca, "y"_a.noconvert(), "diagonal"_a.noconvert(), "pull"_a.noconvert(), "lower"_a.noconvert(),
           "upper"_a.noconvert(), "order"_a.noconvert(), "nu"_a.noconvert(), "tau"_a.noconvert(), "w"_a.noconvert(),
           "centre"_a, "stiffness"_a)
      .def("pair_steps", sparse_steps, "loss"_a, "i_of"_a.noconvert(), "j_of"_a.noconvert(), "eta0"_a, "first"_a,
           "average_from"_a, "average"_a);
  nb::class_<Loss>(m, "LdmPairLoss")
      .def(
          "__init__",
          [](Loss *self, In y, In mean_slope, In hinge_slope, double variance, double decay) {
            new (self) Loss{y, mean_slope, hinge_slope, variance, decay};
          },
          "y"_a.noconvert(), "mean_slope"_a.noconvert(), "hinge_slope"_a.noconvert(), "variance"_a, "decay"_a);
  nb::class_<Average>(m, "LdmAverage")
      .def(
          "__init__",
          [](Average *self, Out weights, Out sums, Out factors) {
            same_size(3, {factors.size()});
            new (self) Average{weights, sums, factors};
          },
          "weights"_a.noconvert(), "sums"_a.noconvert(), "factors"_a.noconvert());
  m.def("ldm_smooth_hinge", dense_hinge, "rows"_a.noconvert(), "y"_a.noconvert(), "cost"_a.noconvert(),
        "margins"_a.noconvert(), "smooth"_a, "pull"_a.noconvert(), "curvature"_a.noconvert());
  m.def("ldm_smooth_hinge_slope", hinge_slope, "margins"_a.noconvert(), "change"_a.noconvert(), "cost"_a.noconvert(),
        "smooth"_a, "t"_a);
  m.def("ldm_pair_steps", dense_steps, "rows"_a.noconvert(), "loss"_a, "i_of"_a.noconvert(), "j_of"_a.noconvert(),
        "eta0"_a, "first"_a, "average_from"_a, "average"_a);
}

} // namespace steelyard
