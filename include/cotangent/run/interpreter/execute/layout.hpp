// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_LAYOUT_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_LAYOUT_HPP

#include <cotangent/core/element.hpp>
#include <cotangent/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

// The strided layout of a value's elements. Reshape, permute, slice and broadcast change the layout and cost
// nothing.

namespace cotangent::detail::interpret {

/// In elements. `root` identifies the memory; its meaning is the holder's.
struct strided {
  std::int32_t root = -1;
  element type = element::float32;
  std::int32_t rank = 0;
  std::int32_t after = -1; // the barriers of its readers; the index's meaning is the holder's
  std::int64_t offset = 0;
  std::int64_t size[max_rank]{};
  std::int64_t stride[max_rank]{};

  std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (int k = 0; k < rank; ++k) n *= size[k];
    return n;
  }
  /// The offset from the first element of the element at a position in row-major order, whose index goes to `index`.
  std::int64_t position(std::int64_t i, std::int64_t* index) const noexcept {
    std::int64_t at = 0;
    for (int k = rank; k-- > 1; i /= size[k]) at += (index[k] = i % size[k]) * stride[k];
    if (rank > 0) at += (index[0] = i) * stride[0]; // (divisions are slow)
    return at;
  }
  std::int64_t position(std::int64_t i) const noexcept {
    std::int64_t index[max_rank];
    return position(i, index);
  }
  bool contiguous() const noexcept {
    std::int64_t n = 1;
    for (int k = rank; k-- > 0;) {
      if (size[k] != 1 && stride[k] != n) return false;
      n *= size[k];
    }
    return true;
  }
  /// Refers to the memory of `v`, with strides of its own.
  void look_at(strided const& v) noexcept {
    root = v.root;
    after = v.after;
    offset = v.offset;
  }
  /// True if all positions are one element.
  bool uniform() const noexcept {
    for (int k = 0; k < rank; ++k)
      if (stride[k] != 0 && size[k] != 1) return false;
    return true;
  }
  void make_contiguous() noexcept {
    std::int64_t n = 1;
    for (int k = rank; k-- > 0;) {
      stride[k] = n;
      n *= size[k];
    }
  }
  friend bool operator==(strided const& a, strided const& b) noexcept {
    if (a.root != b.root || a.after != b.after || a.rank != b.rank || a.offset != b.offset || a.type != b.type) return false;
    for (int k = 0; k < a.rank; ++k)
      if (a.size[k] != b.size[k] || a.stride[k] != b.stride[k]) return false;
    return true;
  }
};

/// The same elements with fewer axes: axes of size 1 are dropped, contiguous neighbors are merged.
inline strided joined(strided const& v) noexcept {
  strided r = v;
  r.rank = 0;
  for (int k = 0; k < v.rank; ++k) {
    if (v.size[k] == 1) continue;
    if (r.rank > 0 && r.stride[r.rank - 1] == v.size[k] * v.stride[k]) {
      r.size[r.rank - 1] *= v.size[k];
      r.stride[r.rank - 1] = v.stride[k];
    } else {
      r.size[r.rank] = v.size[k];
      r.stride[r.rank++] = v.stride[k];
    }
  }
  return r;
}

/// Sets the strides of `to`, whose sizes hold as many elements, to the elements of `from` in order; false if
/// no strides do.
inline bool reshaped(strided const& from, strided& to) noexcept {
  to.look_at(from);
  if (from.count() == 0) return to.make_contiguous(), true;
  strided const f = joined(from);
  int k = to.rank - 1;
  for (int j = f.rank; j-- > 0;) {
    std::int64_t step = f.stride[j], left = f.size[j];
    while (left > 1) {
      if (k < 0 || left % to.size[k] != 0) return false;
      to.stride[k] = to.size[k] == 1 ? 0 : step;
      step *= to.size[k];
      left /= to.size[k--];
    }
  }
  for (; k >= 0; --k) to.stride[k] = 0; // the rest has size 1
  return true;
}

/// The number of leading positions after which the view's elements repeat.
inline std::int64_t period(strided const& v) noexcept {
  int k = 0;
  while (k < v.rank && (v.stride[k] == 0 || v.size[k] == 1)) ++k;
  std::int64_t n = 1;
  for (; k < v.rank; ++k) n *= v.size[k];
  return n;
}

template <std::size_t Bytes>
inline void copy_strided(char* to, std::int64_t to_stride, char const* from, std::int64_t from_stride,
                         std::int64_t n) noexcept {
  constexpr auto bytes = static_cast<std::int64_t>(Bytes);
  if (from_stride == 0 && n > 0) { // (a line without elements may have no memory)
    char word[Bytes];
    std::memcpy(word, from, Bytes);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride * bytes, word, Bytes);
  } else
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(to + i * to_stride * bytes, from + i * from_stride * bytes, Bytes);
}

/// Copies n elements of `bytes` each from one strided line to another.
inline void copy_line(char* to, std::int64_t to_stride, char const* from, std::int64_t from_stride,
                      std::int64_t n, std::size_t bytes) noexcept {
  if (to_stride == 1 && from_stride == 1) std::memcpy(to, from, static_cast<std::size_t>(n) * bytes);
  else
    cotangent::detail::as_word(static_cast<std::int64_t>(bytes),
                               [&]<class Word>(Word) { copy_strided<sizeof(Word)>(to, to_stride, from, from_stride, n); });
}

} // namespace cotangent::detail::interpret

#endif
