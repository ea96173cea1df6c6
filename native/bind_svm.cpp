#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bindings.hpp"
#include "gram.hpp"
#include "smo.hpp"

namespace steelyard {
namespace {

template <class T> DenseView<T> view(const Matrix<T> &X) { return {X.data(), X.shape(0), X.shape(1)}; }

template <class T>
CsrView<T> view(const Vector<T> &values, const Vector<std::int32_t> &indices, const Vector<std::int64_t> &starts,
                std::size_t features) {
  require(indices.shape(0) == values.shape(0), "CSR arrays do not fit each other");
  require_csr(indices.data(), indices.shape(0), starts.data(), starts.shape(0), features);
  return {values.data(), indices.data(), starts.data(), starts.shape(0) - 1, features};
}

template <class T, class Out> void bind_gram(nb::module_ &m) {
  m.def(
      "gram_dense",
      [](const Kernel &kernel, Matrix<T> X, Matrix<T> Z, MatrixOut<Out> out) {
        require(X.shape(1) == Z.shape(1) && out.shape(0) == X.shape(0) && out.shape(1) == Z.shape(0), "shapes differ");
        nb::gil_scoped_release release;
        const DenseView<T> rows = view(Z);
        const Panels<T> panels(rows.rows, rows.features, [&](std::size_t i) { return rows.row(i); });
        gram(kernel, view(X), 0, X.shape(0), panels, out.data());
      },
      nb::arg("kernel"), nb::arg("X").noconvert(), nb::arg("Z").noconvert(), nb::arg("out").noconvert());
  m.def(
      "gram_csr",
      [](const Kernel &kernel, std::size_t features, Vector<T> x, Vector<std::int32_t> x_indices,
         Vector<std::int64_t> x_starts, Vector<T> z, Vector<std::int32_t> z_indices, Vector<std::int64_t> z_starts,
         std::size_t begin, MatrixOut<Out> out) {
        const CsrView<T> X = view(x, x_indices, x_starts, features), Z = view(z, z_indices, z_starts, features);
        require(begin <= X.rows && out.shape(0) <= X.rows - begin && out.shape(1) == Z.rows, "shapes differ");
        nb::gil_scoped_release release;
        gram(kernel, X, begin, begin + out.shape(0), Z, out.data());
      },
      nb::arg("kernel"), nb::arg("features"), nb::arg("x").noconvert(), nb::arg("x_indices").noconvert(),
      nb::arg("x_starts").noconvert(), nb::arg("z").noconvert(), nb::arg("z_indices").noconvert(),
      nb::arg("z_starts").noconvert(), nb::arg("begin"), nb::arg("out").noconvert());
}

using Numbers = Vector<double>;

template <class T>
SvmSolver<T> make_solver(std::unique_ptr<KernelSource<T>> kernel, const Numbers &c, const Numbers &lo,
                         const Numbers &hi, double tol) {
  const std::size_t n = kernel->examples();
  require(n > 0 && c.shape(0) == n && lo.shape(0) == n && hi.shape(0) == n, "c, lo and hi need one entry per example");
  return SvmSolver<T>(std::move(kernel), c.data(), lo.data(), hi.data(), tol);
}

Examples positions(const Vector<std::int64_t> &index, std::size_t rows) {
  Examples at;
  for (std::size_t k = 0; k < index.shape(0); ++k) {
    require(index(k) >= 0 && std::size_t(index(k)) < rows, "index out of the Gram matrix");
    at.push_back(static_cast<std::int32_t>(index(k)));
  }
  return at;
}

template <class T> void bind_gram_rows(nb::module_ &m, const char *name) {
  nb::class_<GramRows<T>>(m, name)
      .def("__len__", &GramRows<T>::size)
      .def_prop_ro("rows_at_hand", &GramRows<T>::rows_at_hand)
      .def(
          "part",
          [](GramRows<T> &gram, Vector<std::int64_t> rows, Vector<std::int64_t> columns, MatrixOut<T> out) {
            require(out.shape(0) == rows.shape(0) && out.shape(1) == columns.shape(0), "shapes differ");
            const Examples at = positions(rows, gram.size()), across = positions(columns, gram.size());
            nb::gil_scoped_release release;
            gram.fetch(at);
            gram.cross(at, across, out.data());
          },
          nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("out").noconvert());
}

template <class T>
SvmSolver<T> on_rows(std::shared_ptr<GramRows<T>> gram, Vector<std::int64_t> index, Numbers c, Numbers lo, Numbers hi,
                     double tol, std::size_t largest_block, bool mostly_there) {
  Examples at = positions(index, gram->size());
  auto source = std::make_unique<SharedGram<T>>(std::move(gram), std::move(at), std::max<std::size_t>(2, largest_block),
                                                mostly_there);
  return make_solver<T>(std::move(source), c, lo, hi, tol);
}

template <class T> void bind_solver(nb::module_ &m, const char *name, const char *on_gram) {
  using Solver = SvmSolver<T>;
  nb::class_<Solver>(m, name)
      .def("run", &Solver::run, nb::arg("max_steps"), nb::call_guard<nb::gil_scoped_release>())
      .def("rescale", &Solver::rescale, nb::arg("ratio"), nb::call_guard<nb::gil_scoped_release>())
      .def("violation", &Solver::violation)
      .def("objective", &Solver::objective)
      .def("level", &Solver::level)
      .def("gap", &Solver::gap, nb::arg("level"))
      .def("coefficients", [](const Solver &s) { return copied(s.b()); })
      .def("gradient", [](const Solver &s) { return copied(s.gradient()); });
  m.def(
      on_gram,
      [](Matrix<T> gram, Vector<std::int64_t> index, Numbers c, Numbers lo, Numbers hi, double tol,
         std::size_t largest_block) {
        require(gram.shape(1) == gram.shape(0), "the Gram matrix must be square");
        auto whole = std::make_shared<WholeGram<T>>(gram.data(), gram.shape(0));
        return on_rows<T>(std::move(whole), index, c, lo, hi, tol, largest_block, true);
      },
      nb::arg("gram").noconvert(), nb::arg("index").noconvert(), nb::arg("c").noconvert(), nb::arg("lo").noconvert(),
      nb::arg("hi").noconvert(), nb::arg("tol"), nb::arg("largest_block") = LARGEST_BLOCK, nb::keep_alive<0, 1>());
  m.def(on_gram, &on_rows<T>, nb::arg("gram"), nb::arg("index").noconvert(), nb::arg("c").noconvert(),
        nb::arg("lo").noconvert(), nb::arg("hi").noconvert(), nb::arg("tol"), nb::arg("largest_block") = LARGEST_BLOCK,
        nb::arg("mostly_there") = false);
}

// Rows computed when first needed.
template <class T, class Out> void bind_growing(nb::module_ &m, const char *dense, const char *csr) {
  m.def(
      dense,
      [](const Kernel &kernel, Matrix<T> X) -> std::shared_ptr<GramRows<Out>> {
        return std::make_shared<GrowingGram<Out>>(std::make_unique<DenseExamples<T, Out>>(kernel, view(X)));
      },
      nb::arg("kernel"), nb::arg("X").noconvert(), nb::keep_alive<0, 2>());
  m.def(
      csr,
      [](const Kernel &kernel, std::size_t features, Vector<T> x, Vector<std::int32_t> indices,
         Vector<std::int64_t> starts) -> std::shared_ptr<GramRows<Out>> {
        const CsrView<T> X = view(x, indices, starts, features);
        return std::make_shared<GrowingGram<Out>>(std::make_unique<SparseExamples<T, Out>>(kernel, X));
      },
      nb::arg("kernel"), nb::arg("features"), nb::arg("x").noconvert(), nb::arg("indices").noconvert(),
      nb::arg("starts").noconvert(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>());
}

template <class T>
SvmSolver<T> on_cached_rows(std::unique_ptr<const RowExamples<T>> examples, std::size_t cache_bytes, const Numbers &c,
                            const Numbers &lo, const Numbers &hi, double tol) {
  return make_solver<T>(std::make_unique<CachedRows<T>>(std::move(examples), cache_bytes), c, lo, hi, tol);
}

template <class T, class Out> void bind_cached(nb::module_ &m, const char *dense, const char *csr) {
  m.def(
      dense,
      [](const Kernel &kernel, Matrix<T> X, std::size_t cache_bytes, Numbers c, Numbers lo, Numbers hi, double tol) {
        require(X.shape(0) > 0, "no rows");
        return on_cached_rows<Out>(std::make_unique<DenseExamples<T, Out>>(kernel, view(X)), cache_bytes, c, lo, hi,
                                   tol);
      },
      nb::arg("kernel"), nb::arg("X").noconvert(), nb::arg("cache_bytes"), nb::arg("c").noconvert(),
      nb::arg("lo").noconvert(), nb::arg("hi").noconvert(), nb::arg("tol"), nb::keep_alive<0, 2>());
  m.def(
      csr,
      [](const Kernel &kernel, std::size_t features, Vector<T> x, Vector<std::int32_t> indices,
         Vector<std::int64_t> starts, std::size_t cache_bytes, Numbers c, Numbers lo, Numbers hi, double tol) {
        const CsrView<T> X = view(x, indices, starts, features);
        require(X.rows > 0, "no rows");
        return on_cached_rows<Out>(std::make_unique<SparseExamples<T, Out>>(kernel, X), cache_bytes, c, lo, hi, tol);
      },
      nb::arg("kernel"), nb::arg("features"), nb::arg("x").noconvert(), nb::arg("indices").noconvert(),
      nb::arg("starts").noconvert(), nb::arg("cache_bytes"), nb::arg("c").noconvert(), nb::arg("lo").noconvert(),
      nb::arg("hi").noconvert(), nb::arg("tol"), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(),
      nb::keep_alive<0, 5>());
}

} // namespace

void bind_svm(nb::module_ &m) {
  nb::class_<Kernel>(m, "Kernel")
      .def(
          "__init__",
          [](Kernel *self, int kind, double gamma, int degree, double coef0) {
            new (self) Kernel{static_cast<KernelKind>(kind), gamma, degree, coef0};
          },
          nb::arg("kind"), nb::arg("gamma"), nb::arg("degree"), nb::arg("coef0"));
  bind_gram<float, float>(m);
  bind_gram<double, float>(m);
  bind_gram<double, double>(m);
  bind_gram_rows<float>(m, "GramRows32");
  bind_gram_rows<double>(m, "GramRows64");
  bind_growing<float, float>(m, "gram_rows_dense32", "gram_rows_csr32");
  bind_growing<double, float>(m, "gram_rows_dense32", "gram_rows_csr32");
  bind_growing<double, double>(m, "gram_rows_dense64", "gram_rows_csr64");
  bind_solver<float>(m, "SvmSolver32", "svm_on_gram32");
  bind_solver<double>(m, "SvmSolver64", "svm_on_gram64");
  bind_cached<float, float>(m, "svm_dense32", "svm_csr32");
  bind_cached<double, float>(m, "svm_dense32", "svm_csr32");
  bind_cached<double, double>(m, "svm_dense64", "svm_csr64");
}

} // namespace steelyard
