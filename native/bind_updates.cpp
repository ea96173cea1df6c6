// Update rules by name and numbers, and the loop over rows with each.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bind_row.hpp"
#include "bind_rows.hpp"
#include "bindings.hpp"
#include "online.hpp"

namespace steelyard {
namespace {

// A class of its own: nanobind would take a bare variant apart at every call.
struct BoundKernel {
  UpdateKernel rule;
};

struct OnKernel {
  nb::class_<BoundKernel> &cls;
  template <class... Arrays, class... Names> void with(const Names &...names) {
    cls.def(
        "run",
        [](const BoundKernel &kernel, Stream &stream, const Arrays &...arrays, const Vector<bool> &positive,
           const Vector<double> &cost, bool absolute, const Vector<double> &draws, const VectorOut<double> &score,
           const VectorOut<double> &probability, const VectorOut<bool> &queried,
           const VectorOut<std::int64_t> &prediction, std::int64_t label_neg, std::int64_t label_pos) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) {
            const char *const message = "a column does not have as many entries as there are rows";
            require(probability.is_valid() == queried.is_valid(), "probability and queried belong together");
            const Truth truth{optional_data(positive, rows.n, message), optional_data(cost, rows.n, message),
                              optional_data(draws, rows.n, message), absolute};
            const StreamColumns columns{optional_data(score, rows.n, message),
                                        optional_data(probability, rows.n, message),
                                        optional_data(queried, rows.n, message),
                                        optional_data(prediction, rows.n, message),
                                        {label_neg, label_pos}};
            nb::gil_scoped_release release;
            return run(kernel.rule, stream, rows, truth, columns);
          });
        },
        nb::arg("stream"), names..., nb::arg("positive").noconvert(), nb::arg("cost").noconvert().none(),
        nb::arg("absolute"), nb::arg("draws").noconvert().none(), nb::arg("score").noconvert().none(),
        nb::arg("query_probability").noconvert().none(), nb::arg("queried").noconvert().none(),
        nb::arg("prediction").noconvert().none(), nb::arg("label_neg"), nb::arg("label_pos"),
        "-1: finished. Otherwise nothing has changed: the first row that cannot be used, or -2 for an overflow.");
    cls.def(
        "learn_row",
        [](const BoundKernel &kernel, Stream &stream, const Arrays &...arrays, bool positive, double cost,
           bool absolute) {
          return with_rows(stream.weights.d, arrays..., [&](const auto &rows) {
            check_one_row(rows);
            return learn_delayed(kernel.rule, stream, rows, positive, {cost, absolute});
          });
        },
        nb::arg("stream"), names..., nb::arg("positive"), nb::arg("cost"), nb::arg("absolute"));
  }
};

} // namespace

void bind_updates(nb::module_ &m) {
  nb::class_<BoundKernel> cls(m, "UpdateKernel");
  cls.def(
      "learn",
      [](const BoundKernel &kernel, Stream &stream, nb::handle x, bool positive, double cost,
         bool absolute) -> nb::object {
        bool learned = false;
        if (!with_one_row(x, stream.weights.d, [&](const auto &row) {
              learned = learn_delayed(kernel.rule, stream, row, positive, {cost, absolute});
            }))
          return nb::none();
        return nb::bool_(learned);
      },
      nb::arg("stream"), nb::arg("x").none(), nb::arg("positive"), nb::arg("cost"), nb::arg("absolute"),
      "True: learned. False: the row is not finite or overflows. None: not a plain or sparse row of floats.");
  for_dense_and_csr(OnKernel{cls});
  m.def(
      "update_kernel",
      [](const std::string &name, const std::vector<double> &numbers) -> std::optional<BoundKernel> {
        if (const std::optional<UpdateKernel> found = update_kernel(name, numbers))
          return BoundKernel{*found};
        return std::nullopt;
      },
      nb::arg("name"), nb::arg("numbers"), "The rule of this name in native/updates.hpp or second_order.hpp, if any.");
}

} // namespace steelyard
