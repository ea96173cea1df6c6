#include "tree.hpp"

#include "tree_grow.hpp"

namespace steelyard::tree {

void grow(const Table &table, const double *weights, const Options &options, Workspace &workspace, Tree &out) {
  Grower(table, weights, options, workspace).run(out);
}

} // namespace steelyard::tree
