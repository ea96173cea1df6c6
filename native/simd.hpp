// Wider SIMD chosen at run time, for kernels whose last bits may depend on the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__clang__)
#define STEELYARD_CAN_CLONE (__clang_major__ >= 17)
#else
#define STEELYARD_CAN_CLONE (__GNUC__ >= 12)
#endif
#if defined(__x86_64__) && defined(__linux__) && STEELYARD_CAN_CLONE && !defined(__SANITIZE_ADDRESS__)
#define STEELYARD_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define STEELYARD_WIDE
#endif
// The body of a STEELYARD_WIDE function must be inlined into each of its clones to be compiled for it.
#define STEELYARD_INLINE __attribute__((always_inline)) inline

namespace steelyard {

constexpr std::size_t CACHE_LINE = 64;

// One cache line of numbers; compilers split it into as many registers as the machine needs.
template <class T> struct Lane {
  static constexpr std::size_t count = CACHE_LINE / sizeof(T);
  typedef T type __attribute__((vector_size(CACHE_LINE)));
  typedef T unaligned __attribute__((vector_size(CACHE_LINE), aligned(alignof(T)), may_alias));
};
template <class T> struct LaneIndex;
template <> struct LaneIndex<float> {
  using scalar = std::int32_t;
};
template <> struct LaneIndex<double> {
  using scalar = std::int64_t;
};

inline std::size_t padded(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

} // namespace steelyard
