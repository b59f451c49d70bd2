// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_TENSOR_HPP
#define COTANGENT_CORE_TENSOR_HPP

#include <cotangent/core/refusal.hpp>
#include <cotangent/core/well_formed.hpp>

#include <cotangent/core/access.hpp>
#include <cotangent/core/braces.hpp>
#include <cotangent/core/storage.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace cotangent {

namespace detail {
template <class Element, extent... Extents>
consteval auto storage_type() {
  constexpr std::int64_t size = layout<Extents...>::static_size;
  if constexpr (size >= 0 && size <= static_cast<std::int64_t>(inline_bytes / sizeof(Element)))
    return std::type_identity<inline_storage<Element, size>>{};
  else return std::type_identity<heap_storage<Element>>{};
}
} // namespace detail

/// A tensor that owns its elements, in row-major order.
///
///     ct::tensor<double, 2, 2> a{{1, 2}, {3, 4}};   // braces are elements, nested as the extents are
///     ct::tensor<double, "n", 3> x(100);            // parentheses are sizes: one for each name
///     ct::tensor<float, 64, 32> w;                  // zeros; empty if an extent has a name
///     ct::tensor<double> loss = 1.5;                // rank 0: converts from and to its element
///
/// Up to 256 bytes of elements lie in the object, if all extents are numbers, and can be used in constant
/// expressions. Others lie on the heap, aligned to 64 bytes. A tensor that was moved from may be assigned to
/// and destroyed; its `begin()` is its `end()`. `a(i, j)` is checked with assertions only, `a.at(i, j)`
/// always. Braces nest up to four deep.
///
/// Refuses: other elements; extents that are negative or not names; braces that do not fit; a wrong number of
/// sizes.
/// Throws: `shape_error` if a size is negative or there would be too many elements.
/// Checked: tests/static/tensor.cpp, tests/runtime/tensor.cpp, tests/fail/tensor_*.cpp
template <class Element, extent... Extents>
class tensor : public detail::accessible<tensor<Element, Extents...>, Element, Extents...> {
  static_assert(detail::refuse_malformed<Element, Extents...>());

  using base = detail::accessible<tensor, Element, Extents...>;
  using storage_type = typename decltype(detail::storage_type<Element, Extents...>())::type;
  static constexpr int rank_ = detail::layout<Extents...>::rank;
  static constexpr bool is_static_ = detail::layout<Extents...>::is_static;

  [[no_unique_address]] detail::owned_layout<Extents...> layout_;
  storage_type storage_;

public:
  using value_type = Element;

  constexpr tensor() : storage_(layout_.size()) {}

  constexpr explicit tensor(uninitialized_t)
    requires(is_static_)
      : storage_(uninitialized, layout_.size()) {}

  constexpr tensor(Element value)
    requires(rank_ == 0)
      : storage_(uninitialized, 1) {
    *storage_.data() = value;
  }

  /// One size for each name, in the order of first appearance.
  template <std::integral... Size>
    requires(!is_static_ && sizeof...(Size) != 0)
  constexpr explicit tensor(Size... size)
      : layout_(named(detail::to_size(size)...)), storage_(layout_.size()) {}

  template <std::integral... Size>
    requires(!is_static_ && sizeof...(Size) != 0)
  constexpr explicit tensor(uninitialized_t, Size... size)
      : layout_(named(detail::to_size(size)...)), storage_(uninitialized, layout_.size()) {}

  /// Takes the sizes of all axes, as a shape of numbers.
  constexpr explicit tensor(uninitialized_t, cotangent::shape const& sizes)
    requires(!is_static_)
      : layout_(sized(sizes)), storage_(uninitialized, layout_.size()) {}

  /// Copies the elements of a view; zeros for a null view.
  template <class Derived, class Other>
    requires(std::same_as<std::remove_const_t<Other>, Element> && !std::same_as<Derived, tensor>)
  constexpr explicit tensor(detail::accessible<Derived, Other, Extents...> const& other)
      : layout_(static_cast<Derived const&>(other).layout_of()), storage_(uninitialized, layout_.size()) {
    bool const nothing = other.begin() == other.end();
    for (std::int64_t i = 0; i < layout_.size(); ++i)
      storage_.data()[i] = nothing ? Element{} : other.begin()[i];
  }

  // Elements in braces. If the first extent has a name, its size is the number of values.
  template <class... Value>
    requires(is_static_ && rank_ > 0 && sizeof...(Value) != 0 && ((std::is_arithmetic_v<Value> || detail::is_half_type<Value>) && ...))
  constexpr explicit(sizeof...(Value) == 1) tensor(Value... value) : storage_(uninitialized, layout_.size()) {
    constexpr cotangent::extent count = cotangent::extent::of(sizeof...(Value));
    if constexpr (rank_ != 1)
      refusals::brace_depth::report<cotangent::extent::of(1), cotangent::extent::of(rank_)>();
    else if constexpr (count != detail::layout<Extents...>::extents.extents[0])
      refusals::brace_count::report<count, detail::layout<Extents...>::extents.extents[0]>();
    else if constexpr (!detail::is_floating_type<Element> && (detail::is_floating_type<Value> || ...))
      (refuse_value<Value>(), ...);
    else {
      Element* to = storage_.data();
      ((*to++ = static_cast<Element>(static_cast<detail::arithmetic_type<Value>>(value))), ...);
    }
  }

  constexpr tensor(std::initializer_list<Element> values)
    requires(!is_static_ && rank_ == 1)
      : layout_(braced(detail::brace_sizes{{static_cast<std::int64_t>(values.size())}})),
        storage_(uninitialized, layout_.size()) {
    Element* to = storage_.data();
    for (Element const& value : values) *to++ = value;
  }

  template <class Value>
    requires(!is_static_ && rank_ > 1 && std::is_arithmetic_v<Value>)
  constexpr tensor(std::initializer_list<Value>) : storage_(0) {
    refusals::brace_depth::report<cotangent::extent::of(1), cotangent::extent::of(rank_)>();
  }

  template <std::size_t... Second>
    requires(rank_ == 2 && sizeof...(Second) != 0)
  constexpr explicit(sizeof...(Second) == 1) tensor(Element const (&... row)[Second])
      : tensor(nested<detail::brace_sizes{{sizeof...(Second), Second}}...>{}, row...) {}

  template <std::size_t... Second, std::size_t... Third>
    requires(rank_ == 3 && sizeof...(Second) != 0)
  constexpr explicit(sizeof...(Second) == 1) tensor(Element const (&... row)[Second][Third])
      : tensor(nested<detail::brace_sizes{{sizeof...(Second), Second, Third}}...>{}, row...) {}

  template <std::size_t... Second, std::size_t... Third, std::size_t... Fourth>
    requires(rank_ == 4 && sizeof...(Second) != 0)
  constexpr explicit(sizeof...(Second) == 1) tensor(Element const (&... row)[Second][Third][Fourth])
      : tensor(nested<detail::brace_sizes{{sizeof...(Second), Second, Third, Fourth}}...>{}, row...) {}

  template <std::size_t... Second>
    requires(rank_ != 2 && sizeof...(Second) != 0)
  constexpr explicit(sizeof...(Second) == 1)
      tensor([[maybe_unused]] detail::any_value const (&... row)[Second])
      : storage_(layout_.size()) {
    refusals::brace_depth::report<cotangent::extent::of(2), cotangent::extent::of(rank_)>();
  }

  constexpr operator Element() const noexcept
    requires(rank_ == 0)
  {
    return *storage_.data();
  }

  constexpr Element* data() noexcept { return storage_.data(); }
  constexpr Element const* data() const noexcept { return storage_.data(); }

  friend constexpr bool operator==(tensor const& a, tensor const& b) noexcept {
    if (!same_sizes(a.layout_of(), b.layout_of()) || a.held() != b.held()) return false;
    for (std::int64_t i = 0; i < a.held(); ++i)
      if (!(a.data()[i] == b.data()[i])) return false;
    return true;
  }

  template <class Value>
    requires(rank_ == 0 && std::is_arithmetic_v<Value>)
  friend constexpr bool operator==(tensor const& a, Value b) noexcept {
    return *a.data() == b;
  }

  /// @private
  constexpr detail::layout<Extents...> const& layout_of() const noexcept { return layout_; }
  constexpr std::int64_t held() const noexcept { return storage_.count(); }

private:
  using owned_layout = detail::owned_layout<Extents...>;

  template <detail::brace_sizes...>
  struct nested {};

  template <detail::brace_sizes First, detail::brace_sizes... Others, class... Row>
  constexpr explicit tensor(nested<First, Others...>, Row const&... row)
      : layout_(braced(First)), storage_(uninitialized, layout_.size()) {
    constexpr auto misfit = detail::find_misfit(detail::layout<Extents...>::extents, {First, Others...});
    if constexpr (misfit.given != misfit.wanted) {
      refusals::brace_count::report<cotangent::extent::of(misfit.given),
                                    cotangent::extent::of(misfit.wanted)>();
    } else {
      Element* to = storage_.data();
      ((to = detail::copy_nested(to, row)), ...);
    }
  }

  static constexpr owned_layout braced(detail::brace_sizes const& sizes) noexcept {
    owned_layout result;
    result.set(sizes.of);
    return result;
  }

  template <class... Size>
  static constexpr owned_layout named(Size... size) {
    owned_layout result;
    constexpr int names = detail::names_of<Extents...>.count;
    if constexpr (sizeof...(Size) != names) {
      refusals::number_of_sizes::report<cotangent::extent::of(sizeof...(Size)),
                                        cotangent::extent::of(names)>();
    } else {
      std::int64_t const given[]{size...};
      detail::set_named(result, given, "tensor");
    }
    return result;
  }

  static constexpr owned_layout sized(cotangent::shape const& s) {
    owned_layout result;
    std::int64_t sizes[max_rank]{};
    for (int i = 0; i < rank_; ++i) sizes[i] = i < s.rank ? s.extents[i].number : -1;
    detail::set_checked(result, sizes, "tensor");
    return result;
  }

  template <class Value>
  static constexpr void refuse_value() {
    if constexpr (std::is_floating_point_v<Value>) refusals::brace_element::report<Value, Element>();
  }
};

} // namespace cotangent

#endif
