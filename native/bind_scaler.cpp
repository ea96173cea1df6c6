#include "bind_buffer.hpp"
#include "bindings.hpp"
#include "scaler.hpp"

namespace steelyard {
namespace {

template <class T> bool none_infinite(const T *x, std::size_t n) {
  return std::none_of(x, x + n, [](T cell) { return std::isinf(cell); });
}

// The sums of a scaler as vectors of d doubles, and one more to write to.
struct RowPlaces {
  Buffer count, mean, squares, out;
  bool scale(const Buffer &x, bool unit_norm) const {
    const std::size_t d = x.size();
    const Moments moments{count.doubles(d), mean.doubles(d), squares.doubles(d), d};
    double *to = out.doubles(d);
    if (!moments.count || !moments.mean || !moments.squares || !to)
      return false;
    if (x.holds('d') && none_infinite(x.data<double>(), d))
      scale_row(moments, x.data<double>(), to);
    else if (x.holds('f') && none_infinite(x.data<float>(), d))
      scale_row(moments, x.data<float>(), to);
    else
      return false;
    if (unit_norm)
      shorten_row(to, d);
    return true;
  }
};

} // namespace

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
  m.def(
      "scale_row",
      [](nb::handle x, nb::handle count, nb::handle mean, nb::handle squares, nb::handle out, bool unit_norm) {
        const Buffer row(x);
        return row.is_vector() &&
               RowPlaces{Buffer(count), Buffer(mean), Buffer(squares), Buffer(out)}.scale(row, unit_norm);
      },
      nb::arg("x").none(), nb::arg("count"), nb::arg("mean"), nb::arg("squares"), nb::arg("out"), nb::arg("unit_norm"),
      "False, with nothing changed, unless x is a vector of floats without infinities and the others are as long.");
  m.def(
      "shorten_rows",
      [](const MatrixOut<double> &X) {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < X.shape(0); ++i)
          shorten_row(X.data() + i * X.shape(1), X.shape(1));
      },
      nb::arg("X").noconvert(), "Divides every row by its length.");
}

} // namespace steelyard
