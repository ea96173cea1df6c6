#include "bind_tree.hpp"
#include "boost.hpp"

namespace steelyard {

using namespace nb::literals;
using boost::Columns;
using boost::Ensemble;
using tree::Options;
using tree::Table;

namespace {

// The weight columns of a variant, (5, rows) in the order of boost::Columns; pace is NaN where it is alpha.
Columns read_columns(const Table &table, const Matrix<double> &columns, double pace) {
  const std::size_t n = table.n_rows();
  require(columns.shape(0) == 5 && columns.shape(1) == n, "columns must have shape (5, rows of the table)");
  const double *c = columns.data();
  const double *right = c + n, *wrong = c + 2 * n;
  const bool pull_is_one = std::all_of(right, right + 2 * n, [](double p) { return p == 1.0; });
  return {c, right, wrong, c + 3 * n, c + 4 * n, pace, std::isnan(pace), pull_is_one};
}

// All rounds on one table: (trees, alphas, stop, normalisers, margins).
nb::tuple boost_trees(const Table &table, const Options &options, Matrix<double> columns, double pace,
                      Vector<double> weights, double size, std::size_t n_rounds) {
  require(weights.shape(0) == table.n_rows(), "weights must have one entry per row of the table");
  const Columns read = read_columns(table, columns, pace);
  Ensemble ensemble;
  {
    nb::gil_scoped_release release;
    boost::Workspace workspace;
    ensemble = boost::Booster(table, options, read, workspace).run(weights.data(), size, n_rounds);
  }
  nb::list trees;
  for (tree::Tree &grown : ensemble.trees)
    trees.append(as_arrays(std::move(grown)));
  const std::size_t rounds = ensemble.alphas.size();
  return nb::make_tuple(trees, owned_array(std::move(ensemble.alphas), {rounds}),
                        static_cast<std::int32_t>(ensemble.stop),
                        owned_array(std::move(ensemble.normalisers), {rounds}),
                        owned_array(std::move(ensemble.margins), {table.n_rows()}));
}

// The first round of a run, which no cost changes; several runs with other costs start from it.
struct FirstRound {
  FirstRound(const Table &table, const Options &options, const double *w)
      : weights(w, w + table.n_rows()), labels(table.n_rows()), n_columns(table.n_columns()),
        n_classes(table.n_classes()) {
    for (double weight : weights)
      size += weight;
    tree::Workspace workspace;
    tree::grow(table, w, options, workspace, grown);
    tree::training_labels(table, grown, workspace, labels.data());
  }
  std::vector<double> weights;
  double size = 0;
  tree::Tree grown;
  std::vector<std::int32_t> labels;
  std::size_t n_columns, n_classes; // of the table
};

void make_first_round(FirstRound *self, const Table &table, const Options &options, Vector<double> weights) {
  require(weights.shape(0) == table.n_rows(), "weights must have one entry per row of the table");
  nb::gil_scoped_release release;
  new (self) FirstRound(table, options, weights.data());
}

// The answers of the boosted trees for some rows of the table, by class code.
void boost_answers(const Table &table, const Options &options, const FirstRound &first, Matrix<double> columns,
                   double pace, std::size_t n_rounds, Vector<std::int64_t> rows, VectorOut<std::int32_t> out) {
  require(first.labels.size() == table.n_rows() && first.n_columns == table.n_columns() &&
              first.n_classes == table.n_classes(),
          "the first round must be of this table");
  require(rows.shape(0) == out.shape(0), "rows and out must have the same length");
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    require(rows(i) >= 0 && static_cast<std::size_t>(rows(i)) < table.n_rows(), "rows must lie in the table");
  const Columns read = read_columns(table, columns, pace);
  nb::gil_scoped_release release;
  boost::Workspace workspace;
  const Ensemble ensemble = boost::Booster(table, options, read, workspace)
                                .run(first.weights.data(), first.size, n_rounds, &first.grown, first.labels.data());
  boost::answers(table, ensemble, rows.data(), rows.shape(0), workspace, out.data());
}

} // namespace

void bind_boost(nb::module_ &m) {
  m.def("boost_trees", &boost_trees, "table"_a, "options"_a, "columns"_a.noconvert(), "pace"_a, "weights"_a.noconvert(),
        "size"_a, "n_rounds"_a,
        nb::sig("def boost_trees(table: TreeTable, options: TreeOptions, columns: numpy.typing.NDArray[numpy.float64], "
                "pace: float, weights: numpy.typing.NDArray[numpy.float64], size: float, n_rounds: int) -> "
                "tuple[list[tuple[numpy.typing.NDArray[typing.Any], ...]], numpy.typing.NDArray[numpy.float64], int, "
                "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"));
  nb::class_<FirstRound>(m, "BoostFirstRound")
      .def("__init__", &make_first_round, "table"_a, "options"_a, "weights"_a.noconvert());
  m.def("boost_answers", &boost_answers, "table"_a, "options"_a, "first"_a, "columns"_a.noconvert(), "pace"_a,
        "n_rounds"_a, "rows"_a.noconvert(), "out"_a.noconvert());
}

} // namespace steelyard
