// The stream of two classes: its state, single rows, and what rules written in Python need.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bind_row.hpp"
#include "bind_rows.hpp"
#include "bindings.hpp"
#include "labels.hpp"
#include "online.hpp"

namespace steelyard {
namespace {

// A class of its own: nanobind would take a bare variant apart at every call.
struct BoundQuery {
  Query rule;
};

template <class Rows> nb::object decide(Stream &stream, const Rows &row) {
  const double score = score_of(stream, row, 0);
  if (!std::isfinite(score))
    return nb::bool_(false);
  const bool prediction = score >= stream.config.threshold;
  const std::uint64_t t = stream.t;
  const QueryDecision decision = stream.enter(QueryInput{score, prediction, t}, nullptr);
  stream.reserved += decision.query;
  return nb::make_tuple(t, score, prediction, decision.probability, decision.query);
}

// For rules written in Python: score, |x|^2 and |w|^2 of a row, and the step they return.
template <class Rows> std::tuple<double, double, double> look(const Stream &stream, const Rows &rows, std::size_t i) {
  check_row(rows, i);
  const double one = stream.config.fit_intercept, bias = stream.weights.bias;
  return std::make_tuple(score_of(stream, rows, i), rows.square(i) + one, stream.weights.square + one * bias * bias);
}

template <class Rows> bool apply(Stream &stream, const Rows &rows, std::size_t i, bool positive, const Step &step) {
  check_row(rows, i);
  const UpdateInput input{score_of(stream, rows, i), positive ? 1.0 : -1.0, 0.0, 0.0, 0.0};
  return take_step(stream, rows, i, input, rows.square(i), true, step) && rows.all_finite(stream.weights.v.data());
}

// The same for second-order rules: x' Sigma x, and the step they return.
template <class Rows> double variance(Stream &stream, const Rows &rows, std::size_t i) {
  check_row(rows, i);
  require(stream.covariance.used(), "the stream has no covariance");
  return stream.covariance.variance(rows, i);
}

template <class Rows>
bool apply_second_order(Stream &stream, const Rows &rows, std::size_t i, bool positive, const SecondOrderStep &step) {
  const double before = variance(stream, rows, i);
  return take_second_order_step(stream, rows, i, positive, before, step) && all_finite(stream, rows);
}

struct OnStream {
  nb::class_<Stream> &cls;
  template <class... Arrays, class... Names> void with(const Names &...names) {
    cls.def(
        "scores",
        [](const Stream &stream, const Arrays &...arrays, const VectorOut<double> &score) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) {
            require(score.shape(0) == rows.n, "score does not have as many entries as there are rows");
            nb::gil_scoped_release release;
            return score_rows(stream, rows, score.data());
          });
        },
        names..., nb::arg("score").noconvert());
    cls.def(
        "look",
        [](const Stream &stream, const Arrays &...arrays, std::size_t i) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) { return look(stream, rows, i); });
        },
        names..., nb::arg("i"), "Score, |x|^2 and |w|^2.");
    cls.def(
        "apply",
        [](Stream &stream, const Arrays &...arrays, std::size_t i, bool positive, double keep, double add,
           double shift) {
          return with_rows(stream.weights.d, arrays...,
                           [&](const auto &rows) { return apply(stream, rows, i, positive, Step{keep, add, shift}); });
        },
        names..., nb::arg("i"), nb::arg("positive"), nb::arg("keep"), nb::arg("add"), nb::arg("shift"));
    cls.def(
        "variance",
        [](Stream &stream, const Arrays &...arrays, std::size_t i) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) { return variance(stream, rows, i); });
        },
        names..., nb::arg("i"));
    cls.def(
        "second_order_step",
        [](Stream &stream, const Arrays &...arrays, std::size_t i, bool positive, double add, double gain, bool after) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) {
            return apply_second_order(stream, rows, i, positive, {add, gain, after});
          });
        },
        names..., nb::arg("i"), nb::arg("positive"), nb::arg("add"), nb::arg("gain"), nb::arg("after"));
    cls.def(
        "decide_rows",
        [](Stream &stream, const Arrays &...arrays, const VectorOut<double> &score,
           const VectorOut<double> &probability, const VectorOut<bool> &query) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) {
            require(score.shape(0) == rows.n && probability.shape(0) == rows.n && query.shape(0) == rows.n,
                    "the columns do not have as many entries as there are rows");
            nb::gil_scoped_release release;
            return decide_rows(stream, rows, score.data(), probability.data(), query.data());
          });
        },
        names..., nb::arg("score").noconvert(), nb::arg("probability").noconvert(), nb::arg("query").noconvert(),
        "-1, or the first row that cannot be used, with nothing changed.");
    cls.def(
        "decide_row",
        [](Stream &stream, const Arrays &...arrays) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) {
            check_one_row(rows);
            return decide(stream, rows);
          });
        },
        names...);
  }
};

struct Block {
  void *at;
  std::size_t bytes;
};

void bind_queries(nb::module_ &m) {
  nb::class_<BoundQuery>(m, "QueryKernel");
  m.def(
      "query_kernel",
      [](const std::string &name, const std::vector<double> &numbers) -> std::optional<BoundQuery> {
        BoundQuery query;
        if (find_rule(name, numbers, query.rule))
          return query;
        return std::nullopt;
      },
      nb::arg("name"), nb::arg("numbers"), "The rule of this name in native/queries.hpp, if any.");
}

void bind_stream(nb::module_ &m) {
  nb::class_<Stream> cls(m, "Stream");
  cls.def(
      "__init__",
      [](Stream *self, std::size_t d, bool averaging, const BoundQuery &query, double floor, double limit, double rate,
         double threshold, std::uint64_t seed, double cost_neg, double cost_pos, double adaptive_odds,
         bool adaptive_positive, bool fit_intercept) {
        new (self) Stream{{},
                          {query.rule,
                           floor,
                           limit,
                           rate,
                           threshold,
                           seed,
                           {cost_neg, cost_pos},
                           adaptive_odds,
                           adaptive_positive,
                           fit_intercept},
                          Weights(d, averaging)};
      },
      nb::kw_only(), nb::arg("n_features"), nb::arg("averaging"), nb::arg("query"), nb::arg("floor"), nb::arg("limit"),
      nb::arg("rate"), nb::arg("threshold"), nb::arg("seed"), nb::arg("cost_neg"), nb::arg("cost_pos"),
      nb::arg("adaptive_odds"), nb::arg("adaptive_positive"), nb::arg("fit_intercept"));
  cls.def("__copy__", [](const Stream &stream) { return Stream(stream); });
  cls.def(
      "decide",
      [](Stream &stream, nb::handle x) -> nb::object {
        nb::object decision = nb::none();
        with_one_row(x, stream.weights.d, [&](const auto &row) { decision = decide(stream, row); });
        return decision;
      },
      nb::arg("x").none(),
      "(t, score, positive, query probability, query); False if not finite; None if not a plain or sparse row of "
      "floats.");
  cls.def(
      "enter",
      [](Stream &stream, double probability, const Vector<double> &draws, std::size_t i) {
        require(!draws.is_valid() || i < draws.shape(0), "draws has no such entry");
        const QueryDecision decision = stream.enter(probability, draws.is_valid() ? draws.data() + i : nullptr);
        return std::make_tuple(decision.probability, decision.query);
      },
      nb::arg("probability"), nb::arg("draws").noconvert().none(), nb::arg("i"));
  cls.def(
      "cost_of",
      [](const Stream &stream, bool positive, double cost, bool absolute) {
        return stream.cost_of(positive, {cost, absolute});
      },
      nb::arg("positive"), nb::arg("cost"), nb::arg("absolute"));
  cls.def(
      "begin_covariance", [](Stream &s, bool full) { s.covariance.begin(s.weights.d, s.config.fit_intercept, full); },
      nb::arg("full"), "The identity as covariance; needed before a second-order rule learns.");
  cls.def("covariance", [](const Stream &s) { return copied(s.covariance.sigma); }, nb::rv_policy::move);
  cls.def(
      "restore_covariance",
      [](Stream &s, const Vector<double> &sigma) {
        if (sigma.shape(0) != s.covariance.sigma.size())
          throw nb::value_error("the covariance does not fit this stream");
        std::copy(sigma.data(), sigma.data() + sigma.shape(0), s.covariance.sigma.begin());
      },
      nb::arg("sigma").noconvert());
  cls.def("reserve", [](Stream &stream) { ++stream.reserved; });
  cls.def(
      "cancel_query", [](Stream &stream, std::uint64_t count) { stream.reserved -= std::min(count, stream.reserved); },
      nb::arg("count") = 1);
  cls.def("pass_rounds", &Stream::pass_rounds, nb::arg("until"), "Count rounds that were decided elsewhere.");
  cls.def(
      "set_labels",
      [](Stream &s, std::uint64_t spent, std::uint64_t reserved) { s.spent = spent, s.reserved = reserved; },
      nb::arg("spent"), nb::arg("reserved"));
  cls.def_prop_ro("n_features", [](const Stream &s) { return s.weights.d; });
  cls.def_prop_ro(
      "coef",
      [](const Stream &s) {
        auto w = copied(s.weights.v.data(), s.weights.d);
        for (std::size_t j = 0; j < s.weights.d; ++j)
          w.data()[j] *= s.weights.scale;
        return w;
      },
      nb::rv_policy::move);
  cls.def_prop_ro("intercept", [](const Stream &s) { return s.weights.bias; });
  cls.def_ro("t", &Stream::t).def_ro("spent", &Stream::spent).def_ro("reserved", &Stream::reserved);
  cls.def_ro("updates", &Stream::updates);
  cls.def_prop_ro("queries_all", [](const Stream &s) { return s.config.queries_all() && !s.weights.averaging(); });
  cls.def(
      "arrays",
      [](const Stream &s) {
        const double factors[] = {s.weights.scale, s.weights.bias, s.weights.square, s.weights.age, s.weights.bias_sum};
        return std::make_tuple(copied(s.weights.v.data(), s.weights.d),
                               copied(s.weights.u.data(), s.weights.averaging() ? s.weights.d : 0), copied(factors, 5),
                               std::array<std::uint64_t, 5>{s.t, s.spent, s.reserved, s.updates, s.positives});
      },
      "weights, sums of the average, factors and counts: everything that changes along the stream.");
  cls.def(
      "restore",
      [](Stream &s, const Vector<double> &v, const Vector<double> &u, const Vector<double> &factors,
         const std::array<std::uint64_t, 5> &counts) {
        const std::size_t d = s.weights.d;
        if (v.shape(0) != d || (u.shape(0) != d && u.shape(0) != 0) || factors.shape(0) != 5)
          throw nb::value_error("the arrays do not fit this stream");
        s.weights.v.assign(v.data(), v.data() + d);
        s.weights.u.assign(u.data(), u.data() + u.shape(0));
        s.weights.given = true;
        static_cast<Factors &>(s.weights) = {factors.data()[0], factors.data()[1], factors.data()[2], factors.data()[3],
                                             factors.data()[4]};
        static_cast<Counts &>(s) = {counts[0], counts[1], counts[2], counts[3], counts[4]};
      },
      nb::arg("weights").noconvert(), nb::arg("sums").noconvert(), nb::arg("factors").noconvert(), nb::arg("counts"));
  for_dense_and_csr(OnStream{cls});
}

} // namespace

void bind_online(nb::module_ &m) {
  m.def(
      "large_block",
      [](std::size_t bytes) {
        void *at = allocate_bytes(bytes);
        nb::capsule owner(new Block{at, bytes}, [](void *p) noexcept {
          const auto *block = static_cast<const Block *>(p);
          free_bytes(block->at, block->bytes);
          delete block;
        });
        return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(at, {bytes}, owner);
      },
      nb::arg("bytes"), nb::rv_policy::reference, "Bytes for output columns, on large pages where there are enough.");
  m.def(
      "tell_apart",
      [](const Vector<std::int64_t> &y, const VectorOut<bool> &other) {
        require(other.shape(0) == y.shape(0), "other does not have as many entries as y");
        nb::gil_scoped_release release;
        return tell_apart(y.data(), y.shape(0), other.data());
      },
      nb::arg("y").noconvert(), nb::arg("other").noconvert(),
      "Where the first label unlike y[0] stands, 0 if nowhere, -1 if there are more than two kinds.");
  m.def("draw", &draw, nb::arg("seed"), nb::arg("t"));
  bind_queries(m);
  bind_stream(m);
}

} // namespace steelyard
