#include "bindings.hpp"

NB_MODULE(_native, m) {
  nb::set_leak_warnings(false); // estimators that live until the interpreter ends are no leak
  m.doc() = "Kernels of Steelyard. Arrays in, numbers out; the Python packages own every policy.";
  steelyard::bind_boost(m);
  steelyard::bind_data(m);
  steelyard::bind_forest(m);
  steelyard::bind_ldm(m);
  steelyard::bind_multiclass(m);
  steelyard::bind_online(m);
  steelyard::bind_scaler(m);
  steelyard::bind_svm(m);
  steelyard::bind_tree(m);
}
