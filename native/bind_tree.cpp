#include "bind_tree.hpp"
#include "tree_check.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace steelyard {

using namespace nb::literals;
using tree::Options;
using tree::Table;
using tree::Tree;
using tree::TreeView;
using tree::Workspace;

namespace {

void make_table(Table *self, Matrix<double> X, Vector<std::uint8_t> nominal, Vector<std::int32_t> labels,
                std::size_t n_classes) {
  require(X.shape(1) == nominal.shape(0) && X.shape(0) == labels.shape(0), "shapes of X, nominal and labels differ");
  require(n_classes <= (std::size_t{1} << 24), "there are too many classes");
  for (std::size_t i = 0; i < labels.shape(0); ++i)
    require(labels(i) >= 0 && static_cast<std::size_t>(labels(i)) < n_classes, "labels must lie in [0, n_classes)");
  nb::gil_scoped_release release;
  new (self) Table(X.data(), X.shape(0), X.shape(1), nominal.data(), labels.data(), n_classes);
}

nb::tuple grow(const Table &table, Vector<double> weights, const Options &options) {
  require(weights.shape(0) == table.n_rows(), "weights must have one entry per row of the table");
  Tree tree;
  std::vector<std::int32_t> labels(table.n_rows());
  {
    nb::gil_scoped_release release;
    thread_local Workspace workspace; // fresh pages would cost more than a small tree
    try {
      tree::grow(table, weights.data(), options, workspace, tree);
      tree::training_labels(table, tree, workspace, labels.data());
    } catch (...) { // interrupted: the counts of half a tree are left in it
      workspace = Workspace{};
      throw;
    }
    if (table.n_rows() > 1'000'000)
      workspace = Workspace{}; // not worth keeping: large, and small beside the work
  }
  return nb::make_tuple(as_arrays(std::move(tree)), owned_array(std::move(labels), {table.n_rows()}));
}

// Class probabilities of every row of X.
void predict(Vector<std::uint8_t> test, Vector<std::int32_t> column, Vector<double> threshold,
             Vector<std::int32_t> first_child, Vector<std::int32_t> n_children, Vector<double> branch,
             Matrix<double> weight, Matrix<double> X, MatrixOut<double> out) {
  TreeView view;
  view.n_classes = weight.shape(1);
  view.test = test.data();
  view.column = column.data();
  view.threshold = threshold.data();
  view.first_child = first_child.data();
  view.n_children = n_children.data();
  view.branch = branch.data();
  view.weight = weight.data();
  require(out.shape(0) == X.shape(0) && out.shape(1) == view.n_classes, "out must have shape (rows, classes)");
  const std::size_t n = X.shape(0), d = X.shape(1), nodes = test.shape(0);
  require(column.shape(0) == nodes && threshold.shape(0) == nodes && first_child.shape(0) == nodes &&
              n_children.shape(0) == nodes && branch.shape(0) == nodes && weight.shape(0) == nodes,
          "the arrays of a tree must have one entry per node");
  const char *wrong = tree::array_error(view, nodes, d);
  require(wrong == nullptr, wrong);
  nb::gil_scoped_release release;
  Pulse pulse;
  std::vector<tree::Step> pending;
  std::fill_n(out.data(), n * view.n_classes, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double *x = X.data() + i * d;
    pulse.spend(64);
    tree::add_probabilities(view, [x](std::size_t a) { return x[a]; }, pending, out.data() + i * view.n_classes);
  }
}

} // namespace

void bind_tree(nb::module_ &m) {
  nb::class_<Options>(m, "TreeOptions")
      .def(
          "__init__",
          [](Options *self, double min_obj, double confidence, bool prune, bool collapse, bool raising,
             bool binary_nominal, std::size_t max_depth) {
            new (self) Options{min_obj, confidence, prune, collapse, raising, binary_nominal, max_depth};
          },
          nb::kw_only(), "min_obj"_a, "confidence"_a, "prune"_a, "collapse"_a, "raising"_a, "binary_nominal"_a,
          "max_depth"_a);
  nb::class_<Table>(m, "TreeTable")
      .def("__init__", &make_table, "X"_a.noconvert(), "nominal"_a.noconvert(), "labels"_a.noconvert(), "n_classes"_a)
      .def("grow", &grow, "weights"_a.noconvert(), "options"_a,
           nb::sig("def grow(self, weights: numpy.typing.NDArray[numpy.float64], options: TreeOptions) -> "
                   "tuple[tuple[numpy.typing.NDArray[typing.Any], ...], numpy.typing.NDArray[numpy.int32]]"));
  m.def("tree_predict", &predict, "test"_a.noconvert(), "column"_a.noconvert(), "threshold"_a.noconvert(),
        "first_child"_a.noconvert(), "n_children"_a.noconvert(), "branch"_a.noconvert(), "weight"_a.noconvert(),
        "X"_a.noconvert(), "out"_a.noconvert());
}

} // namespace steelyard
