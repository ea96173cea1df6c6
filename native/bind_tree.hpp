// A tree as a tuple of arrays; shared by every binding that hands out trees.
#pragma once

#include "bindings.hpp"
#include "tree.hpp"

namespace steelyard {

// An array that owns its values.
template <class T> nb::object owned_array(std::vector<T> &&values, std::vector<std::size_t> shape) {
  auto *kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

// (test, column, threshold, first_child, n_children, branch, weight), in the order of TreeView.
inline nb::tuple as_arrays(tree::Tree &&t) {
  const std::size_t n = t.size(), k = t.n_classes;
  return nb::make_tuple(owned_array(std::move(t.test), {n}), owned_array(std::move(t.column), {n}),
                        owned_array(std::move(t.threshold), {n}), owned_array(std::move(t.first_child), {n}),
                        owned_array(std::move(t.n_children), {n}), owned_array(std::move(t.branch), {n}),
                        owned_array(std::move(t.weight), {n, k}));
}

} // namespace steelyard
