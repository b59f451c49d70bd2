// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_CALL_HPP
#define COTANGENT_TRACE_PROGRAM_CALL_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/trace/program/binding.hpp>
#include <cotangent/trace/program/stages.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// The arguments and results of a call: their addresses and sizes.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class T> constexpr auto* data_of_leaf(T& leaf) {
  return memory_traits<std::remove_const_t<T>>::data(leaf);
}

/// Records the sizes of the leaves, `max_rank` for each.
struct leaf_sizes {
  std::int64_t* next;
  template <class X> constexpr void operator()(X const& x) {
    memory_traits<X>::sizes(x, next);
    next += max_rank;
  }
};
struct leaf_inputs {
  void const** next;
  bool nothing = false;
  template <class X> void operator()(X const& x) {
    *next++ = static_cast<void const*>(data_of_leaf(x));
    nothing = nothing || is_of_nothing(x);
  }
};
struct leaf_outputs {
  void** next;
  template <class X> void operator()(X& x) {
    *next++ = const_cast<void*>(static_cast<void const*>(data_of_leaf(x)));
  }
};
struct leaf_elements_in {
  elements_in* next;
  template <class X> constexpr void operator()(X const& x) { *next++ = elements_in(data_of_leaf(x)); }
};
struct leaf_elements_out {
  elements_out* next;
  template <class X> constexpr void operator()(X& x) { *next++ = elements_out(data_of_leaf(x)); }
};

/// Creates the leaves of results with the sizes of the graph's outputs.
struct leaf_results {
  dimensions const* next; // of the outputs
  std::int64_t const* sizes;

  template <class X> constexpr X leaf() {
    dimensions const& d = *next++;
    if constexpr (element_type<X> || tuple_sized<X>) return X{};
    else if constexpr (has_owner<X>) {
      std::int64_t of_axes[max_rank + 1]{};
      for (int k = 0; k < d.rank; ++k) of_axes[k] = d.size[k] >= 0 ? d.size[k] : sizes[-1 - d.size[k]];
      return extend::memory<X>::make(of_axes);
    }
    else if constexpr (requires { X::is_static; }) {
      if constexpr (X::is_static) return std::is_constant_evaluated() ? X() : X(uninitialized);
      else {
        shape s;
        for (int k = 0; k < d.rank; ++k)
          s.push(extent::of(d.size[k] >= 0 ? d.size[k] : sizes[-1 - d.size[k]]));
        return X(uninitialized, s);
      }
    } else return X(static_cast<std::size_t>(d.size[0] >= 0 ? d.size[0] : sizes[-1 - d.size[0]]));
  }
};

/// False if a leaf of a tree of results is const: `Tree` may be const, its parts may be references.
template <class Tree> consteval bool is_writable() {
  using T = std::remove_const_t<Tree>;
  if constexpr (tree_kind_of<T> == tree_kind::product)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (true && ... && is_writable<std::remove_reference_t<decltype(std::get<I>(std::declval<Tree&>()))>>());
    }(std::make_index_sequence<std::tuple_size<T>::value>{});
  else if constexpr (tree_kind_of<T> == tree_kind::structure)
    return decltype(with_members<T>([]<class... Accessor>(Accessor const&... accessor) {
      return std::bool_constant<(true && ... && is_writable<std::remove_reference_t<decltype(boost::hana::second(accessor)(std::declval<Tree&>()))>>())>();
    }))::value;
  else if constexpr (tree_kind_of<T> == tree_kind::memory)
    return !std::is_const_v<std::remove_pointer_t<decltype(memory_traits<T>::data(std::declval<Tree&>()))>>;
  else return true;
}

} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent

#endif
