// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ABI_HPP
#define COTANGENT_CORE_ABI_HPP

// `COTANGENT_ABI` names the inline namespace of all code that depends on compiler flags. Translation units
// with different -m flags then link into one program, and the linker does not merge their functions. The name
// spells the instruction set, whether fused multiply-add exists, and whether -ffast-math is on.

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#  define COTANGENT_ABI_SET avx512
#  define COTANGENT_ABI_BYTES 64
#elif defined(__AVX2__)
#  define COTANGENT_ABI_SET avx2
#  define COTANGENT_ABI_BYTES 32
#elif defined(__AVX__)
#  define COTANGENT_ABI_SET avx
#  define COTANGENT_ABI_BYTES 32
#elif defined(__SSE4_1__)
#  define COTANGENT_ABI_SET sse4
#  define COTANGENT_ABI_BYTES 16
#elif defined(__SSE2__)
#  define COTANGENT_ABI_SET sse2
#  define COTANGENT_ABI_BYTES 16
#elif defined(__aarch64__)
#  define COTANGENT_ABI_SET neon
#  define COTANGENT_ABI_BYTES 16
#else
#  define COTANGENT_ABI_SET generic
#  define COTANGENT_ABI_BYTES 16
#endif

#if defined(__FMA__) || defined(__FMA4__) || defined(__AVX512F__) || defined(__aarch64__)
#  define COTANGENT_ABI_FMA 1
#  define COTANGENT_ABI_FMA_NAME fma
#else
#  define COTANGENT_ABI_FMA 0
#  define COTANGENT_ABI_FMA_NAME nofma
#endif

// 1 if the target has an instruction that rounds to an integer.
#if defined(__SSE4_1__) || defined(__aarch64__)
#  define COTANGENT_ABI_ROUNDS 1
#else
#  define COTANGENT_ABI_ROUNDS 0
#endif

// Also parts of -ffast-math, where the compiler tells (clang does not tell that it may reassociate).
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#  define COTANGENT_ABI_FAST 1
#  define COTANGENT_ABI_FAST_NAME fast
#else
#  define COTANGENT_ABI_FAST 0
#  define COTANGENT_ABI_FAST_NAME ieee
#endif

#define COTANGENT_ABI_PASTE(Set, Fma, Fast) abi_##Set##_##Fma##_##Fast
#define COTANGENT_ABI_EXPAND(Set, Fma, Fast) COTANGENT_ABI_PASTE(Set, Fma, Fast)
#define COTANGENT_ABI COTANGENT_ABI_EXPAND(COTANGENT_ABI_SET, COTANGENT_ABI_FMA_NAME, COTANGENT_ABI_FAST_NAME)

// Functions over vectors are always inlined: a vector never crosses a call. With -g, clang would describe each inlined copy: a gradient of
// 1,000 nodes takes 14 s in place of 4. Like the intrinsics of compilers, they have no debug information.
#if defined(__clang__)
#  define COTANGENT_INLINE [[gnu::always_inline, gnu::nodebug]] inline
#else
#  define COTANGENT_INLINE [[gnu::always_inline]] inline
#endif

// Formulas of operations. Without optimization they are called: inlined, they take a quarter of the compile time, and run no faster.
#if defined(__OPTIMIZE__)
#  define COTANGENT_FORMULA COTANGENT_INLINE
#else
#  define COTANGENT_FORMULA inline
#endif

// A tail call. Optimized code compiles it to a jump; clang guarantees it.
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#  define COTANGENT_JUMP [[clang::musttail]]
#else
#  define COTANGENT_JUMP
#endif

// A vector wider than the target's registers would change the calling convention. Both compilers warn about
// that at every call, inlined or not, but no such call survives here. The pragma stays on, since the calls
// occur wherever a template over vectors is instantiated. g++ adds a note for parameters by value, which no
// pragma silences: take vectors by reference to const.
#if COTANGENT_ABI_BYTES < 64
#  pragma GCC diagnostic ignored "-Wpsabi"
#endif

// Brackets headers that users include. g++ looks up names in constructors and lambdas of templates at the end
// of a unit, from the global namespace. It would warn that they shadow a user's `g`.
#if defined(__GNUC__) && !defined(__clang__)
#  define COTANGENT_HEADER_BEGIN _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#  define COTANGENT_HEADER_END _Pragma("GCC diagnostic pop")
#else
#  define COTANGENT_HEADER_BEGIN
#  define COTANGENT_HEADER_END
#endif

// Brackets code that prepares a program at run time: passes, planners, the graph API. Each unit that prepares one compiles all of
// it: by default without optimization, which takes about two thirds of the time; graphs take twice as long to prepare. Code that
// runs a program is optimized, and constant evaluations are the same. (g++: `optimize("O1")` restores the merging of constants,
// which `pop_options` does not.)
#ifndef COTANGENT_OPTIMIZE_PASSES
#  if defined(COTANGENT_SEPARATE) || defined(COTANGENT_SEPARATE_HPP)
#    define COTANGENT_OPTIMIZE_PASSES 1
#  else
#    define COTANGENT_OPTIMIZE_PASSES 0
#  endif
#endif
#if COTANGENT_OPTIMIZE_PASSES || !defined(__OPTIMIZE__)
#  define COTANGENT_COLD_BEGIN
#  define COTANGENT_COLD_END
#elif defined(__clang__)
#  define COTANGENT_COLD_BEGIN _Pragma("clang optimize off")
#  define COTANGENT_COLD_END _Pragma("clang optimize on")
#else
#  define COTANGENT_COLD_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O0\")")
#  define COTANGENT_COLD_END _Pragma("GCC optimize(\"O1\")") _Pragma("GCC pop_options")
#endif

#endif
