#include "bindings.hpp"
#include "forest.hpp"

#include <vector>

namespace steelyard {

using namespace nb::literals;
using forest::Arrays;
using forest::Forest;

namespace {

void make_forest(Forest *self, Vector<std::int32_t> column, Vector<double> threshold, Vector<std::int32_t> left,
                 Vector<std::int32_t> right, Vector<std::uint8_t> flags, Vector<std::int64_t> tree_ends,
                 Vector<std::int64_t> set_ends, Vector<std::uint32_t> words, Matrix<double> values,
                 std::size_t n_features, std::size_t n_outputs) {
  const std::size_t n = column.shape(0);
  require(threshold.shape(0) == n && left.shape(0) == n && right.shape(0) == n && flags.shape(0) == n,
          "columns of nodes must have one length");
  const Arrays arrays{n,
                      tree_ends.shape(0),
                      set_ends.shape(0),
                      words.shape(0),
                      values.shape(0),
                      values.shape(1),
                      column.data(),
                      left.data(),
                      right.data(),
                      threshold.data(),
                      flags.data(),
                      tree_ends.data(),
                      set_ends.data(),
                      words.data(),
                      values.data()};
  const char *wrong = forest::array_error(arrays, n_features, n_outputs);
  require(wrong == nullptr, wrong);
  new (self) Forest(arrays, n_features, n_outputs);
}

template <class T> void add_dense(const Forest &self, Matrix<T> X, MatrixOut<double> out) {
  require(X.shape(1) == self.n_features(), "X must have the columns of the forest");
  require(out.shape(0) == X.shape(0) && out.shape(1) == self.n_outputs(), "out must have shape (rows, outputs)");
  nb::gil_scoped_release release;
  self.add(X.data(), X.shape(0), out.data());
}

// Sparse rows are spread out a few at a time.
template <class T, class I>
void add_csr(const Forest &self, Vector<T> data, Vector<I> indices, Vector<I> indptr, MatrixOut<double> out) {
  const std::size_t n = out.shape(0), d = self.n_features(), cells = data.shape(0);
  require(indptr.shape(0) == n + 1 && indices.shape(0) == cells && out.shape(1) == self.n_outputs(),
          "shapes of the sparse rows and out differ");
  require(indptr(0) == 0 && static_cast<std::size_t>(indptr(n)) == cells, "sparse rows must cover their cells");
  for (std::size_t i = 0; i < n; ++i)
    require(indptr(i) <= indptr(i + 1), "sparse rows must lie behind one another");
  for (std::size_t j = 0; j < cells; ++j)
    require(indices(j) >= 0 && static_cast<std::size_t>(indices(j)) < d, "X must have the columns of the forest");
  nb::gil_scoped_release release;
  const std::size_t step = std::clamp<std::size_t>((1u << 20) / std::max<std::size_t>(1, d), 1, Forest::rows_at_once);
  std::vector<T> rows(step * d);
  for (std::size_t first = 0; first < n; first += step) {
    const std::size_t last = std::min(n, first + step);
    const auto write = [&](bool clear) {
      for (std::size_t i = first; i < last; ++i)
        for (auto j = static_cast<std::size_t>(indptr(i)); j < static_cast<std::size_t>(indptr(i + 1)); ++j) {
          T &cell = rows[(i - first) * d + static_cast<std::size_t>(indices(j))];
          cell = clear ? T(0) : cell + data(j);
        }
    };
    write(false);
    self.add(rows.data(), last - first, out.data() + first * self.n_outputs());
    write(true);
  }
}

} // namespace

void bind_forest(nb::module_ &m) {
  const auto methods = [](auto &c, auto type) {
    using T = decltype(type);
    c.def("add", &add_dense<T>, "X"_a.noconvert(), "out"_a.noconvert());
    c.def("add_csr", &add_csr<T, std::int32_t>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
          "out"_a.noconvert());
    c.def("add_csr", &add_csr<T, std::int64_t>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
          "out"_a.noconvert());
  };
  nb::class_<Forest> c(m, "Forest");
  c.def("__init__", &make_forest, nb::kw_only(), "column"_a.noconvert(), "threshold"_a.noconvert(),
        "left"_a.noconvert(), "right"_a.noconvert(), "flags"_a.noconvert(), "tree_ends"_a.noconvert(),
        "set_ends"_a.noconvert(), "words"_a.noconvert(), "values"_a.noconvert(), "n_features"_a, "n_outputs"_a);
  methods(c, float{});
  methods(c, double{});
}

} // namespace steelyard
