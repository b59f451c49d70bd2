// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_WHOLE_HPP
#define COTANGENT_GRAPH_WHOLE_HPP

#include <cotangent/core/element.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/shape.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent {

/// A tensor as an argument of a function of whole tensors: its sizes, and its elements in row-major order,
/// without gaps. There is a pointer for each element type, since a constant evaluation cannot cast back from a void pointer.
struct whole_tensor {
  element type = element::float64;
  int rank = 0;
  std::int64_t size[max_rank]{};
  union { // by type
    float* float32 = nullptr;
    double* float64;
    std::int32_t* int32;
    std::int64_t* int64;
    bool* boolean;
  };

  template <class T> constexpr T* data() const noexcept {
    if constexpr (std::is_same_v<T, float>) return float32;
    else if constexpr (std::is_same_v<T, double>) return float64;
    else if constexpr (std::is_same_v<T, std::int32_t>) return int32;
    else if constexpr (std::is_same_v<T, std::int64_t>) return int64;
    else return boolean;
  }
  template <class T> constexpr void set_data(T* elements) noexcept {
    if constexpr (std::is_same_v<T, float>) float32 = elements;
    else if constexpr (std::is_same_v<T, double>) float64 = elements;
    else if constexpr (std::is_same_v<T, std::int32_t>) int32 = elements;
    else if constexpr (std::is_same_v<T, std::int64_t>) int64 = elements;
    else boolean = elements;
  }
  template <class T> static constexpr whole_tensor of(T* elements, int rank,
                                                      std::int64_t const* sizes) noexcept {
    whole_tensor w;
    w.type = element_of<T>;
    w.rank = rank;
    for (int k = 0; k < rank; ++k) w.size[k] = sizes[k];
    w.set_data(elements);
    return w;
  }
  constexpr std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (int k = 0; k < rank; ++k) n *= size[k];
    return n;
  }
};

namespace detail {

/// Calls `f.template operator()<T>()` for numbers of this element type.
template <class F> constexpr void by_element(element e, F f) {
  switch (e) {
  case element::float32: return f.template operator()<float>();
  case element::float64: return f.template operator()<double>();
  case element::int32: return f.template operator()<std::int32_t>();
  case element::int64: return f.template operator()<std::int64_t>();
  case element::boolean:
  case element::float16:
  case element::bfloat16: return;
  }
}

} // namespace detail

/// The arguments of such a function, from its node.
struct whole_call {
  static constexpr int max_operands = 4;
  whole_tensor operand[max_operands];
  whole_tensor result;
  std::int64_t const* attribute = nullptr;
  char* scratch = nullptr; // of a kernel: the requested bytes, aligned to 64
  status* found = nullptr; // may be null: receives a reported status

  constexpr void report(status s) const noexcept {
    if (found != nullptr) *found = s;
  }
};

} // namespace cotangent

#endif
