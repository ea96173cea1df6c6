// Arrays in, arrays out: the solvers of CS-LDM.
#include "bindings.hpp"
#include "box_qp.hpp"
#include "linear_ldm.hpp"
#include "pair_sgd.hpp"

#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <vector>

namespace steelyard {
namespace {

using In = Vector<double>;
using Out = VectorOut<double>;
using Order = Vector<std::int32_t>;

struct Csr {
  In values;
  Order columns;
  Vector<std::int64_t> starts;
  std::optional<Order> chosen;
  std::size_t width; // columns named at most

  std::size_t count() const { return chosen ? chosen->size() : starts.size() - 1; }
  SparseRows view() const { return {values.data(), columns.data(), starts.data(), chosen ? chosen->data() : nullptr}; }
};

// The Python packages validate user input; a mismatch here is a fault of the library and must not reach memory.
void same_size(std::size_t n, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes)
    if (size != n)
      throw std::invalid_argument("array sizes do not match");
}

constexpr const char *too_wide = "the rows name columns that the other arrays do not have";

void require_permutation(const Order &place) {
  require_positions(place, place.size());
  std::vector<bool> taken(place.size(), false);
  for (std::size_t i = 0; i < place.size(); ++i) {
    require(!taken[place(i)], "a place is given twice");
    taken[place(i)] = true;
  }
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
  require_positions(order, nu.size());
  nb::gil_scoped_release quiet;
  metric_pass(rows.data(), v.size(), diagonal.data(), lower.data(), upper.data(), order.data(), order.size(), nu.data(),
              v.data());
}

void sparse_pass(const Csr &rows, In y, Matrix<double> inverse, In diagonal, In lower, In upper, Order order, Out nu,
                 Out w) {
  same_size(nu.size(), {rows.count(), y.size(), diagonal.size(), lower.size(), upper.size()});
  same_size(w.size(), {inverse.shape(0), inverse.shape(1)});
  require(rows.width <= w.size(), too_wide);
  require_positions(order, nu.size());
  nb::gil_scoped_release quiet;
  sparse_metric_pass(rows.view(), y.data(), inverse.data(), w.size(), diagonal.data(), lower.data(), upper.data(),
                     order.data(), order.size(), nu.data(), w.data());
}

Csr part_of(const Csr &rows, Order chosen) {
  for (std::size_t k = 0; k < chosen.size(); ++k)
    if (rows.chosen || chosen.data()[k] < 0 || static_cast<std::size_t>(chosen.data()[k]) >= rows.count())
      throw std::invalid_argument("no such row");
  return {rows.values, rows.columns, rows.starts, chosen, rows.width};
}

void margins_of(const Csr &rows, In y, In w, Out out) {
  same_size(rows.count(), {y.size(), out.size()});
  require(rows.width <= w.size(), too_wide);
  nb::gil_scoped_release quiet;
  sparse_margins(rows.view(), rows.count(), y.data(), w.data(), out.data());
}

template <class Index>
void with_ones(In values, Vector<Index> columns, Vector<Index> starts, Index feature, Out out_values,
               VectorOut<Index> out_columns) {
  require_csr(columns.data(), columns.size(), starts.data(), starts.size(), SIZE_MAX);
  same_size(values.size(), {columns.size(), static_cast<std::size_t>(starts.data()[starts.size() - 1])});
  require(starts.data()[0] == 0, "the first row must begin at 0");
  same_size(values.size() + starts.size() - 1, {out_values.size(), out_columns.size()});
  nb::gil_scoped_release quiet;
  append_ones(values.data(), columns.data(), starts.data(), starts.size() - 1, feature, out_values.data(),
              out_columns.data());
}

template <class Index> void bind_with_ones(nb::module_ &m) {
  using namespace nb::literals;
  m.def("ldm_append_ones", with_ones<Index>, "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(),
        "feature"_a, "out_values"_a.noconvert(), "out_columns"_a.noconvert());
}

void quadratic_forms(const Csr &rows, Matrix<double> matrix, Out out) {
  same_size(out.size(), {rows.count()});
  require(rows.width <= matrix.shape(0) && rows.width <= matrix.shape(1), too_wide);
  nb::gil_scoped_release quiet;
  sparse_quadratic_forms(rows.view(), rows.count(), matrix.data(), matrix.shape(1), out.data());
}

void gram(const Csr &rows, In weight, MatrixOut<double> out) {
  same_size(weight.size(), {rows.count()});
  require(rows.width <= out.shape(0) && rows.width <= out.shape(1), too_wide);
  nb::gil_scoped_release quiet;
  sparse_gram(rows.view(), rows.count(), weight.data(), out.shape(1), out.data());
}

double sparse_hinge(const Csr &rows, In y, In cost, In margins, double smooth, Out pull, MatrixOut<double> curvature) {
  same_size(rows.count(), {y.size(), cost.size(), margins.size()});
  same_size(pull.size(), {curvature.shape(0), curvature.shape(1)});
  require(rows.width <= pull.size(), too_wide);
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

nb::tuple sums_of_hinge(In margins, In cost, double smooth) {
  same_size(margins.size(), {cost.size()});
  HingeSums sums;
  {
    nb::gil_scoped_release quiet;
    sums = hinge_sums(margins.data(), cost.data(), margins.size(), smooth);
  }
  return nb::make_tuple(sums.hinge, sums.bent);
}

double sdca(const Csr &rows, In y, In diagonal, In pull, In lower, In upper, Order order, Out nu, Out tau, Out w,
            double centre, double stiffness) {
  same_size(nu.size(), {rows.count(), y.size(), diagonal.size(), pull.size(), lower.size(), upper.size(), tau.size()});
  require(rows.width <= w.size(), too_wide);
  require_positions(order, nu.size());
  nb::gil_scoped_release quiet;
  Centre moving{centre, stiffness};
  sdca_pass(rows.view(), y.data(), diagonal.data(), pull.data(), lower.data(), upper.data(), order.data(), order.size(),
            nu.data(), tau.data(), w.data(), &moving);
  return moving.value;
}

// Rows packed for pair steps, each at its place, with the costs theta of their margins in the same order.
struct Pairs {
  PairRows rows;
  std::vector<double> theta;
  std::size_t width;

  Pairs(const GivenRows &given, const double *theta_of)
      : rows(pair_rows(given)), theta(given.count), width(given.width()) {
    for (std::size_t i = 0; i < given.count; ++i)
      theta[given.place_of(i)] = theta_of[i];
  }
};

void pack_dense(Pairs *self, Matrix<double> rows, In sign, In theta, Order place, bool constant) {
  same_size(rows.shape(0), {sign.size(), theta.size(), place.size()});
  require_permutation(place);
  nb::gil_scoped_release quiet;
  new (self) Pairs({rows.data(), nullptr, nullptr, rows.shape(0), rows.shape(1), constant, sign.data(), place.data()},
                   theta.data());
}

void pack_sparse(Pairs *self, const Csr &rows, std::size_t features, In sign, In theta, Order place, bool constant) {
  same_size(rows.starts.size() - 1, {sign.size(), theta.size(), place.size()});
  require(rows.width <= features && features < INT32_MAX, too_wide);
  require_permutation(place);
  nb::gil_scoped_release quiet;
  new (self) Pairs({rows.values.data(), rows.columns.data(), rows.starts.data(), sign.size(), features, constant,
                    sign.data(), place.data()},
                   theta.data());
}

void pair_run(const Pairs &self, std::array<double, 4> loss, Order i_of, Order j_of, double eta0, std::int64_t first,
              std::int64_t from, Out w, Out sums) {
  same_size(self.width, {w.size(), sums.size()});
  same_size(i_of.size(), {j_of.size()});
  require_positions(i_of, self.theta.size());
  require_positions(j_of, self.theta.size());
  nb::gil_scoped_release quiet;
  run_steps(self.rows, {self.theta.data(), loss[0], loss[1], loss[2], loss[3]},
            {i_of.data(), j_of.data(), i_of.size(), eta0, first, from}, w.data(), sums.data());
}

void pair_costs(const Pairs &self, Out out) {
  if (out.size() > self.theta.size())
    throw std::invalid_argument("array sizes do not match");
  std::copy_n(self.theta.begin(), out.size(), out.data());
}

void shuffled(In uniform, VectorOut<std::int32_t> out) {
  same_size(uniform.size(), {out.size()});
  require(std::all_of(uniform.data(), uniform.data() + uniform.size(), [](double u) { return u >= 0 && u < 1; }),
          "uniform numbers must lie in [0, 1)");
  nb::gil_scoped_release quiet;
  shuffle(uniform.data(), uniform.size(), out.data());
}

void pair_margins_of(const Pairs &self, In w, Out out) {
  same_size(self.width, {w.size()});
  if (out.size() > self.theta.size())
    throw std::invalid_argument("array sizes do not match");
  nb::gil_scoped_release quiet;
  pair_margins(self.rows, w.data(), out.size(), out.data());
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
            require_csr(columns.data(), columns.size(), starts.data(), starts.size(), INT32_MAX);
            same_size(values.size(), {static_cast<std::size_t>(starts.data()[starts.size() - 1])});
            const std::int32_t *end = columns.data() + columns.size();
            const std::size_t width = end == columns.data() ? 0 : 1 + *std::max_element(columns.data(), end);
            new (self) Csr{values, columns, starts, std::nullopt, width};
          },
          "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert())
      .def("metric_pass", sparse_pass, "y"_a.noconvert(), "inverse"_a.noconvert(), "diagonal"_a.noconvert(),
           "lower"_a.noconvert(), "upper"_a.noconvert(), "order"_a.noconvert(), "nu"_a.noconvert(), "w"_a.noconvert())
      .def("part", part_of, "chosen"_a.noconvert())
      .def("margins", margins_of, "y"_a.noconvert(), "w"_a.noconvert(), "out"_a.noconvert())
      .def("quadratic_forms", quadratic_forms, "matrix"_a.noconvert(), "out"_a.noconvert())
      .def("gram", gram, "weight"_a.noconvert(), "out"_a.noconvert())
      .def("smooth_hinge", sparse_hinge, "y"_a.noconvert(), "cost"_a.noconvert(), "margins"_a.noconvert(), "smooth"_a,
           "pull"_a.noconvert(), "curvature"_a.noconvert())
      .def("sdca_pass", sdca, "y"_a.noconvert(), "diagonal"_a.noconvert(), "pull"_a.noconvert(), "lower"_a.noconvert(),
           "upper"_a.noconvert(), "order"_a.noconvert(), "nu"_a.noconvert(), "tau"_a.noconvert(), "w"_a.noconvert(),
           "centre"_a, "stiffness"_a);
  nb::class_<Pairs>(m, "LdmPairs")
      .def("__init__", pack_dense, "rows"_a.noconvert(), "sign"_a.noconvert(), "theta"_a.noconvert(),
           "place"_a.noconvert(), "constant"_a)
      .def("__init__", pack_sparse, "rows"_a, "features"_a, "sign"_a.noconvert(), "theta"_a.noconvert(),
           "place"_a.noconvert(), "constant"_a)
      .def("run", pair_run, "loss"_a, "i_of"_a.noconvert(), "j_of"_a.noconvert(), "eta0"_a, "first"_a, "average_from"_a,
           "w"_a.noconvert(), "sums"_a.noconvert())
      .def("costs", pair_costs, "out"_a.noconvert())
      .def("margins", pair_margins_of, "w"_a.noconvert(), "out"_a.noconvert());
  bind_with_ones<std::int32_t>(m);
  bind_with_ones<std::int64_t>(m);
  m.def("ldm_shuffle", shuffled, "uniform"_a.noconvert(), "out"_a.noconvert());
  m.def("ldm_smooth_hinge", dense_hinge, "rows"_a.noconvert(), "y"_a.noconvert(), "cost"_a.noconvert(),
        "margins"_a.noconvert(), "smooth"_a, "pull"_a.noconvert(), "curvature"_a.noconvert());
  m.def("ldm_smooth_hinge_slope", hinge_slope, "margins"_a.noconvert(), "change"_a.noconvert(), "cost"_a.noconvert(),
        "smooth"_a, "t"_a);
  m.def("ldm_hinge_sums", sums_of_hinge, "margins"_a.noconvert(), "cost"_a.noconvert(), "smooth"_a,
        nb::sig("def ldm_hinge_sums(margins: numpy.typing.NDArray[numpy.float64], "
                "cost: numpy.typing.NDArray[numpy.float64], smooth: float) -> tuple[float, float]"));
}

} // namespace steelyard
