// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_VIEW_HPP
#define COTANGENT_CORE_VIEW_HPP

#include <cotangent/core/refusal.hpp>
#include <cotangent/core/well_formed.hpp>

#include <cotangent/core/memory.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace cotangent::refusals {

// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_SHAPES(view_shape, equal, shape_of_memory, shape_of_view, "cotangent: view: the sizes of the memory must equal the extents of the view")
COTANGENT_REFUSAL_SHAPES(view_sizes, is, shape_of_memory, shape_of_view, "cotangent: view: the size of the memory does not say the sizes of the names; give one for each after it")
COTANGENT_REFUSAL(view_number_of_sizes, equal, sizes_given, names_in_extents, "cotangent: view: there must be one size for each name in the extents")
COTANGENT_REFUSAL_TYPES(view_element, equal, elements_of_memory, elements_of_view, "cotangent: view: the elements of the memory must be those of the view; elements that are const need ct::view<Element const, ...>")
COTANGENT_REFUSAL_OF(view_of_temporary, allowed, "cotangent: view: a temporary that owns its elements must not be seen; give it a name first")
// clang-format on

} // namespace cotangent::refusals

namespace cotangent {

namespace detail {

template <class Source>
concept memory_like = takes_memory<std::remove_cvref_t<Source>>;

template <class Source>
concept pointer_like = std::is_pointer_v<std::remove_cvref_t<Source>> &&
                       element_type<std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<Source>>>>;

template <class Source>
consteval auto pointer_into() {
  if constexpr (pointer_like<Source>) return std::type_identity<std::remove_cvref_t<Source>>{};
  else {
    using memory = memory_traits<std::remove_cvref_t<Source>>;
    return std::type_identity<decltype(memory::data(std::declval<std::remove_reference_t<Source>&>()))>{};
  }
}

template <class Source, class Element>
concept elements_fit =
    std::is_convertible_v<std::remove_pointer_t<typename decltype(pointer_into<Source>())::type> (*)[],
                          Element (*)[]>;

template <class Source, extent... Extents>
consteval bool has_extents() {
  if constexpr (pointer_like<Source>) return false;
  else return memory_traits<std::remove_cvref_t<Source>>::extents == layout<Extents...>::extents;
}

/// Computes the size of the only name from the number of elements; -1 if the division is not exact.
template <class Layout>
constexpr bool sizes_from_count(std::int64_t count, std::int64_t* sizes) noexcept {
  int unknown = -1;
  std::int64_t others = 1;
  for (int i = 0; i < Layout::rank; ++i) {
    sizes[i] = Layout::extents.extents[i].number;
    if (sizes[i] < 0) unknown = i;
    else others *= sizes[i];
  }
  if (unknown < 0) return others == count;
  if (others == 0 || count % others != 0) return false;
  sizes[unknown] = count / others;
  return true;
}

constexpr int count_symbols(shape const& s) noexcept {
  int count = 0;
  for (int i = 0; i < s.rank; ++i) count += s.extents[i].is_number() ? 0 : 1;
  return count;
}

constexpr bool shapes_can_meet(shape const& a, shape const& b) noexcept {
  for (int i = 0; i < a.rank; ++i)
    if (a.extents[i].is_number() && b.extents[i].is_number() && a.extents[i] != b.extents[i]) return false;
  return true;
}

inline message misfit_of_count(shape const& extents, std::int64_t count) {
  message text("cotangent: view: the memory has ");
  return text.put(count).put(" elements, which do not make the extents ").put(extents);
}

} // namespace detail

/// A non-owning, row-major window on elements. `Element` may be const.
///
///     ct::view<double, "n">(x)              // x: a std::vector, a std::span, an array, a tensor, ...
///     ct::view<double const, "n", 3>(x)     // n is x.size() / 3
///     ct::view<double, "n", "m">(p, 5, 7)   // p: a pointer, or memory of 35 elements; one size a name
///
/// A tensor or an array with exactly the same extents converts implicitly, everything else explicitly. A view
/// copies like a pointer. `view()` is a null view (`data() == nullptr`); without exceptions, so is a view
/// whose memory does not fit.
///
/// Refuses: memory whose elements or static sizes differ; a temporary that owns its elements; memory with
/// strides (`strided_span` takes it); types that do not tell how their elements lie.
/// Throws: `shape_error` if run-time sizes do not fit the extents; it names both.
/// Checked: tests/runtime/view.cpp, tests/fail/view_*.cpp
template <class Element, extent... Extents>
class view : public detail::accessible<view<Element, Extents...>, Element, Extents...> {
  static_assert(detail::refuse_malformed<std::remove_const_t<Element>, Extents...>());
  using layout = detail::layout<Extents...>;

  Element* data_ = nullptr;
  [[no_unique_address]] layout layout_;

public:
  using value_type = std::remove_const_t<Element>;
  using element_type = Element;

  constexpr view() noexcept = default;
  constexpr view(view const&) noexcept = default;
  constexpr view& operator=(view const&) noexcept = default;

  constexpr view(view<std::remove_const_t<Element>, Extents...> const& other) noexcept
    requires(std::is_const_v<Element>)
      : data_(other.data()), layout_(other.layout_of()) {}

  /// A view of memory, with one size for each name if the memory does not determine them.
  template <class Source, std::integral... Size>
    requires(detail::memory_like<Source> || detail::pointer_like<Source>)
  constexpr explicit(!detail::has_extents<Source, Extents...>() || !detail::elements_fit<Source, Element>)
      view(Source&& source, Size... size) {
    if constexpr (detail::unread_memory<std::remove_cvref_t<Source>>) {
      detail::memory_traits<std::remove_cvref_t<Source>>::refuse();
    } else if constexpr (detail::strided_memory<std::remove_cvref_t<Source>>) {
      refusals::memory_with_strides::report<std::remove_cvref_t<Source>>();
    } else if constexpr (!detail::elements_fit<Source, Element>) {
      refusals::view_element::report<
          std::remove_pointer_t<typename decltype(detail::pointer_into<Source>())::type>, Element>();
    } else if constexpr (detail::pointer_like<Source>) {
      if (set_named(detail::to_size(size)...)) data_ = source;
    } else {
      using memory = detail::memory_traits<std::remove_cvref_t<Source>>;
      if constexpr (memory::owns && !std::is_lvalue_reference_v<Source>) {
        refusals::view_of_temporary::report<std::remove_cvref_t<Source>>();
      } else {
        std::int64_t sizes[max_rank + 1]{};
        memory::sizes(source, sizes);
        if (fits<memory>(sizes, detail::to_size(size)...)) data_ = memory::data(source);
      }
    }
  }

  constexpr Element* data() const noexcept { return data_; }

  constexpr void fill(Element const& value) const
    requires(!std::is_const_v<Element>)
  {
    Element const copy = value; // `value` may be an element of this view
    for (Element& e : *this) e = copy;
  }

  constexpr operator std::remove_const_t<Element>() const noexcept
    requires(layout::rank == 0)
  {
    return *data_;
  }

  /// @private
  constexpr layout const& layout_of() const noexcept { return layout_; }
  constexpr std::int64_t held() const noexcept { return data_ == nullptr ? 0 : layout_.size(); }

private:
  template <class... Size>
  constexpr bool set_named(Size... size) {
    constexpr int names = detail::names_in(layout::extents).count;
    if constexpr (sizeof...(Size) != names) {
      refusals::view_number_of_sizes::report<cotangent::extent::of(sizeof...(Size)),
                                             cotangent::extent::of(names)>();
      return false;
    } else {
      std::int64_t const given[sizeof...(Size) + 1]{size...};
      return detail::set_named(layout_, given, "view");
    }
  }

  template <class Memory, class... Size>
  constexpr bool fits(std::int64_t const* sizes, Size... size) {
    constexpr shape const& given = Memory::extents;
    constexpr bool flat = given.rank == 1;
    std::int64_t const count = detail::checked_product(sizes, given.rank);
    if constexpr (sizeof...(Size) != 0) {
      if (!set_named(size...)) return false;
      if (layout_.size() == count) return true;
    } else if constexpr (given.rank == layout::rank) {
      if constexpr (!detail::shapes_can_meet(given, layout::extents))
        refusals::view_shape::report<given, layout::extents>();
      else return detail::set_checked(layout_, sizes, "view");
      return false;
    } else if constexpr (!flat ||
                         (layout::is_static && given.is_static() && given.size() != layout::extents.size())) {
      refusals::view_shape::report<given, layout::extents>();
    } else if constexpr (detail::count_symbols(layout::extents) > 1 ||
                         detail::count_symbols(layout::extents) != detail::names_in(layout::extents).count) {
      refusals::view_sizes::report<given, layout::extents>();
    } else {
      std::int64_t found[max_rank + 1]{};
      if (detail::sizes_from_count<layout>(count, found)) return detail::set_checked(layout_, found, "view");
    }
    detail::raise_if_offered<shape_error>(detail::misfit_of_count(layout::extents, count));
    layout_.clear();
    return false;
  }
};

namespace detail {
template <class Element, extent... Extents>
struct memory_traits<view<Element, Extents...>>
    : accessible_memory<view<Element, Extents...>, Element, Extents...> {
  static constexpr bool owns = false;
};
} // namespace detail

} // namespace cotangent

#endif
