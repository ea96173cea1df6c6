// Function multiversioning: the same source compiled for several instruction sets, the widest chosen at run time.
// Only for loops whose order of summation is fixed, so that every version gives the same bits; elsewhere, and under
// sanitizers, the portable code stands alone.
#pragma once

#if defined(__clang__)
#define STEELYARD_CAN_CLONE (__clang_major__ >= 17)
#else
#define STEELYARD_CAN_CLONE (__GNUC__ >= 12)
#endif
#if defined(__x86_64__) && defined(__linux__) && STEELYARD_CAN_CLONE && !defined(__SANITIZE_ADDRESS__)
#define STEELYARD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define STEELYARD_AVX2 __attribute__((target("avx2"))) // for templates, which have no clones: ask isa() first
#else
#define STEELYARD_CLONES
#endif
// What must become part of the loop that calls it. Under sanitizers it may stay a function: inlined everywhere with
// its checks it would only be slow to compile.
#if defined(__SANITIZE_ADDRESS__)
#define STEELYARD_INLINED
#else
#define STEELYARD_INLINED __attribute__((always_inline))
#endif
// What several cloned functions share must be inlined into each clone to be compiled for it.
#define STEELYARD_INTO_CLONES STEELYARD_INLINED inline
