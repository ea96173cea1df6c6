#include "bindings.hpp"
#include "scaler.hpp"

namespace steelyard {

void bind_scaler(nb::module_ &m) {
  m.def(
      "scale_rows",
      [](const Matrix<double> &X, const VectorOut<double> &count, const VectorOut<double> &mean,
         const VectorOut<double> &squares, const MatrixOut<double> &out) {
        const std::size_t n = X.shape(0), d = X.shape(1);
        if (count.shape(0) != d || mean.shape(0) != d || squares.shape(0) != d ||
            (out.is_valid() && (out.shape(0) != n || out.shape(1) != d)))
          throw nb::value_error("the arrays do not have the columns of X");
        double *to = out.is_valid() ? out.data() : nullptr;
        nb::gil_scoped_release release;
        scale_rows(Moments{count.data(), mean.data(), squares.data(), d}, X.data(), n, to);
      },
      nb::arg("X").noconvert(), nb::arg("count").noconvert(), nb::arg("mean").noconvert(),
      nb::arg("squares").noconvert(), nb::arg("out").noconvert().none());
}

} // namespace steelyard
