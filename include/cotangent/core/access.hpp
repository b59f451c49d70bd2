// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ACCESS_HPP
#define COTANGENT_CORE_ACCESS_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/core/layout.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

#if defined(_GLIBCXX_ASSERTIONS) && !defined(COTANGENT_ASSERTIONS)
#  define COTANGENT_ASSERTIONS 1
#endif

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL(number_of_indices, equal, indices_given, rank_of_tensor, "cotangent: tensor: there must be as many indices as the rank")
// clang-format on
} // namespace refusals

namespace detail {

/// Reading and writing row-major elements, shared by tensors and views.
///
/// `Derived` has `data()`, `layout_of()` and `held()`, the number of elements in memory.
template <class Derived, class Element, extent... Extents>
class accessible {
  using layout_type = layout<Extents...>;
  constexpr Derived const& self() const noexcept { return static_cast<Derived const&>(*this); }
  constexpr Derived& self() noexcept { return static_cast<Derived&>(*this); }

public:
  static constexpr int rank = layout_type::rank;
  /// True if every extent is a number.
  static constexpr bool is_static = layout_type::is_static;
  /// The extents in the type; `shape()` has the sizes.
  static constexpr cotangent::shape extents = layout_type::extents;

  constexpr std::int64_t extent(int axis) const noexcept { return self().layout_of().extent(axis); }
  constexpr std::int64_t size() const noexcept { return self().layout_of().size(); }
  constexpr bool empty() const noexcept { return size() == 0; }
  constexpr cotangent::shape shape() const noexcept {
    cotangent::shape result;
    for (int i = 0; i < rank; ++i) result.push(cotangent::extent::of(extent(i)));
    return result;
  }

  constexpr auto begin() noexcept { return self().data(); }
  constexpr auto begin() const noexcept { return self().data(); }
  constexpr auto end() noexcept { return self().data() + self().held(); }
  constexpr auto end() const noexcept { return self().data() + self().held(); }

  /// One index for each axis. Checked only with COTANGENT_ASSERTIONS or _GLIBCXX_ASSERTIONS.
  template <std::integral... Index>
  constexpr auto& operator()(Index... index) {
    return self().data()[offset(static_cast<std::int64_t>(index)...)];
  }
  template <std::integral... Index>
  constexpr auto& operator()(Index... index) const {
    return self().data()[offset(static_cast<std::int64_t>(index)...)];
  }

#if COTANGENT_EXCEPTIONS
  /// Like `operator()`, but always checked: throws `shape_error`.
  template <std::integral... Index>
  constexpr auto& at(Index... index) {
    check_indices(to_size(index)...);
    return (*this)(index...);
  }
  template <std::integral... Index>
  constexpr auto& at(Index... index) const {
    check_indices(to_size(index)...);
    return (*this)(index...);
  }
#endif

  constexpr void fill(Element const& value)
    requires(!std::is_const_v<Element>)
  {
    Element const copy = value; // `value` may be an element of this object
    for (auto& e : *this) e = copy;
  }

private:
  template <class... Index>
  constexpr std::int64_t offset([[maybe_unused]] Index... index) const {
    if constexpr (sizeof...(Index) != rank) {
      refusals::number_of_indices::report<cotangent::extent::of(sizeof...(Index)),
                                          cotangent::extent::of(rank)>();
      return 0;
    } else {
#ifdef COTANGENT_ASSERTIONS
      if (!in_range(index...)) fail(index...);
#endif
      std::int64_t result = 0;
      [[maybe_unused]] int axis = 0;
      ((result = result * extent(axis) + index, ++axis), ...);
      return result;
    }
  }

  template <class... Index>
  constexpr bool in_range([[maybe_unused]] Index... index) const noexcept {
    [[maybe_unused]] int axis = 0;
    return self().held() != 0 && ((index >= 0 && index < extent(axis++)) && ...);
  }

  template <class... Index>
  constexpr void check_indices(Index... index) const {
    if constexpr (sizeof...(Index) == rank)
      if (!in_range(index...)) fail(index...);
  }

  template <class... Index>
  void fail(Index... index) const {
#if COTANGENT_EXCEPTIONS
    std::int64_t const all[]{index..., 0};
    message text("cotangent: tensor: the indices (");
    for (int i = 0; i < rank; ++i) text.put(i == 0 ? "" : ", ").put(all[i]);
    raise<shape_error>(text.put(") must be at least 0 and less than the extents ").put(shape()));
#else
    ((void)index, ...);
    __builtin_trap();
#endif
  }
};

} // namespace detail
} // namespace cotangent

#endif
