#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bind_row.hpp"
#include "bind_rows.hpp"
#include "bindings.hpp"
#include "multiclass.hpp"

namespace steelyard {
namespace {

// A class of its own: nanobind would take a bare variant apart at every call.
struct BoundClassRule {
  ClassRule rule;
};

constexpr const char *not_as_many = "the columns do not have as many rows as X";

std::size_t label_of(const CostStream &costs, std::int64_t label) {
  require(label >= 0 && static_cast<std::size_t>(label) < costs.config.classes, "a label is out of range");
  return static_cast<std::size_t>(label);
}

const double *row_of(const CostStream &costs, const Vector<double> &given) {
  require(!given.is_valid() || given.shape(0) == costs.config.classes, "the costs are not those of every class");
  return given.is_valid() ? given.data() : nullptr;
}

CostRows truth_of(const CostStream &costs, std::size_t n, const Vector<std::int64_t> &label,
                  const Matrix<double> &given, const Vector<double> &weight, const Vector<double> &draws) {
  require(label.shape(0) == n && (!draws.is_valid() || draws.shape(0) == n) &&
              (!weight.is_valid() || weight.shape(0) == n) &&
              (!given.is_valid() || (given.shape(0) == n && given.shape(1) == costs.config.classes)),
          not_as_many);
  std::for_each(label.data(), label.data() + n, [&](std::int64_t one) { label_of(costs, one); });
  return {label.data(), given.is_valid() ? given.data() : nullptr, weight.is_valid() ? weight.data() : nullptr,
          draws.is_valid() ? draws.data() : nullptr};
}

template <class Rows> nb::object decide(CostStream &costs, const Rows &row) {
  if (!predict_costs(costs, row, 0, costs.estimate.data()))
    return nb::bool_(false);
  const CheapestClass found = cheapest_class(costs.estimate.data(), costs.config.classes);
  const std::uint64_t t = costs.stream.t;
  const QueryDecision decision = costs.enter(costs.query_input(found), nullptr);
  costs.stream.reserved += decision.query;
  return nb::make_tuple(t, found.gap, found.best, decision.probability, decision.query);
}

// The steps that a rule written in Python answers, one a class, towards the target on either side.
template <class Rows>
bool take_steps(CostStream &costs, const Rows &rows, std::size_t i, std::size_t label, const double *steps) {
  bool changed = false;
  for (std::size_t k = 0; k < costs.config.classes; ++k) {
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

struct OnCostStream {
  nb::class_<CostStream> &cls;
  template <class... Arrays, class... Names> void with(const Names &...names) {
    cls.def(
        "run",
        [](CostStream &costs, const Arrays &...arrays, const Vector<std::int64_t> &label, const Matrix<double> &given,
           const Vector<double> &weight, const Vector<double> &draws, const VectorOut<double> &gap,
           const VectorOut<std::int64_t> &prediction, const VectorOut<double> &probability,
           const VectorOut<bool> &queried) {
          return with_rows(costs.config.d, arrays..., [&](const auto &rows) {
            const CostRows truth = truth_of(costs, rows.n, label, given, weight, draws);
            require(gap.shape(0) == rows.n && prediction.shape(0) == rows.n &&
                        probability.is_valid() == queried.is_valid(),
                    not_as_many);
            const CostColumns columns{gap.data(), prediction.data(), optional_data(probability, rows.n, not_as_many),
                                      optional_data(queried, rows.n, not_as_many)};
            nb::gil_scoped_release release;
            return run_costs(costs, rows, truth, columns);
          });
        },
        names..., nb::arg("label").noconvert(), nb::arg("costs").noconvert().none(),
        nb::arg("weight").noconvert().none(), nb::arg("draws").noconvert().none(), nb::arg("gap").noconvert(),
        nb::arg("prediction").noconvert(), nb::arg("query_probability").noconvert().none(),
        nb::arg("queried").noconvert().none());
    cls.def(
        "decide_row",
        [](CostStream &costs, const Arrays &...arrays) {
          return with_rows(costs.config.d, arrays..., [&](const auto &rows) {
            check_one_row(rows);
            return decide(costs, rows);
          });
        },
        names...);
    cls.def(
        "learn_row",
        [](CostStream &costs, const Arrays &...arrays, std::int64_t label, const Vector<double> &given, double weight) {
          return with_rows(costs.config.d, arrays..., [&](const auto &rows) {
            check_one_row(rows);
            return learn_costs_delayed(costs, rows, label_of(costs, label), row_of(costs, given), weight);
          });
        },
        names..., nb::arg("label"), nb::arg("costs").noconvert().none(), nb::arg("weight"));
    cls.def(
        "look",
        [](const CostStream &costs, const Arrays &...arrays, std::size_t i, const VectorOut<double> &estimate) {
          return with_rows(costs.config.d, arrays..., [&](const auto &rows) {
            check_row(rows, i);
            require(estimate.shape(0) == costs.config.classes, "the estimates are not those of every class");
            return std::make_tuple(predict_costs(costs, rows, i, estimate.data()), square_of(costs, rows, i));
          });
        },
        names..., nb::arg("i"), nb::arg("estimate").noconvert(), "Whether the estimates are finite, and |x|^2.");
    cls.def(
        "apply",
        [](CostStream &costs, const Arrays &...arrays, std::size_t i, std::int64_t label, const Vector<double> &steps) {
          return with_rows(costs.config.d, arrays..., [&](const auto &rows) {
            check_row(rows, i);
            require(steps.shape(0) == costs.config.classes, "the steps are not those of every class");
            return take_steps(costs, rows, i, label_of(costs, label), steps.data());
          });
        },
        names..., nb::arg("i"), nb::arg("label"), nb::arg("steps").noconvert());
    cls.def(
        "estimates",
        [](const CostStream &costs, const Arrays &...arrays, const MatrixOut<double> &out) {
          return with_rows(costs.config.d, arrays..., [&](const auto &rows) {
            require(out.shape(0) == rows.n && out.shape(1) == costs.config.classes, "the table does not fit");
            nb::gil_scoped_release release;
            return cost_table(costs, rows, out.data());
          });
        },
        names..., nb::arg("out").noconvert());
  }
};

template <class T> void put(std::vector<T> &to, const Vector<T> &from) {
  to.assign(from.data(), from.data() + from.shape(0));
}

void bind_state(nb::class_<CostStream> &cls) {
  cls.def_prop_ro("t", [](const CostStream &s) { return s.stream.t; });
  cls.def_prop_ro("spent", [](const CostStream &s) { return s.stream.spent; });
  cls.def_prop_ro("reserved", [](const CostStream &s) { return s.stream.reserved; });
  cls.def_prop_ro("updates", [](const CostStream &s) { return s.stream.updates; });
  cls.def_prop_ro("queries_all", [](const CostStream &s) { return s.stream.config.queries_all(); });
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
        const std::size_t K = s.config.classes, sums = bias_sum.shape(0); // no sums once the average has been taken
        require(w.shape(0) == K * s.config.d && bias.shape(0) == K && seen.shape(0) == K &&
                    u.shape(0) == sums * s.config.d && (sums == 0 || (sums == K && s.averaging())),
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
        with_one_row(x, costs.config.d, [&](const auto &row) { decision = decide(costs, row); });
        return decision;
      },
      nb::arg("x").none(),
      "(t, gap, class, query probability, query); False if not finite; None if not a plain or sparse row of floats.");
  cls.def(
      "learn",
      [](CostStream &costs, nb::handle x, std::int64_t label, const Vector<double> &given,
         double weight) -> nb::object {
        bool learned = false;
        const std::size_t truth = label_of(costs, label);
        const double *row_costs = row_of(costs, given);
        if (!with_one_row(x, costs.config.d, [&](const auto &row) {
              learned = learn_costs_delayed(costs, row, truth, row_costs, weight);
            }))
          return nb::none();
        return nb::bool_(learned);
      },
      nb::arg("x").none(), nb::arg("label"), nb::arg("costs").noconvert().none(), nb::arg("weight"),
      "True: learned. False: the row is not finite or overflows. None: not a plain or sparse row of floats.");
  cls.def(
      "enter",
      [](CostStream &costs, double probability, const Vector<double> &draws, std::size_t i) {
        require(!draws.is_valid() || i < draws.shape(0), "draws has no such entry");
        const QueryDecision decision = costs.enter(probability, draws.is_valid() ? draws.data() + i : nullptr);
        return std::make_tuple(decision.probability, decision.query);
      },
      nb::arg("probability"), nb::arg("draws").noconvert().none(), nb::arg("i"));
  cls.def("pass_rounds", &CostStream::pass_rounds, nb::arg("until"), "Count rounds that were decided elsewhere.");
  cls.def(
      "set_labels",
      [](CostStream &costs, std::uint64_t spent, std::uint64_t reserved) {
        costs.stream.spent = spent, costs.stream.reserved = reserved;
      },
      nb::arg("spent"), nb::arg("reserved"));
  cls.def("reserve", [](CostStream &costs) { ++costs.stream.reserved; });
  cls.def(
      "cancel_query",
      [](CostStream &costs, std::uint64_t count) { costs.stream.reserved -= std::min(count, costs.stream.reserved); },
      nb::arg("count") = 1);
}

} // namespace

void bind_multiclass(nb::module_ &m) {
  nb::class_<BoundClassRule>(m, "ClassKernel");
  m.def(
      "class_kernel",
      [](const std::string &name, const std::vector<double> &numbers) -> std::optional<BoundClassRule> {
        BoundClassRule found;
        if (find_rule(name, numbers, found.rule))
          return found;
        return std::nullopt;
      },
      nb::arg("name"), nb::arg("numbers"), "The class_step of the rule of this name in native/updates.hpp, if any.");
  nb::class_<CostStream> cls(m, "CostStream");
  cls.def(
      "__init__",
      [](CostStream *self, const Stream &stream, std::size_t d, const BoundClassRule *rule, const Matrix<double> &costs,
         std::size_t negative, bool fit_intercept, bool averaging, double odds, std::size_t positive) {
        const std::size_t K = costs.shape(0);
        require(K >= 2 && costs.shape(1) == K && negative < K && positive < K, "the costs are not those of K classes");
        require(d <= SIZE_MAX / sizeof(double) / K, "there are too many weights");
        const std::vector<double> matrix(costs.data(), costs.data() + K * K);
        new (self)
            CostStream(stream, {K, d, rule ? rule->rule : ClassRule{}, matrix, negative, fit_intercept, odds, positive},
                       averaging);
      },
      nb::kw_only(), nb::arg("stream"), nb::arg("n_features"), nb::arg("rule").none(), nb::arg("costs").noconvert(),
      nb::arg("negative"), nb::arg("fit_intercept"), nb::arg("averaging"), nb::arg("odds"), nb::arg("positive"));
  cls.def("__copy__", [](const CostStream &costs) { return CostStream(costs); });
  bind_state(cls);
  bind_one_row(cls);
  for_dense_and_csr(OnCostStream{cls});
}

} // namespace steelyard
