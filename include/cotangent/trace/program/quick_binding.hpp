// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_QUICK_BINDING_HPP
#define COTANGENT_TRACE_PROGRAM_QUICK_BINDING_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/trace/program/binding.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

/// `Binding.bind`, unrolled over axes and extents: a call of a small function takes a few nanoseconds, so its
/// sizes may take no more. If it returns false, `bind` has the error message.
template <auto const& Binding> struct quick_binding {
  /// `of_leaves` has `max_rank` sizes for each leaf; writes one size for each extent of the graph to `sizes`.
  COTANGENT_INLINE static bool bind(std::int64_t const* of_leaves, std::int64_t* sizes) noexcept {
    return set_sizes(of_leaves, sizes, std::make_integer_sequence<int, Binding.extent_count>{}) &&
           disagreement(of_leaves, std::make_integer_sequence<int, Binding.axis_count>{}) == 0;
  }

private:
  template <int A> COTANGENT_INLINE static std::int64_t size_of(std::int64_t const* of_leaves) noexcept {
    return of_leaves[Binding.axes[A].leaf * max_rank + Binding.axes[A].axis];
  }
  template <axis_formula const& Formula, int T, int... J>
  COTANGENT_INLINE static bool add_product([[maybe_unused]] std::int64_t const* of_leaves, std::int64_t& sum,
                                           std::integer_sequence<int, J...>) noexcept {
    std::int64_t product = Formula.terms[T].coefficient;
    bool const fits =
        (true && ... &&
         !__builtin_mul_overflow(product, size_of<Formula.terms[T].axis[J]>(of_leaves), &product));
    return fits && !__builtin_add_overflow(sum, product, &sum);
  }
  template <axis_formula const& Formula, int... T>
  COTANGENT_INLINE static bool compute(std::int64_t const* of_leaves, std::int64_t& size,
                                       std::integer_sequence<int, T...>) noexcept {
    size = 0;
    bool const fits = (true && ... &&
                       add_product<Formula, T>(of_leaves, size,
                                               std::make_integer_sequence<int, Formula.terms[T].degree>{}));
    return fits && (size >= 0);
  }
  /// Zero if the axis has the right size. (Differences are combined for one branch.)
  template <int A> COTANGENT_INLINE static std::int64_t difference(std::int64_t const* of_leaves) noexcept {
    constexpr int first = Binding.axes[A].first;
    if constexpr (first != A) return size_of<A>(of_leaves) ^ size_of<first>(of_leaves);
    else if constexpr (Binding.of_axis[A].kind != axis_formula::kept) return 0;
    else {
      std::int64_t wanted = 0;
      bool const fits = compute<Binding.of_axis[A]>(of_leaves, wanted,
                                                    std::make_integer_sequence<int, Binding.of_axis[A].count>{});
      return fits ? wanted ^ size_of<A>(of_leaves) : 1;
    }
  }
  template <int E> COTANGENT_INLINE static bool set_size(std::int64_t const* of_leaves,
                                                         std::int64_t* sizes) noexcept {
    if constexpr (Binding.source[E] >= 0) {
      sizes[E] = size_of<Binding.source[E]>(of_leaves);
      return true;
    } else
      return compute<Binding.of_extent[E]>(of_leaves, sizes[E],
                                           std::make_integer_sequence<int, Binding.of_extent[E].count>{});
  }
  template <int... E>
  COTANGENT_INLINE static bool set_sizes([[maybe_unused]] std::int64_t const* of_leaves,
                                         [[maybe_unused]] std::int64_t* sizes,
                                         std::integer_sequence<int, E...>) noexcept {
    return (true && ... && set_size<E>(of_leaves, sizes));
  }
  template <int... A>
  COTANGENT_INLINE static std::int64_t disagreement([[maybe_unused]] std::int64_t const* of_leaves,
                                                    std::integer_sequence<int, A...>) noexcept {
    return (std::int64_t{} | ... | difference<A>(of_leaves));
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
