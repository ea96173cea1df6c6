#include "bindings.hpp"
#include "pulse.hpp"

#if defined(__linux__)
#include <malloc.h> // its macros say whether this is the allocator of glibc
#endif

namespace {

// By itself glibc raises this size, up to 32 MB, to that of each larger block that is freed; what is freed below it may
// stay with the process for good.
void return_blocks_from(int bytes) {
#if defined(M_MMAP_THRESHOLD)
  mallopt(M_MMAP_THRESHOLD, bytes);
#else
  static_cast<void>(bytes);
#endif
}

// The GIL is free while a kernel runs; signal handlers need it.
void check_signals() {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
}

void set_deadline(double seconds) {
  using Clock = steelyard::Pulse::Clock;
  constexpr double longest = 1e9; // some thirty years: as good as none, and no overflow
  steelyard::Pulse::deadline() =
      seconds < longest
          ? Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))
          : Clock::time_point::max();
}

} // namespace

NB_MODULE(_native, m) {
  nb::set_leak_warnings(false); // estimators that live until the interpreter ends are no leak
  m.doc() = "Kernels of Steelyard. Arrays in, numbers out; the Python packages own every policy.";
  steelyard::Pulse::check_signals = check_signals;
  nb::exception<steelyard::DeadlineReached>(m, "DeadlineReached", PyExc_RuntimeError);
  m.def("set_deadline", set_deadline, nb::arg("seconds"),
        "From now on, for kernels that the calling thread runs; they raise DeadlineReached. Infinity for none.");
  m.def(
      "check_stop", [] { steelyard::Pulse::check(); },
      "Raises if the calling thread must stop: by a signal, or because its deadline has passed.");
  m.def(
      "return_blocks_from", return_blocks_from, nb::arg("bytes"),
      "From now on, for the whole process: memory of blocks of this size goes back to the system once they are freed.");
  steelyard::bind_boost(m);
  steelyard::bind_data(m);
  steelyard::bind_forest(m);
  steelyard::bind_hashing(m);
  steelyard::bind_ldm(m);
  steelyard::bind_multiclass(m);
  steelyard::bind_online(m);
  steelyard::bind_scaler(m);
  steelyard::bind_svm(m);
  steelyard::bind_tree(m);
  steelyard::bind_updates(m);
}
