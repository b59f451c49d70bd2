// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_NEST_MEMORY_HPP
#define COTANGENT_RUN_PROGRAM_NEST_MEMORY_HPP

#include <cotangent/run/program/context.hpp>
#include <cotangent/run/program/nest_shape.hpp>
#include <cotangent/run/program/values.hpp>

// The state of a nest: its memory, its values, and the location of an instance's operands.

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The number of rows in the current block: a constant if all blocks are full.
template <bool Whole, int Rows> struct block_rows { static constexpr std::int64_t active = Rows; };
template <int Rows> struct block_rows<false, Rows> { std::int64_t active = 1; };

template <class Stage, int K, class Context>
struct nest_memory : nest_shape<Stage, K>, block_rows<nest_shape<Stage, K>::whole_blocks, nest_shape<Stage, K>::B> {
  using shape = nest_shape<Stage, K>;
  using block_rows<shape::whole_blocks, shape::B>::active;
  using shape::at, shape::B, shape::first, shape::N, shape::P, shape::turned, shape::W;
  using wide = typename shape::wide;

  template <element E> using lane_value = value_t<W, wide, E>;
  template <element E> using row_value = value_t<B, wide, E>;

  Context const x;
  std::int64_t lanes = 1;          // the number of positions along the lane axis
  std::int64_t rows = 1, row = 0;  // of all rows; `row`: the first row of the block
  std::int64_t sub = 0;            // the row in the block
  std::int64_t index[max_rank]{};  // of the row along each axis, if there are several row axes
  registers<1, wide, shape::once_count> once;
  registers<B, wide, shape::row_count> row_values;
  registers<B, wide, shape::total_count> row_totals;
  registers<W, wide, shape::total_count> lane_totals;
  // of transposed rows
  registers<W, wide, shape::total_count> column_totals[shape::columns > 0 ? shape::columns : 1];
  alignas(64) char ends[shape::slots > 0 ? shape::slots : 1][W * 8]{}; // of rows in exact row buffers
  alignas(64) char tiles[shape::tiles > 0 ? shape::tiles * shape::columns * W * 8 : 1];

  COTANGENT_INLINE explicit nest_memory(Context const& context) noexcept : x(context) {
    if constexpr (N.rank > N.split) lanes = x.value(N.size[shape::lane_axis]);
    for (int k = 0; k < N.split; ++k) rows *= x.value(N.size[k]);
  }

  // ---- memory

  /// The only access to a buffer, by its index in this nest.
  template <class T> COTANGENT_INLINE T* base(std::int32_t own) const noexcept {
    return reinterpret_cast<T*>(x.buffer[own]);
  }
  // g++ warns that a loop over the rows of a block could overflow an address. The loop ends with the block.
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
  /// The address of instance `I`'s access in this row; rows of a block are consecutive along axis 0.
  template <int I, class T> COTANGENT_INLINE T* pointer(std::int64_t in_block) const noexcept {
    constexpr detail::access a = P.accesses.data[at(I).access];
    std::int64_t offset = x.value(a.offset);
    if constexpr (N.split == 1) {
      if constexpr (a.stride[0] != 0) offset += (row + in_block) * x.value(a.stride[0]);
    } else if constexpr (N.split > 1)
      for (int k = 0; k < N.split; ++k) offset += index[k] * x.value(a.stride[k]);
    return base<T>(shape::template own_buffer_of<I>) + offset;
  }
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic pop
#endif
  /// A row buffer by its own index, a function argument: all accesses of one type share one function.
  template <class T> COTANGENT_INLINE T* row_buffer(std::int32_t own, std::int64_t c) const noexcept {
    return base<T>(own) +
           (turned ? c * W : (B > 1 ? sub * (lanes + simd::bytes) : 0) + c);
  }

  // ---- operands

  // One function for each kind of source and element type, not for each operand: a program has thousands of
  // operands.
  template <operand_source S, element E, class Registers>
  COTANGENT_INLINE auto in_lanes(Registers& r, int place, std::int64_t bits) const noexcept {
    using V = lane_value<E>;
    if constexpr (S == operand_source::constant) return constant_value<E, V>(bits);
    else if constexpr (S == operand_source::once) return spread<E, V>(once.template at<E>(place));
    else if constexpr (S == operand_source::lane) return V(r.template at<E>(place));
    else if constexpr (turned) return V(row_values.template at<E>(place));
    else if constexpr (B == 1) return spread<E, V>(row_values.template at<E>(place));
    else return spread<E, V>(static_cast<cotangent::detail::arithmetic_t<E>>(row_values.template at<E>(place)[sub]));
  }
  template <operand_source S, element E> COTANGENT_INLINE auto in_rows(int place, std::int64_t bits) const noexcept {
    using V = row_value<E>;
    if constexpr (S == operand_source::constant) return constant_value<E, V>(bits);
    else if constexpr (S == operand_source::once) return spread<E, V>(once.template at<E>(place));
    else return V(row_values.template at<E>(place));
  }
  template <operand_source S, element E> COTANGENT_INLINE auto in_once(int place, std::int64_t bits) const noexcept {
    if constexpr (S == operand_source::constant) return constant_value<E, cotangent::detail::arithmetic_t<E>>(bits);
    else return cotangent::detail::arithmetic_t<E>(once.template at<E>(place));
  }

  // ---- transposed rows

  template <int I> static constexpr int tile_at = shape::tile(I) * shape::columns * W * 8;
  template <class T> static constexpr bool turns_in_registers =
      !std::is_same_v<T, bool> && !cotangent::detail::is_half_type<T> && W * static_cast<int>(sizeof(T)) == simd::bytes;

  /// Loads the rows of the block into a tile, transposed.
  template <int I> COTANGENT_INLINE void load_tile() noexcept {
    if constexpr (shape::has_tile(I)) {
      if constexpr (at(I).what == detail::action::load && shape::tile_owner(I) == I) {
        using T = element_t<at(I).type>;
        T const* const p = pointer<I, T const>(0);
        std::int64_t const step = x.value(shape::template row_stride<I>()), across_step = x.value(shape::template lane_stride<I>());
        T* const to = reinterpret_cast<T*>(tiles + tile_at<I>);
        if constexpr (turns_in_registers<T> && shape::template lane_stride<I>() == 1) {
          using V = math::vector<T, W>;
          for (int c = 0; c < shape::columns; c += W) {
            V rows_[W];
            for (int k = 0; k < W; ++k)
              rows_[k] = k < active ? simd::load<V>(p + k * step + c, shape::columns - c < W ? shape::columns - c : W) : V{};
            simd::transpose(rows_);
            for (int k = 0; k < W && c + k < shape::columns; ++k) simd::store(to + (c + k) * W, rows_[k]);
          }
        } else
          for (int c = 0; c < shape::columns; ++c)
            for (int k = 0; k < W; ++k) to[c * W + k] = k < active ? p[k * step + c * across_step] : T{};
      }
    }
  }
  /// Stores a tile to the rows of the block.
  template <int I> COTANGENT_INLINE void store_tile() noexcept {
    if constexpr (shape::has_tile(I)) {
      if constexpr (at(I).what != detail::action::load) {
        using T = element_t<at(I).type>;
        T* const p = pointer<I, T>(0);
        std::int64_t const step = x.value(shape::template row_stride<I>()), across_step = x.value(shape::template lane_stride<I>());
        T const* const from = reinterpret_cast<T const*>(tiles + tile_at<I>);
        if constexpr (turns_in_registers<T> && shape::template lane_stride<I>() == 1) {
          using V = math::vector<T, W>;
          for (int c = 0; c < shape::columns; c += W) {
            V rows_[W];
            for (int k = 0; k < W; ++k) rows_[k] = c + k < shape::columns ? simd::load<V>(from + (c + k) * W) : V{};
            simd::transpose(rows_);
            for (int k = 0; k < W && k < active; ++k)
              simd::store(p + k * step + c, rows_[k], shape::columns - c < W ? shape::columns - c : W);
          }
        } else
          for (int k = 0; k < active; ++k)
            for (int c = 0; c < shape::columns; ++c) p[k * step + c * across_step] = from[c * W + k];
      }
    }
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
