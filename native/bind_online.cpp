#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bind_row.hpp"
#include "bindings.hpp"
#include "labels.hpp"
#include "online.hpp"

namespace steelyard {
namespace {

template <class T> const T *pointer(const Vector<T> &array, std::size_t n, const char *name) {
  if (!array.is_valid())
    return nullptr;
  if (array.shape(0) != n)
    throw nb::value_error((std::string(name) + " has the wrong length").c_str());
  return array.data();
}

template <class T> T *pointer(const VectorOut<T> &array, std::size_t n, const char *name) {
  if (!array.is_valid())
    return nullptr;
  if (array.shape(0) != n)
    throw nb::value_error((std::string(name) + " has the wrong length").c_str());
  return array.data();
}

void check_width(const Stream &stream, std::size_t d) {
  if (stream.weights.d != d)
    throw nb::value_error("the rows do not have as many columns as the stream has weights");
}

template <class T> DenseRows<T> dense(const Stream &stream, const Matrix<T> &X) {
  check_width(stream, X.shape(1));
  return {X.data(), X.shape(0), X.shape(1)};
}

template <class T, class I>
CsrRows<T, I> csr(const Stream &stream, const Vector<T> &values, const Vector<I> &columns, const Vector<I> &starts) {
  if (starts.shape(0) < 1 || columns.shape(0) != values.shape(0))
    throw nb::value_error("values, columns and starts do not belong together");
  return csr_rows(values.data(), columns.data(), starts.data(), starts.shape(0) - 1, stream.weights.d, values.shape(0));
}

template <class Rows> nb::object decide(Stream &stream, const Rows &row) {
  const double score = score_of(stream, row, 0);
  if (!std::isfinite(score))
    return nb::bool_(false);
  const bool answer = score >= stream.plan.threshold;
  const std::uint64_t t = stream.t;
  const Asked asked = stream.enter(Glance{score, answer, t}, nullptr);
  stream.reserved += asked.ask;
  return nb::make_tuple(t, score, answer, asked.chance, asked.ask);
}

void check_row(bool ok) {
  if (!ok)
    throw nb::value_error("the row or one of its columns is out of range");
}

// For rules written in Python: score, |x|^2 and |w|^2 of a row, and the step they answer.
template <class Rows> std::tuple<double, double, double> look(const Stream &stream, const Rows &rows, std::size_t i) {
  check_row(i < rows.n && rows.vet(i));
  const double one = stream.plan.constant_feature, bias = stream.weights.bias;
  return std::make_tuple(score_of(stream, rows, i), rows.square(i) + one, stream.weights.square + one * bias * bias);
}

template <class Rows> bool take_step(Stream &stream, const Rows &rows, std::size_t i, bool positive, const Step &step) {
  check_row(i < rows.n && rows.vet(i));
  const Seen seen{score_of(stream, rows, i), positive ? 1.0 : -1.0, 0.0, 0.0, 0.0};
  return take<true>(stream, rows, i, seen, rows.square(i), step) && rows.all_finite(stream.weights.v.data());
}

// The same for second-order rules: x' Sigma x, and the turn they answer.
template <class Rows> double variance(Stream &stream, const Rows &rows, std::size_t i) {
  check_row(i < rows.n && stream.spread.used() && rows.vet(i));
  return stream.spread.variance(rows, i);
}

template <class Rows> bool turn_row(Stream &stream, const Rows &rows, std::size_t i, bool positive, const Turn &turn) {
  const double seen = variance(stream, rows, i);
  return take_turn(stream, rows, i, positive, seen, turn) && all_finite(stream, rows);
}

// The binding of one kind of rows, given how to build them from the arrays of the boundary.
template <class... Arrays, class Make, class... Names>
void bind_rows(nb::class_<Stream> &cls, Make make, const Names &...names) {
  cls.def(
      "scores",
      [make](const Stream &stream, const Arrays &...arrays, const VectorOut<double> &score) {
        const auto rows = make(stream, arrays...);
        double *out = pointer(score, rows.n, "score");
        nb::gil_scoped_release release;
        return score_rows(stream, rows, out);
      },
      names..., nb::arg("score").noconvert());
  cls.def(
      "look",
      [make](const Stream &stream, const Arrays &...arrays, std::size_t i) {
        return look(stream, make(stream, arrays...), i);
      },
      names..., nb::arg("i"));
  cls.def(
      "apply",
      [make](Stream &stream, const Arrays &...arrays, std::size_t i, bool positive, double keep, double add,
             double shift) { return take_step(stream, make(stream, arrays...), i, positive, Step{keep, add, shift}); },
      names..., nb::arg("i"), nb::arg("positive"), nb::arg("keep"), nb::arg("add"), nb::arg("shift"));
  cls.def(
      "variance",
      [make](Stream &stream, const Arrays &...arrays, std::size_t i) {
        return variance(stream, make(stream, arrays...), i);
      },
      names..., nb::arg("i"));
  cls.def(
      "turn",
      [make](Stream &stream, const Arrays &...arrays, std::size_t i, bool positive, double add, double gain,
             bool after) { return turn_row(stream, make(stream, arrays...), i, positive, Turn{add, gain, after}); },
      names..., nb::arg("i"), nb::arg("positive"), nb::arg("add"), nb::arg("gain"), nb::arg("after"));
  cls.def(
      "decide_row",
      [make](Stream &stream, const Arrays &...arrays) {
        const auto rows = make(stream, arrays...);
        check_row(rows.n == 1 && rows.vet(0));
        return decide(stream, rows);
      },
      names...);
}

template <class Rule, class... Arrays, class Make, class... Names>
void bind_run(nb::class_<Rule> &cls, Make make, const Names &...names) {
  cls.def(
      "run",
      [make](const Rule &rule, Stream &stream, const Arrays &...arrays, const Vector<bool> &positive,
             const Vector<double> &cost, bool whole, const Vector<double> &draws, const VectorOut<double> &score,
             const VectorOut<double> &chance, const VectorOut<bool> &asked, const VectorOut<std::int64_t> &answer,
             std::int64_t label_neg, std::int64_t label_pos) {
        const auto rows = make(stream, arrays...);
        const Truth truth{pointer(positive, rows.n, "positive"), pointer(cost, rows.n, "cost"),
                          pointer(draws, rows.n, "draws"), whole};
        const Record record{pointer(score, rows.n, "score"),
                            pointer(chance, rows.n, "chance"),
                            pointer(asked, rows.n, "asked"),
                            pointer(answer, rows.n, "answer"),
                            {label_neg, label_pos}};
        nb::gil_scoped_release release;
        return run(rule, stream, rows, truth, record);
      },
      nb::arg("stream"), names..., nb::arg("positive").noconvert(), nb::arg("cost").noconvert().none(),
      nb::arg("whole"), nb::arg("draws").noconvert().none(), nb::arg("score").noconvert().none(),
      nb::arg("chance").noconvert().none(), nb::arg("asked").noconvert().none(), nb::arg("answer").noconvert().none(),
      nb::arg("label_neg"), nb::arg("label_pos"));
  cls.def(
      "learn_row",
      [make](const Rule &rule, Stream &stream, const Arrays &...arrays, bool positive, double cost, bool whole) {
        const auto rows = make(stream, arrays...);
        check_row(rows.n == 1 && rows.vet(0));
        return learn_later(rule, stream, rows, positive, {cost, whole});
      },
      nb::arg("stream"), names..., nb::arg("positive"), nb::arg("cost"), nb::arg("whole"));
}

// Dense in two precisions, CSR in two precisions and two index widths.
template <class Bind> void for_every_kind_of_rows(Bind bind) {
  const auto X = nb::arg("X").noconvert();
  const auto values = nb::arg("values").noconvert(), columns = nb::arg("columns").noconvert(),
             starts = nb::arg("starts").noconvert();
  bind.template with<Matrix<double>>(dense<double>, X);
  bind.template with<Matrix<float>>(dense<float>, X);
  bind.template with<Vector<double>, Vector<std::int32_t>, Vector<std::int32_t>>(csr<double, std::int32_t>, values,
                                                                                 columns, starts);
  bind.template with<Vector<double>, Vector<std::int64_t>, Vector<std::int64_t>>(csr<double, std::int64_t>, values,
                                                                                 columns, starts);
  bind.template with<Vector<float>, Vector<std::int32_t>, Vector<std::int32_t>>(csr<float, std::int32_t>, values,
                                                                                columns, starts);
  bind.template with<Vector<float>, Vector<std::int64_t>, Vector<std::int64_t>>(csr<float, std::int64_t>, values,
                                                                                columns, starts);
}

struct OnStream {
  nb::class_<Stream> &cls;
  template <class... Arrays, class Make, class... Names> void with(Make make, const Names &...names) {
    bind_rows<Arrays...>(cls, make, names...);
  }
};

template <class Rule> struct OnRule {
  nb::class_<Rule> &cls;
  template <class... Arrays, class Make, class... Names> void with(Make make, const Names &...names) {
    bind_run<Rule, Arrays...>(cls, make, names...);
  }
};

struct Parameter { // becomes whatever the field is: a number or a flag
  double value;
  operator double() const { return value; }
  operator bool() const { return value != 0; }
};

template <class Rule, std::size_t... at>
Rule rule_of([[maybe_unused]] const double *numbers, std::index_sequence<at...>) {
  return Rule{Parameter{numbers[at]}...};
}

// Methods of the rule's own class: one overloaded function over all rules costs microseconds a call.
template <class Rule> void bind_rule(nb::module_ &m) {
  nb::class_<Rule> cls(m, (std::string(Rule::name) + "Kernel").c_str());
  cls.def(
      "learn",
      [](const Rule &rule, Stream &stream, nb::handle x, bool positive, double cost, bool whole) -> nb::object {
        bool learned = false;
        if (!OneRow(x).visit(stream.weights.d, [&](const auto &row) {
              learned = learn_later(rule, stream, row, positive, {cost, whole});
            }))
          return nb::none();
        return nb::bool_(learned);
      },
      nb::arg("stream"), nb::arg("x").none(), nb::arg("positive"), nb::arg("cost"), nb::arg("whole"),
      "True: learned. False: the row is not finite or overflows. None: not a plain row of floats.");
  for_every_kind_of_rows(OnRule<Rule>{cls});
}

template <class Rule>
void make_if_named(const std::string &name, const std::vector<double> &numbers, nb::object &made) {
  if (name != Rule::name)
    return;
  if (numbers.size() != Rule::parameters)
    throw nb::value_error("wrong number of parameters");
  made = nb::cast(rule_of<Rule>(numbers.data(), std::make_index_sequence<Rule::parameters>()));
}

template <class... Rules> void bind_rules(nb::module_ &m, const std::tuple<Rules...> &) {
  (bind_rule<Rules>(m), ...);
  m.def(
      "update_kernel",
      [](const std::string &name, const std::vector<double> &numbers) {
        nb::object made;
        (make_if_named<Rules>(name, numbers, made), ...);
        if (!made.is_valid())
          throw nb::value_error("no update rule has this name");
        return made;
      },
      nb::arg("name"), nb::arg("numbers"));
}

struct Block {
  void *at;
  std::size_t bytes;
};

void bind_queries(nb::module_ &m) {
  nb::class_<AskAll>(m, "AskAllKernel").def(nb::init<>());
  nb::class_<AskRandom>(m, "AskRandomKernel").def("__init__", [](AskRandom *q, double rate) {
    new (q) AskRandom{rate};
  });
  nb::class_<AskUncertain>(m, "AskUncertainKernel").def("__init__", [](AskUncertain *q, double c) {
    new (q) AskUncertain{c};
  });
  nb::class_<AskAsymmetric>(m, "AskAsymmetricKernel").def("__init__", [](AskAsymmetric *q, double c_pos, double c_neg) {
    new (q) AskAsymmetric{c_pos, c_neg};
  });
  nb::class_<AskPredictedPositive>(m, "AskPredictedPositiveKernel")
      .def("__init__", [](AskPredictedPositive *q, std::uint64_t first) { new (q) AskPredictedPositive{first}; });
}

void bind_stream(nb::module_ &m) {
  nb::class_<Stream> cls(m, "Stream");
  cls.def(
      "__init__",
      [](Stream *self, std::size_t d, bool averaging, const Query &query, double floor, double limit, double rate,
         double threshold, std::uint64_t seed, double cost_neg, double cost_pos, double adaptive_odds,
         bool adaptive_positive, bool constant_feature) {
        new (self) Stream{{},
                          {query,
                           floor,
                           limit,
                           rate,
                           threshold,
                           seed,
                           {cost_neg, cost_pos},
                           adaptive_odds,
                           adaptive_positive,
                           constant_feature},
                          Weights(d, averaging)};
      },
      nb::kw_only(), nb::arg("n_features"), nb::arg("averaging"), nb::arg("query"), nb::arg("floor"), nb::arg("limit"),
      nb::arg("rate"), nb::arg("threshold"), nb::arg("seed"), nb::arg("cost_neg"), nb::arg("cost_pos"),
      nb::arg("adaptive_odds"), nb::arg("adaptive_positive"), nb::arg("constant_feature"));
  cls.def("__copy__", [](const Stream &stream) { return Stream(stream); });
  cls.def(
      "decide",
      [](Stream &stream, nb::handle x) -> nb::object {
        nb::object decision = nb::none();
        OneRow(x).visit(stream.weights.d, [&](const auto &row) { decision = decide(stream, row); });
        return decision;
      },
      nb::arg("x").none(),
      "(t, score, positive, chance, ask); False if not finite; None if not a plain row of floats.");
  cls.def(
      "enter",
      [](Stream &stream, double chance, const Vector<double> &draws, std::size_t i) {
        check_row(!draws.is_valid() || i < draws.shape(0));
        const Asked asked = stream.enter(chance, draws.is_valid() ? draws.data() + i : nullptr);
        return std::make_tuple(asked.chance, asked.ask);
      },
      nb::arg("chance"), nb::arg("draws").noconvert().none(), nb::arg("i"));
  cls.def(
      "cost_of",
      [](const Stream &stream, bool positive, double cost, bool whole) {
        return stream.cost_of(positive, {cost, whole});
      },
      nb::arg("positive"), nb::arg("cost"), nb::arg("whole"));
  cls.def(
      "begin_spread", [](Stream &s, bool full) { s.spread.begin(s.weights.d, s.plan.constant_feature, full); },
      nb::arg("full"), "The identity as covariance; needed before a second-order rule learns.");
  cls.def("spread", [](const Stream &s) { return copied(s.spread.sigma); }, nb::rv_policy::move);
  cls.def(
      "restore_spread",
      [](Stream &s, const Vector<double> &sigma) {
        if (sigma.shape(0) != s.spread.sigma.size())
          throw nb::value_error("the covariance does not fit this stream");
        std::copy(sigma.data(), sigma.data() + sigma.shape(0), s.spread.sigma.begin());
      },
      nb::arg("sigma").noconvert());
  cls.def("reserve", [](Stream &stream) { ++stream.reserved; });
  cls.def(
      "release", [](Stream &stream, std::uint64_t count) { stream.reserved -= std::min(count, stream.reserved); },
      nb::arg("count") = 1);
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
  cls.def_prop_ro("always_asks", [](const Stream &s) { return s.plan.always_ask() && !s.weights.averaging(); });
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
  for_every_kind_of_rows(OnStream{cls});
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
        bool *out = pointer(other, y.shape(0), "other");
        nb::gil_scoped_release release;
        return tell_apart(y.data(), y.shape(0), out);
      },
      nb::arg("y").noconvert(), nb::arg("other").noconvert(),
      "Where the first label unlike y[0] stands, 0 if nowhere, -1 if there are more than two kinds.");
  m.def("draw", &draw, nb::arg("seed"), nb::arg("t"));
  bind_queries(m);
  bind_stream(m);
  bind_rules(m, std::tuple_cat(Updates{}, SecondOrderUpdates{}));
}

} // namespace steelyard
