// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_REFERENCE_MEMORY_HPP
#define COTANGENT_RUN_REFERENCE_MEMORY_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/element.hpp>
#include <cotangent/graph/operation.hpp>

#include <cstdint>
#include <type_traits>

// Memory for a constant evaluation, in which a void pointer cannot be cast back: one array for each element
// type.

namespace cotangent::detail {

/// Elements to read, of any element type.
struct elements_in {
  element type = element::float64;
  float const* float32 = nullptr;
  double const* float64 = nullptr;
  std::int32_t const* int32 = nullptr;
  std::int64_t const* int64 = nullptr;
  bool const* boolean = nullptr;
  cotangent::float16 const* float16 = nullptr;
  cotangent::bfloat16 const* bfloat16 = nullptr;

  constexpr elements_in() = default;
  constexpr explicit elements_in(float const* p) : type(element::float32), float32(p) {}
  constexpr explicit elements_in(double const* p) : type(element::float64), float64(p) {}
  constexpr explicit elements_in(std::int32_t const* p) : type(element::int32), int32(p) {}
  constexpr explicit elements_in(std::int64_t const* p) : type(element::int64), int64(p) {}
  constexpr explicit elements_in(bool const* p) : type(element::boolean), boolean(p) {}
  constexpr explicit elements_in(cotangent::float16 const* p) : type(element::float16), float16(p) {}
  constexpr explicit elements_in(cotangent::bfloat16 const* p) : type(element::bfloat16), bfloat16(p) {}
};

/// Elements to write, of any element type.
struct elements_out {
  element type = element::float64;
  float* float32 = nullptr;
  double* float64 = nullptr;
  std::int32_t* int32 = nullptr;
  std::int64_t* int64 = nullptr;
  bool* boolean = nullptr;
  cotangent::float16* float16 = nullptr;
  cotangent::bfloat16* bfloat16 = nullptr;

  constexpr elements_out() = default;
  constexpr explicit elements_out(float* p) : type(element::float32), float32(p) {}
  constexpr explicit elements_out(double* p) : type(element::float64), float64(p) {}
  constexpr explicit elements_out(std::int32_t* p) : type(element::int32), int32(p) {}
  constexpr explicit elements_out(std::int64_t* p) : type(element::int64), int64(p) {}
  constexpr explicit elements_out(bool* p) : type(element::boolean), boolean(p) {}
  constexpr explicit elements_out(cotangent::float16* p) : type(element::float16), float16(p) {}
  constexpr explicit elements_out(cotangent::bfloat16* p) : type(element::bfloat16), bfloat16(p) {}
};

struct place_in_pool {
  element type = element::float64;
  std::int32_t first = 0;
};

class element_pools {
  array<float> float32_;
  array<double> float64_;
  array<std::int32_t> int32_;
  array<std::int64_t> int64_;
  array<bool> boolean_;
  array<float16> float16_;
  array<bfloat16> bfloat16_;

  template <class T> static constexpr std::int32_t grown(array<T>& pool, std::int64_t count) {
    std::int32_t const first = pool.size();
    pool.resize(first + static_cast<std::int32_t>(count));
    return first;
  }
  template <class T> constexpr array<T>& pool() noexcept {
    if constexpr (std::is_same_v<T, float>) return float32_;
    else if constexpr (std::is_same_v<T, double>) return float64_;
    else if constexpr (std::is_same_v<T, std::int32_t>) return int32_;
    else if constexpr (std::is_same_v<T, std::int64_t>) return int64_;
    else if constexpr (std::is_same_v<T, bool>) return boolean_;
    else if constexpr (std::is_same_v<T, float16>) return float16_;
    else return bfloat16_;
  }
  template <class T> constexpr place_in_pool copied_in(T const* from, std::int64_t count) {
    place_in_pool const p = add(element_of<T>, count);
    T* const to = data<T>(p);
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    return p;
  }
  template <class T> constexpr void copied_out(place_in_pool p, T* to, std::int64_t count) {
    T const* const from = data<T>(p);
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
  template <class T>
  constexpr void copied_across(place_in_pool to, element_pools& other, place_in_pool from,
                               std::int64_t count) {
    T const* const x = other.template data<T>(from);
    T* const y = data<T>(to);
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i];
  }
  template <class T> constexpr void filled(place_in_pool p, T value, std::int64_t count) {
    T* const to = data<T>(p);
    for (std::int64_t i = 0; i < count; ++i) to[i] = value;
  }

public:
  constexpr place_in_pool add(element e, std::int64_t count) {
    switch (e) {
    case element::float32: return {e, grown(float32_, count)};
    case element::float64: return {e, grown(float64_, count)};
    case element::int32: return {e, grown(int32_, count)};
    case element::int64: return {e, grown(int64_, count)};
    case element::boolean: return {e, grown(boolean_, count)};
    case element::float16: return {e, grown(float16_, count)};
    case element::bfloat16: return {e, grown(bfloat16_, count)};
    }
    return {};
  }
  /// Valid until the next `add`.
  template <class T> constexpr T* data(place_in_pool p) noexcept { return pool<T>().data() + p.first; }

  constexpr scalar get(place_in_pool p, std::int64_t i) {
    int const at = p.first + static_cast<int>(i);
    switch (p.type) {
    case element::float32: return {p.type, static_cast<double>(float32_[at]), 0};
    case element::float64: return {p.type, float64_[at], 0};
    case element::int32: return {p.type, 0, int32_[at]};
    case element::int64: return {p.type, 0, int64_[at]};
    case element::boolean: return {p.type, 0, boolean_[at]};
    case element::float16: return {p.type, static_cast<double>(static_cast<float>(float16_[at])), 0};
    case element::bfloat16: return {p.type, static_cast<double>(static_cast<float>(bfloat16_[at])), 0};
    }
    return {};
  }
  constexpr void set(place_in_pool p, std::int64_t i, scalar const& v) {
    int const at = p.first + static_cast<int>(i);
    switch (p.type) {
    case element::float32: float32_[at] = v.as<float>(); break;
    case element::float64: float64_[at] = v.as<double>(); break;
    case element::int32: int32_[at] = v.as<std::int32_t>(); break;
    case element::int64: int64_[at] = v.as<std::int64_t>(); break;
    case element::boolean: boolean_[at] = v.as<bool>(); break;
    case element::float16: float16_[at] = v.as<float16>(); break;
    case element::bfloat16: bfloat16_[at] = v.as<bfloat16>(); break;
    }
  }
  constexpr void fill(place_in_pool p, scalar const& v, std::int64_t count) {
    switch (p.type) {
    case element::float32: return filled(p, v.as<float>(), count);
    case element::float64: return filled(p, v.as<double>(), count);
    case element::int32: return filled(p, v.as<std::int32_t>(), count);
    case element::int64: return filled(p, v.as<std::int64_t>(), count);
    case element::boolean: return filled(p, v.as<bool>(), count);
    case element::float16: return filled(p, v.as<float16>(), count);
    case element::bfloat16: return filled(p, v.as<bfloat16>(), count);
    }
  }
  constexpr void copy(place_in_pool to, element_pools& other, place_in_pool from, std::int64_t count) {
    switch (to.type) {
    case element::float32: return copied_across<float>(to, other, from, count);
    case element::float64: return copied_across<double>(to, other, from, count);
    case element::int32: return copied_across<std::int32_t>(to, other, from, count);
    case element::int64: return copied_across<std::int64_t>(to, other, from, count);
    case element::boolean: return copied_across<bool>(to, other, from, count);
    case element::float16: return copied_across<float16>(to, other, from, count);
    case element::bfloat16: return copied_across<bfloat16>(to, other, from, count);
    }
  }
  /// The sizes of the pools, to reset them to.
  struct level {
    int size[element_count];
  };
  constexpr level mark() const noexcept {
    return {{float32_.size(), float64_.size(), int32_.size(), int64_.size(), boolean_.size(), float16_.size(), bfloat16_.size()}};
  }
  constexpr void release(level const& to) {
    float32_.resize(to.size[0]);
    float64_.resize(to.size[1]);
    int32_.resize(to.size[2]);
    int64_.resize(to.size[3]);
    boolean_.resize(to.size[4]);
    float16_.resize(to.size[5]);
    bfloat16_.resize(to.size[6]);
  }
  constexpr place_in_pool copy_in(elements_in const& from, std::int64_t count) {
    switch (from.type) {
    case element::float32: return copied_in(from.float32, count);
    case element::float64: return copied_in(from.float64, count);
    case element::int32: return copied_in(from.int32, count);
    case element::int64: return copied_in(from.int64, count);
    case element::boolean: return copied_in(from.boolean, count);
    case element::float16: return copied_in(from.float16, count);
    case element::bfloat16: return copied_in(from.bfloat16, count);
    }
    return {};
  }
  constexpr void copy_out(place_in_pool p, elements_out const& to, std::int64_t count) {
    switch (p.type) {
    case element::float32: return copied_out(p, to.float32, count);
    case element::float64: return copied_out(p, to.float64, count);
    case element::int32: return copied_out(p, to.int32, count);
    case element::int64: return copied_out(p, to.int64, count);
    case element::boolean: return copied_out(p, to.boolean, count);
    case element::float16: return copied_out(p, to.float16, count);
    case element::bfloat16: return copied_out(p, to.bfloat16, count);
    }
  }
};

} // namespace cotangent::detail

#endif
