// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_FUNCTIONS_TREE_HPP
#define COTANGENT_TRACE_FUNCTIONS_TREE_HPP

#include <cotangent/core/argument.hpp>
#include <cotangent/trace/expressions/expr.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/unpack.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// Arguments and results are trees. Leaves are tensors, arrays, numbers or expressions; inner nodes are
// Boost.Hana structs, tuples, pairs and arrays of trees. Leaves are numbered in order.

namespace cotangent::detail {

enum class tree_kind : unsigned char { other, expression, refusal, memory, structure, product };

// A std::array of elements (also nested) is memory, any other std::array an inner node.
template <class A> consteval bool is_plain_row() {
  if constexpr (element_type<A>) return true;
  else if constexpr (tuple_sized<A> && contiguous<A>)
    return is_plain_row<std::remove_cvref_t<decltype(*std::declval<A&>().data())>>();
  else return false;
}

template <class A> consteval tree_kind kind_of_tree() {
  if constexpr (is_expr<A> || graph_expr<A>) return tree_kind::expression;
  else if constexpr (std::is_same_v<A, refused>) return tree_kind::refusal;
  else if constexpr (element_type<A>) return tree_kind::memory;
  else if constexpr (tuple_sized<A>) return is_plain_row<A>() ? tree_kind::memory : tree_kind::product;
  else if constexpr (argument_type<A>) return tree_kind::memory;
  else if constexpr (boost::hana::Struct<A>::value) return tree_kind::structure;
  else return tree_kind::other;
}
template <class A> inline constexpr tree_kind tree_kind_of = kind_of_tree<A>();

template <class... Part> struct parts {};

template <class Tree, class F> constexpr auto with_members(F&& f) {
  return boost::hana::unpack(boost::hana::accessors<Tree>(), static_cast<F&&>(f));
}

/// The types of the parts of an inner node, in order.
template <class Tree, tree_kind Kind = tree_kind_of<Tree>> struct parts_of {
  using type = parts<>;
};
template <class Tree> struct parts_of<Tree, tree_kind::structure> {
  using type = decltype(with_members<Tree>([]<class... Accessor>(Accessor const&... accessor) {
    return parts<std::remove_cvref_t<decltype(boost::hana::second(accessor)(std::declval<Tree&>()))>...>{};
  }));
};
template <class Tree, class Indices> struct parts_of_product;
template <class Tree, std::size_t... I> struct parts_of_product<Tree, std::index_sequence<I...>> {
  using type = parts<std::remove_cvref_t<std::tuple_element_t<I, Tree>>...>;
};
template <class Tree>
struct parts_of<Tree, tree_kind::product>
    : parts_of_product<Tree, std::make_index_sequence<std::tuple_size<Tree>::value>> {};

template <class Tree> inline constexpr bool is_inner =
    tree_kind_of<Tree> == tree_kind::structure || tree_kind_of<Tree> == tree_kind::product;

template <class Tree> consteval int count_leaves() {
  if constexpr (is_inner<Tree>)
    return []<class... Part>(parts<Part...>) {
      return (0 + ... + count_leaves<Part>());
    }(typename parts_of<Tree>::type{});
  else return 1;
}
template <class Tree> inline constexpr int leaf_count = count_leaves<Tree>();

template <class Tree, tree_kind Kind> consteval bool find_kind() {
  if constexpr (is_inner<Tree>)
    return []<class... Part>(parts<Part...>) {
      return (false || ... || find_kind<Part, Kind>());
    }(typename parts_of<Tree>::type{});
  else return tree_kind_of<Tree> == Kind;
}
template <class Tree, tree_kind Kind> inline constexpr bool tree_has = find_kind<Tree, Kind>();

template <class A> consteval bool find_anonymous() {
  if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      return (false || ... || find_anonymous<Part>());
    }(typename parts_of<A>::type{});
  else if constexpr (tree_kind_of<A> == tree_kind::memory) {
    for (int k = 0; k < memory_traits<A>::extents.rank; ++k)
      if (memory_traits<A>::extents[k].is_anonymous()) return true;
    return false;
  } else return false;
}
/// True if some size has no name: the type of the tree's expressions then depends on its position.
template <class Tree> inline constexpr bool has_anonymous = find_anonymous<Tree>();

/// True if leaves of a tree are expressions: a function of it is traced, not run.
template <class Tree> inline constexpr bool holds_expressions =
    tree_has<Tree, tree_kind::expression> || tree_has<Tree, tree_kind::refusal>;

/// The first leaf of trees that is an expression of a run-time graph, or void.
template <class... A> struct graph_leaf_among {
  using type = void;
};
template <class First, class... Rest>
  requires(!is_inner<First>)
struct graph_leaf_among<First, Rest...> {
  static consteval auto find() {
    if constexpr (graph_expr<First>) return std::type_identity<First>{};
    else return graph_leaf_among<Rest...>{};
  }
  using type = typename decltype(find())::type;
};
template <class... Part, class... Rest> struct graph_leaf_among<parts<Part...>, Rest...>
    : graph_leaf_among<Part..., Rest...> {};
template <class First, class... Rest>
  requires is_inner<First>
struct graph_leaf_among<First, Rest...> : graph_leaf_among<typename parts_of<First>::type, Rest...> {};
template <class... A> using graph_leaf = typename graph_leaf_among<A...>::type;
template <class... A>
concept in_graph = !std::is_void_v<graph_leaf<A...>>;
/// True for trees of such expressions only.
template <class A> consteval bool is_all_in_graph() {
  if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      return (true && ... && is_all_in_graph<Part>());
    }(typename parts_of<A>::type{});
  else return graph_expr<A>;
}

// ---- traversal

/// Calls `visit` with every leaf, in order. (Inlined: the addresses of a call's arguments then never lie in memory.)
template <class Tree, class Visit> COTANGENT_INLINE constexpr void visit_leaves(Tree& tree, Visit& visit) {
  using T = std::remove_const_t<Tree>;
  if constexpr (tree_kind_of<T> == tree_kind::structure)
    with_members<T>(
        [&](auto const&... accessor) { (visit_leaves(boost::hana::second(accessor)(tree), visit), ...); });
  else if constexpr (tree_kind_of<T> == tree_kind::product)
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      using std::get;
      (visit_leaves(get<I>(tree), visit), ...);
    }(std::make_index_sequence<std::tuple_size<T>::value>{});
  else visit(tree);
}

/// Builds a tree whose leaves are returned in order by `make.template leaf<Leaf>()`.
template <class Tree, class Make> constexpr Tree build_tree(Make& make) {
  if constexpr (is_inner<Tree>)
    return [&]<class... Part>(parts<Part...>) -> Tree {
      return Tree{build_tree<Part>(make)...};
    }(typename parts_of<Tree>::type{});
  else return make.template leaf<Tree>();
}

// ---- mapping leaves

// Maps a leaf type and its index to the new type: `Leaf<A, K>::type`.
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First,
          tree_kind Kind = tree_kind_of<Tree>>
struct mapped_tree;

template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::memory> : Leaf<Tree, First> {};
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::expression> : Leaf<Tree, First> {};
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::refusal> {
  using type = refused;
};
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::other> {
  using type = refused;
};

template <class Tree, template <class, extent...> class To> struct rebound {
  using type = refused;
};
template <template <template <class, extent...> class> class S, template <class, extent...> class From,
          template <class, extent...> class To>
struct rebound<S<From>, To> {
  using type = S<To>;
};

/// Replaces every leaf of a tree of expressions by `Map::template of<Leaf>`, which may be a tree itself. A struct gets
/// members of another type: `S<members<From, Map>::template of>`.
template <class Tree, class Map, tree_kind Kind = tree_kind_of<Tree>> struct replaced_leaves {
  using type = refused;
};
template <class Tree, class Map> using replace_leaves = typename replaced_leaves<Tree, Map>::type;
template <class Tree, class Map> struct replaced_leaves<Tree, Map, tree_kind::expression> {
  using type = typename Map::template of<Tree>;
};
template <template <class...> class Product, class... Part, class Map>
struct replaced_leaves<Product<Part...>, Map, tree_kind::product> {
  using type = Product<replace_leaves<Part, Map>...>;
};
template <template <class, std::size_t> class Array, class Part, std::size_t N, class Map>
struct replaced_leaves<Array<Part, N>, Map, tree_kind::product> {
  using type = Array<replace_leaves<Part, Map>, N>;
};
template <template <class, extent...> class From, class Map> struct members {
  template <class T, extent... E> using of = replace_leaves<From<T, E...>, Map>;
};
template <template <template <class, extent...> class> class S, template <class, extent...> class From, class Map>
struct replaced_leaves<S<From>, Map, tree_kind::structure> {
  using type = S<members<From, Map>::template of>;
};

/// True if all leaves of a tree satisfy `Test::of<Leaf>`.
template <class Tree, class Test> consteval bool all_leaves_are() {
  if constexpr (is_inner<Tree>)
    return []<class... Part>(parts<Part...>) {
      return (true && ... && all_leaves_are<Part, Test>());
    }(typename parts_of<Tree>::type{});
  else return Test::template of<Tree>;
}
template <class T> struct leaf_of_type {
  template <class Leaf> static constexpr bool of = std::is_same_v<Leaf, T>;
};
template <class Map> struct leaf_kept_by {
  template <class Leaf> static constexpr bool of = std::is_same_v<typename Map::template of<Leaf>, Leaf>;
};
/// True for structs of expressions of a run-time graph. Members of fixed types can be kept only.
template <class S>
concept struct_in_graph = tree_kind_of<S> == tree_kind::structure && is_all_in_graph<S>();
/// True if all members of `S<T>` have the type T, an expression of a run-time graph: others can take its place.
template <class S, class T>
concept struct_of_one = graph_expr<T> && struct_in_graph<S> && all_leaves_are<S, leaf_of_type<T>>();

template <class Tree, class Map>
  requires(struct_in_graph<Tree> && all_leaves_are<Tree, leaf_kept_by<Map>>())
struct replaced_leaves<Tree, Map, tree_kind::structure> {
  using type = Tree;
};
template <template <class> class S, class T, class Map>
  requires struct_of_one<S<T>, T>
struct replaced_leaves<S<T>, Map, tree_kind::structure> {
  using type = S<typename Map::template of<T>>;
};

/// False if the members of a struct `S<From>` are other trees than `From<Element, Extents...>` says.
template <template <class, extent...> class From> consteval bool has_plain_members() {
  using member = From<float>;
  if constexpr (is_inner<member> || std::is_same_v<member, refused>) return false;
  else if constexpr (requires { typename member::value_type; int{member::extents.rank}; })
    return member::extents.rank == 0 && std::is_same_v<typename member::value_type, float>;
  else return true;
}

template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::structure> : rebound<Tree, To> {};
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
  requires struct_in_graph<Tree>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::structure> {
  using type = Tree;
};
template <template <class> class S, class T, template <class, int> class Leaf, template <class, extent...> class To,
          int First>
  requires struct_of_one<S<T>, T>
struct mapped_tree<S<T>, Leaf, To, First, tree_kind::structure> {
  using type = S<typename Leaf<T, First>::type>;
};
template <template <class, extent...> class From, template <class, int> class Leaf, template <class, extent...> class To>
struct mapped_members {
  template <class T, extent... E> using of = typename mapped_tree<From<T, E...>, Leaf, To, 0>::type;
};
template <template <template <class, extent...> class> class S, template <class, extent...> class From,
          template <class, int> class Leaf, template <class, extent...> class To, int First>
  requires(!has_plain_members<From>())
struct mapped_tree<S<From>, Leaf, To, First, tree_kind::structure> {
  using type = S<mapped_members<From, Leaf, To>::template of>;
};

// The results of functions of run-time graphs are expressions of them already.
template <template <template <class, extent...> class> class S, template <class, extent...> class From,
          template <class, int> class Leaf, template <class, extent...> class To, int First>
  requires(graph_expr<From<float>>)
struct mapped_tree<S<From>, Leaf, To, First, tree_kind::structure> {
  using type = S<From>;
};

template <class Tree, std::size_t I> consteval int leaves_before() {
  return []<std::size_t... K>(std::index_sequence<K...>) {
    return (0 + ... + leaf_count<std::tuple_element_t<K, Tree>>);
  }(std::make_index_sequence<I>{});
}
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First,
          class Axes>
struct mapped_product;
template <template <class...> class Product, class... Part, template <class, int> class Leaf,
          template <class, extent...> class To, int First, std::size_t... I>
struct mapped_product<Product<Part...>, Leaf, To, First, std::index_sequence<I...>> {
  using type =
      Product<typename mapped_tree<Part, Leaf, To, First + leaves_before<Product<Part...>, I>()>::type...>;
};
// An array of plain elements is one leaf: an array of leaves of rank 0 becomes an array of tensors of rank 0.
template <class Part, class Mapped, template <class, extent...> class To> struct array_part {
  using type = Mapped;
};
template <class Part, element_type Mapped, template <class, extent...> class To> struct array_part<Part, Mapped, To> {
  using type = To<Mapped>;
};
template <template <class, std::size_t> class Array, class Part, std::size_t N,
          template <class, int> class Leaf, template <class, extent...> class To, int First, std::size_t... I>
struct mapped_product<Array<Part, N>, Leaf, To, First, std::index_sequence<I...>> {
  using type = Array<typename array_part<Part, typename mapped_tree<Part, Leaf, To, First>::type, To>::type, N>;
};
template <class Tree, template <class, int> class Leaf, template <class, extent...> class To, int First>
struct mapped_tree<Tree, Leaf, To, First, tree_kind::product>
    : mapped_product<Tree, Leaf, To, First, std::make_index_sequence<std::tuple_size<Tree>::value>> {};

template <template <class, extent...> class To, class Element, shape const& S, class Axes> struct made_of;
template <template <class, extent...> class To, class Element, shape const& S, std::size_t... I>
struct made_of<To, Element, S, std::index_sequence<I...>> {
  using type = To<Element, S.extents[I]...>;
};

template <class A, int K> struct leaf_as_expr
    : made_of<expr, arithmetic_type<typename argument_traits<A, K>::element>, argument_traits<A, K>::extents,
              std::make_index_sequence<argument_traits<A, K>::extents.rank>> {};
template <class T, extent... E, int K> struct leaf_as_expr<expr<T, E...>, K> {
  using type = expr<T, E...>;
};

/// The expressions that a traced function receives for an argument.
template <class A, int First> using expr_tree = typename mapped_tree<A, leaf_as_expr, expr, First>::type;

template <class A, int> struct leaf_as_value {
  using type = A;
};
template <class T, extent... E, int K> struct leaf_as_value<expr<T, E...>, K> {
  using type = tensor<T, E...>;
};
template <class T, int K> struct leaf_as_value<expr<T>, K> {
  using type = T;
};

template <class, int> struct leaf_as_refused {
  using type = refused;
};
/// A tree of refused leaves: structured bindings and `std::get` find as many parts as in the result. Kinds
/// `other`, such as the result of a function that could not be called, have no known parts.
template <class R, template <class, extent...> class To>
using refused_tree = typename mapped_tree<R, leaf_as_refused, To, 0>::type;

/// The result of a compiled function as tensors: a result of rank 0 is a plain element.
template <class R> using value_tree = typename mapped_tree<R, leaf_as_value, tensor, 0>::type;

template <class A, int K> struct leaf_as_gradient {
  static consteval auto find() {
    if constexpr (element_type<A> || tuple_sized<A>) return std::type_identity<A>{};
    else if constexpr (has_owner<A>) return std::type_identity<typename extend::memory<A>::owner>{};
    else if constexpr (!std::is_array_v<A> && memory_traits<A>::owns &&
                       std::is_constructible_v<A, std::size_t>)
      return std::type_identity<A>{};
    else
      return made_of<tensor, typename argument_traits<A, K>::element, argument_traits<A, K>::extents,
                     std::make_index_sequence<argument_traits<A, K>::extents.rank>>{};
  }
  using type = typename decltype(find())::type;
};
template <class T, extent... E, int K> struct leaf_as_gradient<tensor<T, E...>, K> {
  using type = tensor<T, E...>;
};
template <class T, extent... E, int K> struct leaf_as_gradient<view<T, E...>, K> {
  using type = tensor<std::remove_const_t<T>, E...>;
};
template <class T, extent... E, int K> struct leaf_as_gradient<expr<T, E...>, K> {
  using type = expr<T, E...>;
};

// A struct whose members are of another library, such as `S<eigen_tensor>`, has gradients of that library.
template <template <template <class, extent...> class> class S, template <class, extent...> class From, int First>
  requires(has_owner<From<float, 2>>)
struct mapped_tree<S<From>, leaf_as_gradient, tensor, First, tree_kind::structure> {
  using type = S<From>;
};

/// The gradient with respect to an argument: the same tree, in memory that it owns.
template <class A, int First> using gradient_tree =
    typename mapped_tree<A, leaf_as_gradient, tensor, First>::type;

} // namespace cotangent::detail

#endif
