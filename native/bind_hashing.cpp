// Records of Python as hashed rows: a dict of numbers, texts and missing cells in, one sparse row out.
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bind_buffer.hpp"
#include "bindings.hpp"
#include "record_hash.hpp"

namespace steelyard {
namespace {

// The bytes of a text; one with half a surrogate pair, which UTF-8 has not, is encoded all the same.
class Utf8 {
 public:
  explicit Utf8(PyObject *text) {
    Py_ssize_t size = 0;
    const char *at = PyUnicode_AsUTF8AndSize(text, &size);
    if (at == nullptr) {
      PyErr_Clear();
      encoded_ = nb::steal(PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass"));
      if (!encoded_.is_valid())
        throw nb::python_error();
      at = PyBytes_AsString(encoded_.ptr());
      size = PyBytes_Size(encoded_.ptr());
    }
    bytes_ = {at, static_cast<std::size_t>(size)};
  }
  operator std::string_view() const { return bytes_; }

 private:
  nb::object encoded_;
  std::string_view bytes_;
};

// False for a cell that Python has to look at: of another type, or not finite.
bool add_cell(HashedRow &row, std::string_view name, PyObject *cell) {
  if (cell == Py_None) {
    row.missing(name);
    return true;
  }
  if (PyUnicode_Check(cell)) {
    row.category(name, Utf8(cell));
    return true;
  }
  double value;
  if (PyFloat_Check(cell)) {
    value = PyFloat_AsDouble(cell);
  } else if (PyLong_Check(cell)) {
    value = PyLong_AsDouble(cell);
    if (value == -1.0 && PyErr_Occurred()) { // too great a number
      PyErr_Clear();
      return false;
    }
  } else {
    return false;
  }
  if (std::isnan(value))
    row.missing(name);
  else if (std::isfinite(value))
    row.number(name, value);
  else
    return false;
  return true;
}

void add_text(HashedRow &row, std::string_view name, PyObject *words) {
  std::vector<std::string> owned; // a word of half a surrogate pair has no bytes of its own
  std::vector<std::string_view> views;
  require(PyList_Check(words), "words must be lists");
  const Py_ssize_t n = PyList_Size(words);
  owned.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t w = 0; w < n; ++w) {
    owned.emplace_back(std::string_view(Utf8(PyList_GetItem(words, w))));
    views.push_back(owned.back());
  }
  row.text(name, views);
}

// The rows hashed so far, as CSR arrays.
struct HashedRows {
  HashedRow row;
  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  explicit HashedRows(std::size_t width) : row(width) {}

  void clear() { values.clear(), columns.clear(), starts.resize(1); }

  // Adds a record; the name of a cell that cannot be used, or None.
  nb::object add(nb::handle record, nb::handle words) {
    row.clear();
    Py_ssize_t position = 0;
    PyObject *name, *cell;
    while (PyDict_Next(record.ptr(), &position, &name, &cell))
      if (!PyUnicode_Check(name) || !add_named(name, cell, words))
        return nb::borrow(name);
    take_row();
    return nb::none();
  }

  // The same in the order of the names given, with other numbers: those of `numbers` in turn where `numeric` says so,
  // but none where `raw` has none. A cell that the record has not is missing.
  nb::object add_arranged(nb::handle record, nb::handle words, const nb::tuple &names, const char *numeric,
                          const double *raw, const double *numbers) {
    row.clear();
    for (nb::handle name : names) {
      if (*numeric++ != 0) {
        const double before = *raw++, number = *numbers++;
        if (std::isnan(before))
          row.missing(Utf8(name.ptr()));
        else if (std::isfinite(number))
          row.number(Utf8(name.ptr()), number);
        else
          return nb::borrow(name);
      } else {
        PyObject *cell = PyDict_GetItemWithError(record.ptr(), name.ptr());
        if (!add_named(name.ptr(), cell == nullptr ? Py_None : cell, words))
          return nb::borrow(name);
      }
    }
    take_row();
    return nb::none();
  }

 private:
  bool add_named(PyObject *name, PyObject *cell, nb::handle words) {
    require(words.is_none() || PyDict_Check(words.ptr()), "words must be a dict");
    PyObject *text = words.is_none() ? nullptr : PyDict_GetItemWithError(words.ptr(), name);
    if (text == nullptr)
      return add_cell(row, Utf8(name), cell);
    add_text(row, Utf8(name), text);
    return true;
  }

  void take_row() {
    row.compact();
    for (const HashedCell &one : row.cells()) {
      columns.push_back(one.column);
      values.push_back(one.value);
    }
    starts.push_back(static_cast<std::int64_t>(values.size()));
  }
};

// Numbers of a record by name, NaN where there is none; false for a cell that Python has to look at.
bool gather_numbers(const nb::dict &record, const nb::tuple &names, double *out) {
  for (nb::handle name : names) {
    PyObject *cell = PyDict_GetItemWithError(record.ptr(), name.ptr());
    if (cell == nullptr || cell == Py_None)
      *out = std::numeric_limits<double>::quiet_NaN();
    else if (PyFloat_Check(cell) || PyLong_Check(cell))
      *out = PyFloat_AsDouble(cell);
    else
      return false;
    if (PyErr_Occurred()) { // too great a number
      PyErr_Clear();
      return false;
    }
    ++out;
  }
  return true;
}

template <class T> nb::bytes bytes_of(const std::vector<T> &numbers) {
  return nb::bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T));
}

nb::object only_row(const HashedRows &rows) { return nb::make_tuple(bytes_of(rows.values), bytes_of(rows.columns)); }

} // namespace

void bind_hashing(nb::module_ &m) {
  nb::class_<HashedRows>(m, "HashedRows")
      .def(
          "__init__",
          [](HashedRows *self, std::size_t width) {
            require(width >= 1 && width <= 0x7fffffff, "the width must be a positive 32-bit number");
            new (self) HashedRows(width);
          },
          nb::arg("width"))
      .def(
          "add", [](HashedRows &rows, nb::dict record, nb::handle words) { return rows.add(record, words); },
          nb::arg("record"), nb::arg("words").none(),
          "Add a record, with the words of its texts by name. Returns None, or the name of a cell that cannot be used "
          "as it is; then nothing is added.")
      .def(
          "one",
          [](HashedRows &rows, nb::dict record, nb::handle words) -> nb::object {
            rows.clear();
            return rows.add(record, words).is_none() ? only_row(rows) : nb::object(nb::none());
          },
          nb::arg("record"), nb::arg("words").none(),
          "Values and columns of one record alone, as bytes; None as for add.")
      .def(
          "one_arranged",
          [](HashedRows &rows, nb::dict record, nb::handle words, const nb::tuple &names, const nb::bytes &numeric,
             nb::handle raw, nb::handle numbers) -> nb::object {
            const char *const from = numeric.c_str();
            const auto n = static_cast<std::size_t>(std::count(from, from + numeric.size(), '\1'));
            const Buffer before(raw), after(numbers);
            require(numeric.size() == names.size() && before.doubles(n) && after.doubles(n),
                    "the numbers do not belong to the names");
            rows.clear();
            const nb::object bad = rows.add_arranged(record, words, names, from, before.doubles(n), after.doubles(n));
            return bad.is_none() ? only_row(rows) : nb::object(nb::none());
          },
          nb::arg("record"), nb::arg("words").none(), nb::arg("names"), nb::arg("numeric"), nb::arg("raw"),
          nb::arg("numbers"), "As one, cells in the order of names; those that are numbers come from outside.")
      .def(
          "arrays",
          [](const HashedRows &rows) {
            return nb::make_tuple(copied(rows.values), copied(rows.columns), copied(rows.starts));
          },
          "Values, columns and starts of all rows added.");
  m.def(
      "gather_numbers",
      [](const nb::dict &record, const nb::tuple &names, nb::handle out) {
        const Buffer to(out);
        require(to.doubles(names.size()) != nullptr, "out does not have as many entries as there are names");
        return gather_numbers(record, names, to.doubles(names.size()));
      },
      nb::arg("record"), nb::arg("names"), nb::arg("out"), "False for a cell that is no float, int or None.");
  m.def("murmur3", [](const nb::bytes &token) { return murmur3({token.c_str(), token.size()}); }, nb::arg("token"));
}

} // namespace steelyard
