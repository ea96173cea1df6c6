// A vector by the buffer protocol: several times quicker than going through an ndarray.
#pragma once

#include "bindings.hpp"

namespace steelyard {

// A contiguous vector that some Python object lends.
class Buffer {
 public:
  explicit Buffer(nb::handle x) {
    held_ = PyObject_GetBuffer(x.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
    if (!held_)
      PyErr_Clear();
  }
  ~Buffer() {
    if (held_)
      PyBuffer_Release(&view_);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  bool is_vector() const { return held_ && view_.ndim == 1 && view_.format != nullptr; }
  std::size_t size() const { return static_cast<std::size_t>(view_.shape[0]); }
  // Whether the entries have this type; `letter` is what the buffer protocol calls it.
  bool holds(char letter) const { return view_.format[0] == letter && view_.format[1] == '\0'; }
  bool holds_int64() const { return (holds('l') || holds('q')) && view_.itemsize == 8; }
  template <class T> const T *data() const { return static_cast<const T *>(view_.buf); }
  // Of a vector of n doubles that may be written to; null for all else.
  double *doubles(std::size_t n) const {
    return is_vector() && size() == n && holds('d') && !view_.readonly ? static_cast<double *>(view_.buf) : nullptr;
  }

 private:
  Py_buffer view_{};
  bool held_;
};

} // namespace steelyard
