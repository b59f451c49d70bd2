// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_LAYOUT_HPP
#define COTANGENT_CORE_LAYOUT_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/names.hpp>
#include <cotangent/core/well_formed.hpp>

#include <cstddef>
#include <cstdint>

namespace cotangent::detail {

// Refused extents become zeros, so that one mistake yields one error.
template <extent... E>
consteval shape usable_extents() {
  if constexpr (well_formed_extents<E...>) return shape_of<E...>;
  shape zeros;
  zeros.rank = sizeof...(E) < max_rank ? sizeof...(E) : max_rank;
  return zeros;
}

/// The sizes of the axes of a tensor or a view: stored in the type if all are numbers, else in the object.
template <extent... E>
class layout {
public:
  static constexpr shape extents = usable_extents<E...>();
  static constexpr int rank = extents.rank;
  static constexpr bool is_static = true;
  static constexpr std::int64_t static_size = extents.size().number;

  static constexpr std::int64_t extent(int axis) noexcept { return extents.extents[axis].number; }
  static constexpr std::int64_t size() noexcept { return static_size; }
  static constexpr void clear() noexcept {}
  /// Stores sizes that were checked.
  static constexpr void set(std::int64_t const*) noexcept {}
  static constexpr int sizes_from_names(std::int64_t const*, std::int64_t* sizes) noexcept {
    for (int i = 0; i < rank; ++i) sizes[i] = extent(i);
    return -1;
  }
};

template <extent... E>
  requires(!usable_extents<E...>().is_static())
class layout<E...> {
  std::int64_t sizes_[sizeof...(E)]{};

public:
  static constexpr shape extents = usable_extents<E...>();
  static constexpr int rank = extents.rank;
  static constexpr bool is_static = false;
  static constexpr std::int64_t static_size = -1;

  constexpr layout() noexcept { clear(); }
  constexpr std::int64_t extent(int axis) const noexcept { return sizes_[axis]; }
  constexpr std::int64_t size() const noexcept {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= sizes_[i];
    return product;
  }
  /// Sets every symbolic extent to 0.
  constexpr void clear() noexcept {
    for (int i = 0; i < rank; ++i) sizes_[i] = extents.extents[i].number >= 0 ? extents.extents[i].number : 0;
  }
  constexpr void set(std::int64_t const* sizes) noexcept {
    for (int i = 0; i < rank; ++i) sizes_[i] = sizes[i];
  }
  static constexpr int sizes_from_names(std::int64_t const* named, std::int64_t* sizes) noexcept {
    return detail::sizes_from_names<E...>(named, sizes);
  }
};

template <class Layout>
constexpr bool same_sizes(Layout const& a, Layout const& b) noexcept {
  if constexpr (!Layout::is_static)
    for (int i = 0; i < Layout::rank; ++i)
      if (a.extent(i) != b.extent(i)) return false;
  return true;
}

/// A layout that becomes empty when its owner is moved from.
template <extent... E>
struct owned_layout : layout<E...> {
  constexpr owned_layout() noexcept = default;
  constexpr explicit owned_layout(layout<E...> const& other) noexcept : layout<E...>(other) {}
  constexpr owned_layout(owned_layout const&) noexcept = default;
  constexpr owned_layout(owned_layout&& other) noexcept : layout<E...>(other) { other.clear(); }
  constexpr owned_layout& operator=(owned_layout const&) noexcept = default;
  constexpr owned_layout& operator=(owned_layout&& other) noexcept {
    if (this == &other) return *this;
    layout<E...>::operator=(other);
    other.clear();
    return *this;
  }
};
template <extent... E>
  requires(layout<E...>::is_static)
struct owned_layout<E...> : layout<E...> {
  constexpr owned_layout() noexcept = default;
  constexpr explicit owned_layout(layout<E...> const&) noexcept {}
};

// Saturates above any possible size: numbers that do not fit std::int64_t are refused like sizes that do not
// fit memory.
template <class Integer>
constexpr std::int64_t to_size(Integer n) noexcept {
  if (n < Integer{}) return -1;
  return static_cast<std::uint64_t>(n) > static_cast<std::uint64_t>(INT64_MAX) ? INT64_MAX
                                                                               : static_cast<std::int64_t>(n);
}

/// True if a tensor can have these sizes.
constexpr bool sizes_are_possible(std::int64_t const* sizes, int rank) noexcept {
  for (int i = 0; i < rank; ++i)
    if (sizes[i] < 0) return false;
  std::int64_t const product = checked_product(sizes, rank);
  return product >= 0 && product <= max_size;
}

constexpr message impossible_sizes(shape const& extents, std::int64_t const* sizes, char const* subject) {
  message text("cotangent: ");
  text.put(subject);
  for (int i = 0; i < extents.rank; ++i)
    if (sizes[i] < 0)
      return text.put(": the size of axis ")
          .put(i)
          .put(" must not be negative and must fit 64 bits; the extents are ")
          .put(extents);
  text.put(": the product of the sizes [");
  for (int i = 0; i < extents.rank; ++i) text.put(i == 0 ? "" : ", ").put(sizes[i]);
  return text.put("] must be less than 2^60; the extents are ").put(extents);
}

constexpr message misfit(axis_fit const& f, shape const& extents, std::int64_t const* sizes, char const* subject) {
  message text("cotangent: ");
  text.put(subject).put(": the size ").put(sizes[f.axis]).put(" of axis ").put(f.axis).put(" must equal ");
  if (f.failed == axis_fit::number) text.put("the extent ").put(f.wanted);
  else {
    text.put("the extent ").put(extents.extents[f.axis]).put(", which is ");
    f.wanted < 0 ? text.put("negative or too large") : text.put(f.wanted);
  }
  if (f.failed == axis_fit::too_many_names) text = message("cotangent: too many different names");
  return text.put("; the extents are ").put(extents);
}

/// Sets sizes that come from a caller, if they fit. Otherwise throws, or returns false without exceptions.
/// (`Layout` is not `layout<E...>`: g++ 12 cannot deduce extents that a caller has in a pack.)
template <class Layout>
constexpr bool set_checked(Layout& to, std::int64_t const* sizes, char const* subject) {
  if (!sizes_are_possible(sizes, Layout::rank)) {
    raise_if_offered<shape_error>(impossible_sizes(Layout::extents, sizes, subject));
    return false;
  }
  bindings known;
  if (axis_fit const f = bind_axes(known, Layout::extents, sizes); f.failed != axis_fit::nothing) {
    raise_if_offered<shape_error>(misfit(f, Layout::extents, sizes, subject));
    return false;
  }
  to.set(sizes);
  return true;
}

/// Like `set_checked`, from one size for each name.
template <class Layout>
constexpr bool set_named(Layout& to, std::int64_t const* named, char const* subject) {
  std::int64_t sizes[Layout::rank + 1]{};
  if (Layout::sizes_from_names(named, sizes) >= 0 || !sizes_are_possible(sizes, Layout::rank)) {
    raise_if_offered<shape_error>(impossible_sizes(Layout::extents, sizes, subject));
    return false;
  }
  to.set(sizes);
  return true;
}

} // namespace cotangent::detail

#endif
