// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_STRIDED_SPAN_HPP
#define COTANGENT_CORE_STRIDED_SPAN_HPP

#include <cotangent/core/argument.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cotangent {

/// A non-owning window on elements with one stride for each axis, in elements. Strides may be negative, so that the
/// window reads backwards: `data()` is element (0, 0, ...). `Element` may be const.
///
///     ct::strided_span<double, "n", "m">(p, {3, 2}, {1, 3})            // 3 x 2, lies by columns
///     ct::strided_span<double const, "n">(p + 4, {5}, {-1})            // backwards
///
/// Compiled functions take it as an argument, and `run` as a result. Elements of a result must have one address each.
///
/// Throws: `shape_error` if the sizes do not fit the extents.
/// Checked: tests/runtime/strided.cpp
template <class Element, extent... Extents>
class strided_span {
  static_assert(detail::refuse_malformed<std::remove_const_t<Element>, Extents...>());
  using layout = detail::layout<Extents...>;

  Element* data_ = nullptr;
  [[no_unique_address]] layout layout_;
  std::int64_t strides_[sizeof...(Extents) + 1]{};

public:
  using value_type = std::remove_const_t<Element>;
  using element_type = Element;
  static constexpr int rank = sizeof...(Extents);

  constexpr strided_span() noexcept = default;
  template <std::size_t N>
    requires(N == sizeof...(Extents))
  constexpr strided_span(Element* data, std::int64_t const (&sizes)[N], std::int64_t const (&strides)[N])
  {
    set(data, sizes, strides);
  }
  /// @private
  constexpr void set(Element* data, std::int64_t const* sizes, std::int64_t const* strides) {
    if (!detail::set_checked(layout_, sizes, "view")) return;
    data_ = data;
    for (int k = 0; k < rank; ++k) strides_[k] = strides[k];
  }

  constexpr Element* data() const noexcept { return data_; }
  constexpr std::int64_t extent(int axis) const noexcept { return layout_.extent(axis); }
  constexpr std::int64_t stride(int axis) const noexcept { return strides_[axis]; }
  template <class... Index>
    requires(sizeof...(Index) == sizeof...(Extents))
  constexpr Element& operator()(Index... index) const noexcept {
    std::int64_t const at[]{static_cast<std::int64_t>(index)..., 0};
    std::int64_t offset = 0;
    for (int k = 0; k < rank; ++k) offset += at[k] * strides_[k];
    return data_[offset];
  }
};

} // namespace cotangent

namespace cotangent::extend {

template <class Element, extent... Extents> struct memory<strided_span<Element, Extents...>> {
  using element = std::remove_const_t<Element>;
  static constexpr shape extents = detail::layout<Extents...>::extents;
  static constexpr bool owns = false;
  static constexpr Element* data(strided_span<Element, Extents...> const& v) noexcept { return v.data(); }
  static constexpr void sizes(strided_span<Element, Extents...> const& v, std::int64_t* to) noexcept {
    for (int k = 0; k < extents.rank; ++k) to[k] = v.extent(k);
  }
  static constexpr void strides(strided_span<Element, Extents...> const& v, std::int64_t* to) noexcept {
    for (int k = 0; k < extents.rank; ++k) to[k] = v.stride(k);
  }
};

} // namespace cotangent::extend

namespace cotangent::detail {
template <class Element, extent... E>
inline constexpr bool keeps_extents<strided_span<Element, E...>> = true;
} // namespace cotangent::detail

#endif
