#include "bindings.hpp"
#include "libsvm.hpp"
#include "poisson.hpp"

namespace steelyard {
namespace {

template <class T> using OwnedArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// The column's own block becomes a numpy array: no copy.
template <class T> OwnedArray<T> owned(Column<T> &column) {
  const std::size_t size = column.size();
  T *block = column.release();
  nb::capsule owner(block, [](void *p) noexcept { std::free(p); });
  return OwnedArray<T>(block, {size}, owner);
}

using Columns = nb::typed<nb::tuple, nb::object, nb::object, nb::object, nb::object>;

template <class V> Columns take(LibsvmParser<V> &parser) {
  nb::object indices = parser.is_wide() ? nb::cast(owned(parser.wide)) : nb::cast(owned(parser.narrow));
  return Columns(nb::make_tuple(owned(parser.ends), indices, owned(parser.values), owned(parser.labels)));
}

template <class V> nb::object parse_error(const LibsvmParser<V> &parser) {
  const LibsvmError &found = parser.error();
  if (!found.expected)
    return nb::none();
  return nb::make_tuple(found.expected, found.line, found.column, nb::bytes(found.found.data(), found.found.size()));
}

template <class V> void bind_parser(nb::module_ &m, const char *name) {
  using Parser = LibsvmParser<V>;
  nb::class_<Parser>(m, name, "Reads LIBSVM text block by block into CSR columns.")
      .def(nb::init<int, std::int64_t>(), nb::arg("base"), nb::arg("width"))
      .def(
          "feed",
          [](Parser &parser, Vector<std::uint8_t> block, std::int64_t row_limit) {
            const auto *text = reinterpret_cast<const char *>(block.data());
            nb::gil_scoped_release release;
            return parser.feed(text, block.shape(0), row_limit);
          },
          nb::arg("block").noconvert(), nb::arg("row_limit"), "Bytes consumed; stops early at the limit or an error.")
      .def("finish", &Parser::finish, nb::call_guard<nb::gil_scoped_release>(), "Reads a last line without an end.")
      .def("take", &take<V>, "(row ends, indices, values, labels) so far; the parser goes on empty.")
      .def("error", &parse_error<V>, "None, or (expected, line, column, what was found).")
      .def_prop_ro("rows", &Parser::rows)
      .def_prop_ro("widest", &Parser::widest, "Number of features seen so far.");
}

} // namespace

void bind_data(nb::module_ &m) {
  bind_parser<float>(m, "LibsvmParser32");
  bind_parser<double>(m, "LibsvmParser64");
  m.def(
      "poisson_tables",
      [](const Vector<std::int64_t> &cell, std::uint64_t seed, std::uint64_t part, std::uint64_t first,
         const MatrixOut<std::int64_t> &table) {
        const std::size_t cells = table.shape(1);
        require_positions(cell, cells);
        nb::gil_scoped_release release;
        poisson_tables(cell.data(), cell.shape(0), cells, seed, part, first, table.shape(0), table.data());
      },
      nb::arg("cell").noconvert(), nb::arg("seed"), nb::arg("part"), nb::arg("first"), nb::arg("table").noconvert(),
      "Adds to every replicate's table how often each row counts in it.");
  m.def(
      "poisson_costs",
      [](const Vector<std::int64_t> &cell, const Vector<double> &cost, std::uint64_t seed, std::uint64_t part,
         std::uint64_t first, const MatrixOut<double> &sum, const MatrixOut<double> &lost) {
        const std::size_t cells = sum.shape(1);
        require_positions(cell, cells);
        require(cost.shape(0) == cell.shape(0), "one cost for every cell");
        require(lost.shape(0) == sum.shape(0) && lost.shape(1) == cells, "two tables of one shape");
        nb::gil_scoped_release release;
        poisson_costs(cell.data(), cost.data(), cell.shape(0), cells, seed, part, first, sum.shape(0), sum.data(),
                      lost.data());
      },
      nb::arg("cell").noconvert(), nb::arg("cost").noconvert(), nb::arg("seed"), nb::arg("part"), nb::arg("first"),
      nb::arg("sum").noconvert(), nb::arg("lost").noconvert(),
      "Adds to every replicate's sums what each row costs as often as it counts, and what rounding lost.");
}

} // namespace steelyard
