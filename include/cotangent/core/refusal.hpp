// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_REFUSAL_HPP
#define COTANGENT_CORE_REFUSAL_HPP

// This header contains only macros: g++ then omits six lines about their expansion. It does print the include
// chain of the first inclusion: headers with refusals include this one before all others.
#pragma GCC system_header

#include <cotangent/core/speak.hpp>

// Refusals in words.
//
//   namespace cotangent::refusals {
//   COTANGENT_REFUSAL(matmul_inner, equal, columns_of_left, rows_of_right,
//                     "cotangent: matmul: the columns of the left operand must equal the rows of the right")
//   }
//   if constexpr (!fits) refusals::matmul_inner::report<A, B>();
//
// The compiler then prints the sentence and `equal<columns_of_left<4>, rows_of_right<5>>` as its only error;
// names and formulas show as characters. At run time the same sentence is thrown:
// `refusals::matmul_inner::text`. This is a macro, because `static_assert` takes only a literal. The
// relations are in core/speak.hpp; a tag may be declared repeatedly.
//
// `report` is a function that returns true, so that a `noexcept` can call it. The alternatives fail: for
// clang, a class whose static_assert fails is not a constant, which causes further errors in a constant
// evaluation; an alias template with such parameters crashes g++ 12.

// clang-format off: every line here is printed with each error.

/// A refusal about two extents (or numbers): `report<extent, extent>()`.
#define COTANGENT_REFUSAL(name_, relation_, left_, right_, sentence_)                                        \
  template <auto...> struct left_;                                                                           \
  template <auto...> struct right_;                                                                          \
  struct name_ {                                                                                             \
    static constexpr char const* text = sentence_;                                                           \
    template <::cotangent::extent A, ::cotangent::extent B,                                                  \
              class Left = typename ::cotangent::detail::speak<left_, A>::type,                              \
              class Right = typename ::cotangent::detail::speak<right_, B>::type>                            \
    static constexpr bool report() noexcept {                                                                \
      static_assert(::cotangent::refusals::relation_<Left, Right>, sentence_);                               \
      return true;                                                                                           \
    }                                                                                                        \
  };

/// A refusal about two whole shapes: `report<shape, shape>()`.
#define COTANGENT_REFUSAL_SHAPES(name_, relation_, left_, right_, sentence_)                                 \
  template <class...> struct left_;                                                                          \
  template <class...> struct right_;                                                                         \
  struct name_ {                                                                                             \
    static constexpr char const* text = sentence_;                                                           \
    template <::cotangent::shape A, ::cotangent::shape B,                                                    \
              class Left = typename ::cotangent::detail::speak_shape<left_, A>::type,                        \
              class Right = typename ::cotangent::detail::speak_shape<right_, B>::type>                      \
    static constexpr bool report() noexcept {                                                                \
      static_assert(::cotangent::refusals::relation_<Left, Right>, sentence_);                               \
      return true;                                                                                           \
    }                                                                                                        \
  };

/// A refusal about two types: `report<Left, Right>()`.
#define COTANGENT_REFUSAL_TYPES(name_, relation_, left_, right_, sentence_)                                  \
  template <class...> struct left_;                                                                          \
  template <class...> struct right_;                                                                         \
  struct name_ {                                                                                             \
    static constexpr char const* text = sentence_;                                                           \
    template <class Left, class Right> static constexpr bool report() noexcept {                             \
      static_assert(::cotangent::refusals::relation_<left_<Left>, right_<Right>>, sentence_);                \
      return true;                                                                                           \
    }                                                                                                        \
  };

/// A refusal without numbers, about types only: `report<Subject>()` with any types.
#define COTANGENT_REFUSAL_OF(name_, relation_, sentence_)                                                    \
  struct name_ {                                                                                             \
    static constexpr char const* text = sentence_;                                                           \
    template <class... Subject> static constexpr bool report() noexcept {                                    \
      static_assert(::cotangent::refusals::relation_<Subject...>, sentence_);                                \
      return true;                                                                                           \
    }                                                                                                        \
  };

// clang-format on

#endif
