// Memory for large arrays: on large pages where the system has them. A fresh array costs one fault a page, and
// scattered reads of a long weight vector one look at the page table; both are many times fewer with pages of 2 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "simd.hpp"

namespace steelyard {

constexpr std::size_t LARGE_PAGE = std::size_t{1} << 21;

inline bool on_large_pages(std::size_t bytes) {
#if defined(__linux__)
  return bytes >= LARGE_PAGE;
#else
  return static_cast<void>(bytes), false;
#endif
}

// Begins with a cache line, so that no vector of numbers straddles two.
inline void *allocate_bytes(std::size_t bytes) {
  if (!on_large_pages(bytes))
    return ::operator new(bytes, std::align_val_t{CACHE_LINE});
  if (bytes > SIZE_MAX - LARGE_PAGE)
    throw std::bad_alloc(); // no whole number of pages is as large
  const std::size_t whole = padded(bytes, LARGE_PAGE);
  void *at = ::operator new(whole, std::align_val_t{LARGE_PAGE});
#if defined(__linux__)
  madvise(at, whole, MADV_HUGEPAGE); // a wish: where it is not granted, the pages are small
#endif
  return at;
}

inline void free_bytes(void *at, std::size_t bytes) {
  ::operator delete(at, std::align_val_t{on_large_pages(bytes) ? LARGE_PAGE : CACHE_LINE});
}

template <class T> struct LargePageAllocator {
  using value_type = T;
  LargePageAllocator() = default;
  template <class Other> LargePageAllocator(const LargePageAllocator<Other> &) {}
  T *allocate(std::size_t n) { return static_cast<T *>(allocate_bytes(n * sizeof(T))); }
  void deallocate(T *at, std::size_t n) { free_bytes(at, n * sizeof(T)); }
  template <class Other> bool operator==(const LargePageAllocator<Other> &) const { return true; }
  template <class Other> bool operator!=(const LargePageAllocator<Other> &) const { return false; }
};

} // namespace steelyard
