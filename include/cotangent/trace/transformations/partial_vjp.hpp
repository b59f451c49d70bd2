// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_PARTIAL_VJP_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_PARTIAL_VJP_HPP

#include <cotangent/trace/transformations/products.hpp>
#include <cotangent/trace/transformations/pullback.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// Gradients for cotangents with absent leaves.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// Appends the gradients of outputs for their cotangents, `none` for absent ones; false, with a failure, if a cotangent is not like
/// its output.
template <class Refusal, class... X>
constexpr bool append_pulled(builder& b, array<symbol> const& wrt, array<symbol> const& outputs, array<symbol> const& seeds,
                             symbol* results) {
  array<symbol> from, cotangents;
  for (int k = 0; k < outputs.size(); ++k)
    if (seeds[k] != none) {
      from.push(outputs[k]);
      cotangents.push(seeds[k]);
    }
  if (in_graph<X...> && !are_like<Refusal>(b, cotangents, from)) return false;
  if (b.failed().why == nullptr)
    detail::append_gradient<X...>(b, {from.data(), cotangents.data(), from.size(), wrt.data(), wrt.size()}, results);
  return true;
}

/// The same with a cotangent after the arguments; appends the results to `all`.
template <class... X>
constexpr void append_gradients(builder& b, array<symbol> const& wrt, array<symbol> const& out, array<symbol> const& seeds,
                                array<symbol>& all) {
  array<symbol> results(wrt.size() + 1, none);
  if (!detail::append_pulled<refusals::cotangent_of_kind, X...>(b, wrt, out, seeds, results.data())) return;
  for (int k = 0; k < wrt.size(); ++k) all.push(results[k] == none ? b.refused() : results[k]);
}

/// True of `ct::absent`, and of tuples that contain it.
template <class Tree> consteval bool has_absent() {
  if constexpr (std::is_same_v<Tree, absent_t>) return true;
  else if constexpr (tree_kind_of<Tree> == tree_kind::product)
    return []<class... Part>(parts<Part...>) { return (false || ... || has_absent<Part>()); }(typename parts_of<Tree>::type{});
  else return false;
}
/// The last one of some arguments.
template <class... Args> consteval bool ends_absent() {
  if constexpr (sizeof...(Args) == 0) return false;
  else return has_absent<argument_at<static_cast<int>(sizeof...(Args)) - 1, Args...>>();
}
/// The parts of a cotangent that are not absent, by reference.
template <class Tree> constexpr auto present_parts(Tree const& tree) {
  if constexpr (std::is_same_v<Tree, absent_t>) return std::tuple<>();
  else if constexpr (!has_absent<Tree>()) return std::tuple<Tree const&>(tree);
  else
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      using std::get;
      return std::tuple_cat(detail::present_parts(get<K>(tree))...);
    }(std::make_index_sequence<std::tuple_size<Tree>::value>{});
}
/// All arguments, and these parts of the last one.
template <std::size_t... K, class All> constexpr auto with_present_parts_of(std::index_sequence<K...>, All const& all) {
  return std::tuple_cat(std::tie(std::get<K>(all)...), detail::present_parts(std::get<sizeof...(K)>(all)));
}
template <class... Args> constexpr auto with_present_parts(Args const&... args) {
  return detail::with_present_parts_of(std::make_index_sequence<sizeof...(Args) - 1>{}, std::tie(args...));
}
/// The leaves of a cotangent that are absent.
template <class Tree> struct absent_leaves {
  static constexpr int count = leaf_count<Tree>;
  bool of[count + 1]{};
  constexpr absent_leaves() {
    int at = 0;
    note<Tree>(at);
  }

private:
  template <class Part> constexpr void note(int& at) {
    if constexpr (is_inner<Part>)
      [&]<class... Inner>(parts<Inner...>) { (note<Inner>(at), ...); }(typename parts_of<Part>::type{});
    else of[at++] = std::is_same_v<Part, absent_t>;
  }
};

template <class F, class Cotangent, int... I> struct partial_vjp_function;
template <class F, class Cotangent, int... I, class Result, class... Wrt>
struct product_result<partial_vjp_function<F, Cotangent, I...>, Result, Wrt...> {
  using type = std::pair<Result, typename packed<Wrt...>::type>;
};
/// The value and the gradients for a cotangent with absent leaves. Its parts that are not absent follow the arguments.
template <class F, class Cotangent, int... I>
struct partial_vjp_function : product_function<partial_vjp_function<F, Cotangent, I...>, F, I...> {
  using product_function<partial_vjp_function, F, I...>::product_function;
  static constexpr absent_leaves<Cotangent> absent{};
  static constexpr int extra = std::tuple_size_v<decltype(detail::present_parts(std::declval<Cotangent const&>()))>;
  template <class Result, class Wrt, class Directions>
  static constexpr bool directions_fit = partial_vjp_function::template fits<Result>(Directions{});
  template <class... X> static constexpr void report_directions() { refusals::cotangent_of_kind::report<F>(); }

  template <class... X>
  static constexpr void append(builder& b, array<symbol> const& wrt, array<symbol> const& out,
                               array<symbol> const& directions, array<symbol>& all) {
    array<symbol> seeds;
    for (int k = 0, n = 0; k < out.size(); ++k)
      seeds.push(absent.of[k] ? none : extend::convert({&b, directions[n++]}, b.tensor(out[k]).type).id);
    detail::append_gradients<X...>(b, wrt, out, seeds, all);
  }

private:
  static consteval bool is_like(leaf_kind const& a, leaf_kind const& b) { return a.type == b.type && a.extents == b.extents; }
  template <class Result, class... Given> static consteval bool fits(parts<Given...>) {
    kinds_of_leaves<wide_tree<Result>> const wanted{};
    kinds_of_leaves<wide_tree<std::tuple<Given...>>> const given{};
    if (wanted.count != absent.count) return false;
    for (int k = 0, n = 0; k < wanted.count; ++k)
      if (!absent.of[k] && !is_like(wanted.of[k], given.of[n++])) return false;
    return true;
  }
};

} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent

#endif
