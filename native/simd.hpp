// Wider SIMD chosen at run time. Two ways:
// - plain loops in a STEELYARD_WIDE function, which compilers vectorize for each of its clones;
// - loops on vector types, which are lowered where a function is defined and so need the target on the definition
//   itself: svm_loops.inl is included once per instruction set by svm_loops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define STEELYARD_HAS_WIDE 1
#else
#define STEELYARD_HAS_WIDE 0
#endif

#if defined(__clang__)
#define STEELYARD_CAN_CLONE (__clang_major__ >= 17)
#else
#define STEELYARD_CAN_CLONE (__GNUC__ >= 12)
#endif
#if STEELYARD_HAS_WIDE && defined(__linux__) && STEELYARD_CAN_CLONE && !defined(__SANITIZE_ADDRESS__)
#define STEELYARD_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define STEELYARD_WIDE
#endif
// The body of a STEELYARD_WIDE function must be inlined into each of its clones to be compiled for it.
#define STEELYARD_INLINE __attribute__((always_inline)) inline

namespace steelyard {

enum class Isa { portable, avx2, avx512 };

inline Isa detected_isa() {
#if STEELYARD_HAS_WIDE
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return Isa::avx512;
  if (avx2)
    return Isa::avx2;
#endif
  return Isa::portable;
}

inline Isa isa() {
  static const Isa found = detected_isa();
  return found;
}

constexpr std::size_t CACHE_LINE = 64;

// One cache line of numbers; compilers split it into as many registers as the machine needs.
template <class T> struct Lane;
template <> struct Lane<float> {
  static constexpr std::size_t count = CACHE_LINE / sizeof(float);
  using index = std::int32_t;
};
template <> struct Lane<double> {
  static constexpr std::size_t count = CACHE_LINE / sizeof(double);
  using index = std::int64_t;
};

inline std::size_t padded(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

} // namespace steelyard
