#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "bind_row.hpp"
#include "bindings.hpp"
#include "multiclass.hpp"

namespace steelyard {
namespace {

void check(bool ok, const char *what) {
  if (!ok)
    throw nb::value_error(what);
}

constexpr const char *no_such_row = "the row or one of its columns is out of range";
constexpr const char *not_as_many = "the columns do not have as many rows as X";

template <class T> DenseRows<T> dense(std::size_t d, const Matrix<T> &X) {
  check(X.shape(1) == d, "the rows do not have as many columns as the weights");
  return {X.data(), X.shape(0), d};
}

template <class T, class I>
CsrRows<T, I> csr(std::size_t d, const Vector<T> &values, const Vector<I> &columns, const Vector<I> &starts) {
  check(starts.shape(0) >= 1 && columns.shape(0) == values.shape(0), "values, columns and starts do not fit");
  return csr_rows(values.data(), columns.data(), starts.data(), starts.shape(0) - 1, d, values.shape(0));
}

template <std::size_t at = 0> Stride stride_of(const std::string &name, const std::vector<double> &numbers) {
  if constexpr (at < std::variant_size_v<Stride>) {
    using Rule = std::variant_alternative_t<at, Stride>;
    if (name != Rule::name)
      return stride_of<at + 1>(name, numbers);
    check(numbers.size() == Rule::parameters, "wrong number of parameters");
    if constexpr (Rule::parameters == 0)
      return Rule{};
    else
      return Rule{numbers[0]};
  } else {
    throw nb::value_error("no rule for many classes has this name");
  }
}

std::size_t label_of(const CostStream &costs, std::int64_t label) {
  check(label >= 0 && static_cast<std::size_t>(label) < costs.plan.classes, "a label is out of range");
  return static_cast<std::size_t>(label);
}

const double *row_of(const CostStream &costs, const Vector<double> &given) {
  check(!given.is_valid() || given.shape(0) == costs.plan.classes, "the costs are not those of every class");
  return given.is_valid() ? given.data() : nullptr;
}

CostRows truth_of(const CostStream &costs, std::size_t n, const Vector<std::int64_t> &label,
                  const Matrix<double> &given, const Vector<double> &weight, const Vector<double> &draws) {
  check(label.shape(0) == n && (!draws.is_valid() || draws.shape(0) == n) &&
            (!weight.is_valid() || weight.shape(0) == n) &&
            (!given.is_valid() || (given.shape(0) == n && given.shape(1) == costs.plan.classes)),
        not_as_many);
  std::for_each(label.data(), label.data() + n, [&](std::int64_t one) { label_of(costs, one); });
  return {label.data(), given.is_valid() ? given.data() : nullptr, weight.is_valid() ? weight.data() : nullptr,
          draws.is_valid() ? draws.data() : nullptr};
}

template <class Rows> nb::object decide(CostStream &costs, const Rows &row) {
  if (!predict_costs(costs, row, 0, costs.estimate.data()))
    return nb::bool_(false);
  const Answer found = cheapest_answer(costs.estimate.data(), costs.plan.classes);
  const std::uint64_t t = costs.stream.t;
  const Asked asked = costs.enter(costs.glance_at(found), nullptr);
  costs.stream.reserved += asked.ask;
  return nb::make_tuple(t, found.gap, found.best, asked.chance, asked.ask);
}

// The steps that a rule written in Python answers, one a class, towards the target on either side.
template <class Rows>
bool take_steps(CostStream &costs, const Rows &rows, std::size_t i, std::size_t label, const double *steps) {
  bool changed = false;
  for (std::size_t k = 0; k < costs.plan.classes; ++k) {
    if (!std::isfinite(steps[k]))
      return false;
    if (steps[k] == 0.0)
      continue;
    costs.move(rows, i, k, steps[k]);
    changed = true;
  }
  costs.settle(label, changed);
  return finite_costs(costs, rows);
}

// The binding of one kind of rows, given how to build them from the arrays of the boundary.
template <class... Arrays, class Make, class... Names>
void bind_rows(nb::class_<CostStream> &cls, Make make, const Names &...names) {
  cls.def(
      "run",
      [make](CostStream &costs, const Arrays &...arrays, const Vector<std::int64_t> &label, const Matrix<double> &given,
             const Vector<double> &weight, const Vector<double> &draws, const VectorOut<double> &gap,
             const VectorOut<std::int64_t> &answer, const VectorOut<double> &chance, const VectorOut<bool> &asked) {
        const auto rows = make(costs.plan.d, arrays...);
        const CostRows truth = truth_of(costs, rows.n, label, given, weight, draws);
        check(gap.shape(0) == rows.n && answer.shape(0) == rows.n && chance.is_valid() == asked.is_valid() &&
                  (!chance.is_valid() || (chance.shape(0) == rows.n && asked.shape(0) == rows.n)),
              not_as_many);
        const CostRecord record{gap.data(), answer.data(), chance.is_valid() ? chance.data() : nullptr,
                                asked.is_valid() ? asked.data() : nullptr};
        nb::gil_scoped_release release;
        return run_costs(costs, rows, truth, record);
      },
      names..., nb::arg("label").noconvert(), nb::arg("costs").noconvert().none(), nb::arg("weight").noconvert().none(),
      nb::arg("draws").noconvert().none(), nb::arg("gap").noconvert(), nb::arg("answer").noconvert(),
      nb::arg("chance").noconvert().none(), nb::arg("asked").noconvert().none());
  cls.def(
      "decide_row",
      [make](CostStream &costs, const Arrays &...arrays) {
        const auto rows = make(costs.plan.d, arrays...);
        check(rows.n == 1 && rows.vet(0), no_such_row);
        return decide(costs, rows);
      },
      names...);
  cls.def(
      "learn_row",
      [make](CostStream &costs, const Arrays &...arrays, std::int64_t label, const Vector<double> &given,
             double weight) {
        const auto rows = make(costs.plan.d, arrays...);
        check(rows.n == 1 && rows.vet(0), no_such_row);
        return learn_costs_later(costs, rows, label_of(costs, label), row_of(costs, given), weight);
      },
      names..., nb::arg("label"), nb::arg("costs").noconvert().none(), nb::arg("weight"));
  cls.def(
      "look",
      [make](const CostStream &costs, const Arrays &...arrays, std::size_t i, const VectorOut<double> &estimate) {
        const auto rows = make(costs.plan.d, arrays...);
        check(i < rows.n && rows.vet(i), no_such_row);
        check(estimate.shape(0) == costs.plan.classes, "the estimates are not those of every class");
        return std::make_tuple(predict_costs(costs, rows, i, estimate.data()), square_of(costs, rows, i));
      },
      names..., nb::arg("i"), nb::arg("estimate").noconvert(), "Whether the estimates are finite, and |x|^2.");
  cls.def(
      "apply",
      [make](CostStream &costs, const Arrays &...arrays, std::size_t i, std::int64_t label,
             const Vector<double> &steps) {
        const auto rows = make(costs.plan.d, arrays...);
        check(i < rows.n && rows.vet(i), no_such_row);
        check(steps.shape(0) == costs.plan.classes, "the steps are not those of every class");
        return take_steps(costs, rows, i, label_of(costs, label), steps.data());
      },
      names..., nb::arg("i"), nb::arg("label"), nb::arg("steps").noconvert());
  cls.def(
      "estimates",
      [make](const CostStream &costs, const Arrays &...arrays, const MatrixOut<double> &out) {
        const auto rows = make(costs.plan.d, arrays...);
        check(out.shape(0) == rows.n && out.shape(1) == costs.plan.classes, "the table does not fit");
        nb::gil_scoped_release release;
        return cost_table(costs, rows, out.data());
      },
      names..., nb::arg("out").noconvert());
}

template <class T> void put(std::vector<T> &to, const Vector<T> &from) {
  to.assign(from.data(), from.data() + from.shape(0));
}

void bind_state(nb::class_<CostStream> &cls) {
  cls.def_prop_ro("t", [](const CostStream &s) { return s.stream.t; });
  cls.def_prop_ro("spent", [](const CostStream &s) { return s.stream.spent; });
  cls.def_prop_ro("reserved", [](const CostStream &s) { return s.stream.reserved; });
  cls.def_prop_ro("updates", [](const CostStream &s) { return s.stream.updates; });
  cls.def_prop_ro("always_asks", [](const CostStream &s) { return s.stream.plan.always_ask(); });
  cls.def_prop_ro("seen", [](const CostStream &s) { return s.seen; });
  cls.def_prop_ro("weights", [](const CostStream &s) { return copied(s.w); }, nb::rv_policy::move);
  cls.def_prop_ro("biases", [](const CostStream &s) { return copied(s.bias); }, nb::rv_policy::move);
  cls.def(
      "arrays",
      [](const CostStream &s) {
        return std::make_tuple(
            copied(s.w), copied(s.bias), copied(s.u), copied(s.bias_sum), copied(s.seen),
            std::array<std::uint64_t, 4>{s.stream.t, s.stream.spent, s.stream.reserved, s.stream.updates});
      },
      "weights, biases, sums of both, labels by class and counts: everything that changes along the stream.");
  cls.def(
      "restore",
      [](CostStream &s, const Vector<double> &w, const Vector<double> &bias, const Vector<double> &u,
         const Vector<double> &bias_sum, const Vector<std::uint64_t> &seen,
         const std::array<std::uint64_t, 4> &counts) {
        const std::size_t K = s.plan.classes, sums = bias_sum.shape(0); // no sums once the average has been taken
        check(w.shape(0) == K * s.plan.d && bias.shape(0) == K && seen.shape(0) == K && u.shape(0) == sums * s.plan.d &&
                  (sums == 0 || (sums == K && s.averaging())),
              "the arrays do not fit this stream");
        put(s.w, w), put(s.bias, bias), put(s.u, u), put(s.bias_sum, bias_sum), put(s.seen, seen);
        static_cast<Counts &>(s.stream) = {counts[0], counts[1], counts[2], counts[3], 0};
      },
      nb::arg("weights").noconvert(), nb::arg("biases").noconvert(), nb::arg("sums").noconvert(),
      nb::arg("bias_sums").noconvert(), nb::arg("seen").noconvert(), nb::arg("counts"));
}

void bind_one_row(nb::class_<CostStream> &cls) {
  cls.def(
      "decide",
      [](CostStream &costs, nb::handle x) -> nb::object {
        nb::object decision = nb::none();
        OneRow(x).visit(costs.plan.d, [&](const auto &row) { decision = decide(costs, row); });
        return decision;
      },
      nb::arg("x").none(), "(t, gap, answer, chance, ask); False if not finite; None if not a plain row of floats.");
  cls.def(
      "learn",
      [](CostStream &costs, nb::handle x, std::int64_t label, const Vector<double> &given,
         double weight) -> nb::object {
        bool learned = false;
        const std::size_t truth = label_of(costs, label);
        const double *row_costs = row_of(costs, given);
        if (!OneRow(x).visit(costs.plan.d, [&](const auto &row) {
              learned = learn_costs_later(costs, row, truth, row_costs, weight);
            }))
          return nb::none();
        return nb::bool_(learned);
      },
      nb::arg("x").none(), nb::arg("label"), nb::arg("costs").noconvert().none(), nb::arg("weight"),
      "True: learned. False: the row is not finite or overflows. None: not a plain row of floats.");
  cls.def(
      "enter",
      [](CostStream &costs, double chance, const Vector<double> &draws, std::size_t i) {
        check(!draws.is_valid() || i < draws.shape(0), no_such_row);
        const Asked asked = costs.enter(chance, draws.is_valid() ? draws.data() + i : nullptr);
        return std::make_tuple(asked.chance, asked.ask);
      },
      nb::arg("chance"), nb::arg("draws").noconvert().none(), nb::arg("i"));
  cls.def("reserve", [](CostStream &costs) { ++costs.stream.reserved; });
  cls.def(
      "release",
      [](CostStream &costs, std::uint64_t count) { costs.stream.reserved -= std::min(count, costs.stream.reserved); },
      nb::arg("count") = 1);
}

} // namespace

void bind_multiclass(nb::module_ &m) {
  nb::class_<CostStream> cls(m, "CostStream");
  cls.def(
      "__init__",
      [](CostStream *self, const Stream &stream, std::size_t d, const std::string &rule,
         const std::vector<double> &numbers, const Matrix<double> &costs, std::size_t negative, bool constant,
         bool averaging, double odds, std::size_t positive) {
        const std::size_t K = costs.shape(0);
        check(K >= 2 && costs.shape(1) == K && negative < K && positive < K, "the costs are not those of K classes");
        const std::vector<double> matrix(costs.data(), costs.data() + K * K);
        new (self)
            CostStream(stream, {K, d, stride_of(rule, numbers), matrix, negative, constant, odds, positive}, averaging);
      },
      nb::kw_only(), nb::arg("stream"), nb::arg("n_features"), nb::arg("rule"), nb::arg("numbers"),
      nb::arg("costs").noconvert(), nb::arg("negative"), nb::arg("constant"), nb::arg("averaging"), nb::arg("odds"),
      nb::arg("positive"));
  cls.def("__copy__", [](const CostStream &costs) { return CostStream(costs); });
  bind_state(cls);
  bind_one_row(cls);
  const auto X = nb::arg("X").noconvert();
  const auto values = nb::arg("values").noconvert(), columns = nb::arg("columns").noconvert(),
             starts = nb::arg("starts").noconvert();
  using std::int32_t, std::int64_t;
  bind_rows<Matrix<double>>(cls, dense<double>, X);
  bind_rows<Matrix<float>>(cls, dense<float>, X);
  bind_rows<Vector<double>, Vector<int32_t>, Vector<int32_t>>(cls, csr<double, int32_t>, values, columns, starts);
  bind_rows<Vector<double>, Vector<int64_t>, Vector<int64_t>>(cls, csr<double, int64_t>, values, columns, starts);
  bind_rows<Vector<float>, Vector<int32_t>, Vector<int32_t>>(cls, csr<float, int32_t>, values, columns, starts);
  bind_rows<Vector<float>, Vector<int64_t>, Vector<int64_t>>(cls, csr<float, int64_t>, values, columns, starts);
}

} // namespace steelyard
