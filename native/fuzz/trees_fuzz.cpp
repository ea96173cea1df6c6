// libFuzzer target of the two validators of trees: whatever arrays they let through can be walked by every row.
// A byte is a small number, its ends the ends of the range; so both sound and broken trees are met. See scripts/fuzz.
#include "../forest.hpp"
#include "../tree_check.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<double> cells = {0, 1, -1, 2.5, 1e300, -infinity, infinity, NAN, 31, 2147483647.0, 4294967296.0};

class Bytes {
 public:
  Bytes(const std::uint8_t *data, std::size_t size) : at_(data), end_(data + size) {}
  std::uint8_t byte() { return at_ == end_ ? 0 : *at_++; }
  std::size_t upto(std::size_t most) { return byte() % (most + 1); }
  template <class T> T whole() {
    const auto small = static_cast<std::int8_t>(byte());
    return small == 127    ? std::numeric_limits<T>::max()
           : small == -128 ? std::numeric_limits<T>::min()
                           : static_cast<T>(small);
  }
  double real() {
    const std::uint8_t given = byte();
    return given >= 200 ? cells[given % cells.size()] : given / 8.0;
  }
  template <class T> std::vector<T> wholes(std::size_t n) {
    std::vector<T> made(n);
    for (T &one : made)
      one = whole<T>();
    return made;
  }
  std::vector<double> reals(std::size_t n) {
    std::vector<double> made(n);
    for (double &one : made)
      one = real();
    return made;
  }

 private:
  const std::uint8_t *at_, *end_;
};

void check(bool holds, const char *law) {
  if (!holds) {
    std::fprintf(stderr, "law broken: %s\n", law);
    std::abort();
  }
}

// Rows of every cell, among them all missing.
std::vector<double> rows_of(std::size_t features) {
  std::vector<double> rows(cells.size() * features);
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (std::size_t j = 0; j < features; ++j)
      rows[i * features + j] = cells[(i + j * j) % cells.size()];
  return rows;
}

void try_forest(Bytes &in) {
  const std::size_t features = 1 + in.upto(3), outputs = in.upto(2), width = in.upto(2), nodes = in.upto(15);
  const std::size_t trees = in.upto(3), sets = in.upto(2), words = in.upto(3), leaves = in.upto(8);
  const auto column = in.wholes<std::int32_t>(nodes), left = in.wholes<std::int32_t>(nodes);
  const auto right = in.wholes<std::int32_t>(nodes);
  const auto threshold = in.reals(nodes), values = in.reals(leaves * width);
  const auto flags = in.wholes<std::uint8_t>(nodes);
  const auto tree_ends = in.wholes<std::int64_t>(trees), set_ends = in.wholes<std::int64_t>(sets);
  const auto bits = in.wholes<std::uint32_t>(words);
  const steelyard::forest::Arrays arrays{nodes,
                                         trees,
                                         sets,
                                         words,
                                         leaves,
                                         width,
                                         column.data(),
                                         left.data(),
                                         right.data(),
                                         threshold.data(),
                                         flags.data(),
                                         tree_ends.data(),
                                         set_ends.data(),
                                         bits.data(),
                                         values.data()};
  if (steelyard::forest::array_error(arrays, features, outputs) != nullptr)
    return;
  const steelyard::forest::Forest forest(arrays, features, outputs);
  const std::vector<double> rows = rows_of(features);
  std::vector<double> out(cells.size() * outputs);
  forest.add(rows.data(), cells.size(), out.data());
}

void try_tree(Bytes &in) {
  const std::size_t features = 1 + in.upto(3), classes = in.upto(3), nodes = in.upto(15);
  const auto test = in.wholes<std::uint8_t>(nodes);
  const auto column = in.wholes<std::int32_t>(nodes), first = in.wholes<std::int32_t>(nodes);
  const auto count = in.wholes<std::int32_t>(nodes);
  const auto threshold = in.reals(nodes), branch = in.reals(nodes), weight = in.reals(nodes * classes);
  steelyard::tree::TreeView view;
  view.n_classes = classes;
  view.test = test.data(), view.column = column.data(), view.threshold = threshold.data();
  view.first_child = first.data(), view.n_children = count.data();
  view.branch = branch.data(), view.weight = weight.data();
  if (steelyard::tree::array_error(view, nodes, features) != nullptr)
    return;
  const std::vector<double> rows = rows_of(features);
  std::vector<steelyard::tree::Step> pending;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::vector<double> out(classes, 0.0);
    const double *x = rows.data() + i * features;
    steelyard::tree::add_probabilities(view, [x](std::size_t a) { return x[a]; }, pending, out.data());
    for (const double share : out)
      check(share >= 0 && share < 1 + 1e-9, "shares lie within 0 and 1");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  Bytes in(data, size);
  if (in.byte() & 1)
    try_forest(in);
  else
    try_tree(in);
  return 0;
}
