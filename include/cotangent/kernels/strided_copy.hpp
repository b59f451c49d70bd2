// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_STRIDED_COPY_HPP
#define COTANGENT_KERNELS_STRIDED_COPY_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/element.hpp>
#include <cotangent/core/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// Memory whose elements have strides: copies from and to row-major memory, and overlaps.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

/// Where the elements of an argument or a result lie. Strides are counted in elements, and may be negative.
struct strided_leaf {
  char* first = nullptr; // element (0, 0, ...)
  int rank = 0;
  std::int64_t element_bytes = 0;
  std::int64_t size[max_rank + 1]{}, stride[max_rank + 1]{};

  std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (int k = 0; k < rank; ++k) n = capped_product(n, size[k]); // (a size 0 may follow large ones)
    return n;
  }
  /// True if the elements are row-major without gaps.
  bool is_dense() const noexcept {
    if (count() == 0) return true;
    std::int64_t expected = 1;
    for (int k = rank - 1; k >= 0; --k) {
      if (size[k] != 1 && stride[k] != expected) return false;
      expected *= size[k];
    }
    return true;
  }
  /// The bytes before `first`, and the bytes from `first` to the end of the last element.
  void reach(std::int64_t& before, std::int64_t& after) const noexcept {
    before = 0;
    after = element_bytes;
    for (int k = 0; k < rank; ++k) {
      std::int64_t const way = (size[k] - 1) * stride[k] * element_bytes;
      (way < 0 ? before : after) += way < 0 ? -way : way;
    }
  }
};

/// Finds whether sum(d[k] * stride[k]) can be a given number, with each d[k] in [low[k], high[k]].
class distances {
  int count_ = 0;
  std::int64_t stride_[2 * max_rank + 1]{}, low_[2 * max_rank + 1]{}, high_[2 * max_rank + 1]{};

public:
  void add(std::int64_t stride, std::int64_t low, std::int64_t high) noexcept {
    if (stride == 0 || low == high) return; // low == high == 0: one element
    if (stride < 0) {
      stride = -stride;
      std::int64_t const other = low;
      low = -high;
      high = -other;
    }
    int k = 0;
    while (k < count_ && stride_[k] > stride) ++k;
    if (k < count_ && stride_[k] == stride) {
      low_[k] += low;
      high_[k] += high;
      return;
    }
    for (int j = count_++; j > k; --j) {
      stride_[j] = stride_[j - 1];
      low_[j] = low_[j - 1];
      high_[j] = high_[j - 1];
    }
    stride_[k] = stride;
    low_[k] = low;
    high_[k] = high;
  }
  /// True if it can be, or if a short search does not decide.
  bool reach(std::int64_t wanted, int from = 0) const noexcept {
    constexpr std::int64_t most_tried = 4;
    if (from == count_) return wanted == 0;
    std::int64_t least = 0, most = 0; // what the shorter strides add
    for (int k = from + 1; k < count_; ++k) {
      least += low_[k] * stride_[k];
      most += high_[k] * stride_[k];
    }
    std::int64_t const s = stride_[from];
    std::int64_t first = -floor_quotient(most - wanted, s), last = floor_quotient(wanted - least, s);
    if (first < low_[from]) first = low_[from];
    if (last > high_[from]) last = high_[from];
    if (last - first >= most_tried && from + 1 < count_) return true;
    for (std::int64_t d = first; d <= last; ++d)
      if (reach(wanted - d * s, from + 1)) return true;
    return false;
  }

private:
  static std::int64_t floor_quotient(std::int64_t a, std::int64_t b) noexcept {
    return a / b - (a % b < 0 ? 1 : 0);
  }
};

/// True if elements of `a` and `b` overlap. Interleaved rows or columns of one array are told apart; interleaved
/// memory of another kind may count as overlapping.
inline bool may_overlap(strided_leaf const& a, strided_leaf const& b) noexcept {
  if (a.count() == 0 || b.count() == 0) return false;
  std::int64_t before_a = 0, after_a = 0, before_b = 0, after_b = 0;
  a.reach(before_a, after_a);
  b.reach(before_b, after_b);
  auto const distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.first) -
                                                  reinterpret_cast<std::uintptr_t>(a.first));
  if (distance - before_b >= after_a || distance + after_b <= -before_a) return false;
  if (a.element_bytes != b.element_bytes || distance % a.element_bytes != 0) return true;
  distances between;
  for (int k = 0; k < a.rank; ++k) between.add(a.stride[k], 0, a.size[k] - 1);
  for (int k = 0; k < b.rank; ++k) between.add(b.stride[k], -(b.size[k] - 1), 0);
  return between.reach(distance / a.element_bytes);
}

/// True if two positions of `a` may have one address: then it must not be written.
inline bool repeats_elements(strided_leaf const& a) noexcept {
  if (a.count() <= 1) return false;
  std::int64_t reached = 0; // by axes of smaller stride
  bool used[max_rank + 1]{};
  for (int n = 0; n < a.rank; ++n) {
    int shortest = -1;
    for (int k = 0; k < a.rank; ++k)
      if (!used[k] && (shortest < 0 || (a.stride[k] < 0 ? -a.stride[k] : a.stride[k]) <
                                           (a.stride[shortest] < 0 ? -a.stride[shortest] : a.stride[shortest])))
        shortest = k;
    used[shortest] = true;
    if (a.size[shortest] == 1) continue;
    std::int64_t const stride = a.stride[shortest] < 0 ? -a.stride[shortest] : a.stride[shortest];
    if (stride <= reached) return true;
    reached += (a.size[shortest] - 1) * stride;
  }
  return false;
}

/// Where the elements of memory lie.
template <class X> strided_leaf strided_leaf_of(X& x) {
  using T = std::remove_const_t<X>;
  using traits = memory_traits<T>;
  strided_leaf leaf;
  auto* const p = traits::data(x);
  leaf.first = const_cast<char*>(static_cast<char const*>(static_cast<void const*>(p)));
  leaf.rank = traits::extents.rank;
  leaf.element_bytes = static_cast<std::int64_t>(sizeof(typename traits::element));
  traits::sizes(x, leaf.size);
  if constexpr (strided_memory<T>) traits::strides(x, leaf.stride);
  else {
    std::int64_t stride = 1;
    for (int k = leaf.rank - 1; k >= 0; stride = capped_product(stride, leaf.size[k--])) leaf.stride[k] = stride;
  }
  return leaf;
}

/// Copies between strided memory `s` and row-major memory `dense`, in tiles of the last two axes.
template <bool ToDense, class Word> void copy_strided_words(strided_leaf const& s, char* dense) noexcept {
  constexpr std::int64_t tile = 16;
  int const rank = s.rank;
  std::int64_t const rows = rank >= 2 ? s.size[rank - 2] : 1, columns = rank >= 1 ? s.size[rank - 1] : 1,
                     down = rank >= 2 ? s.stride[rank - 2] : 0, across = rank >= 1 ? s.stride[rank - 1] : 0;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(Word));
  std::int64_t const planes = s.count() == 0 ? 0 : s.count() / (rows * columns);
  std::int64_t index[max_rank + 1]{};
  char* from = s.first;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t i0 = 0; i0 < rows; i0 += tile)
      for (std::int64_t j0 = 0; j0 < columns; j0 += tile) {
        std::int64_t const i1 = i0 + tile < rows ? i0 + tile : rows, j1 = j0 + tile < columns ? j0 + tile : columns;
        for (std::int64_t i = i0; i < i1; ++i)
          for (std::int64_t j = j0; j < j1; ++j) {
            char* const there = from + (i * down + j * across) * bytes;
            char* const here = dense + (i * columns + j) * bytes;
            std::memcpy(ToDense ? here : there, ToDense ? there : here, sizeof(Word));
          }
      }
    dense += rows * columns * bytes;
    for (int k = rank - 3; k >= 0; --k) {
      from += s.stride[k] * bytes;
      if (++index[k] < s.size[k]) break;
      from -= s.size[k] * s.stride[k] * bytes;
      index[k] = 0;
    }
  }
}
template <bool ToDense> void copy_strided(strided_leaf const& s, char* dense) noexcept {
  as_word(s.element_bytes, [&]<class Word>(Word) { copy_strided_words<ToDense, Word>(s, dense); });
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
