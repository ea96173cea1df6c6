// Wider SIMD chosen at run time, for loops whose last bits may depend on the machine. (clones.hpp is for the others.)
//
// Such loops live in svm_loops.inl, which svm_loops.hpp includes once per instruction set: vector types are lowered
// where a function is defined, so the target must stand on the definition itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#define STEELYARD_HAS_WIDE 1
#else
#define STEELYARD_HAS_WIDE 0
#endif

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

// STEELYARD_ISA=avx2 or portable keeps to narrower vectors, so that two machines give the same bits.
inline Isa chosen_isa() {
  const Isa found = detected_isa();
  const char *asked = std::getenv("STEELYARD_ISA");
  const std::string_view most = asked == nullptr ? "" : asked;
  if (most == "portable")
    return Isa::portable;
  return most == "avx2" && found == Isa::avx512 ? Isa::avx2 : found;
}

inline Isa isa() {
  static const Isa found = chosen_isa();
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
