#include "bindings.hpp"

NB_MODULE(_native, m) {
  m.doc() = "Kernels of Steelyard. Arrays in, numbers out; the Python packages own every policy.";
  steelyard::bind_boost(m);
  steelyard::register_svm(m);
  steelyard::bind_tree(m);
  steelyard::bind_data(m);
  steelyard::bind_online(m);
}
