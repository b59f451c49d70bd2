// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_EXPR_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_EXPR_HPP

#include <cotangent/dynamic/expressions/data.hpp>
#include <cotangent/dynamic/expressions/lifted.hpp>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

COTANGENT_COLD_BEGIN
namespace cotangent {

/// The functions of this namespace are found by arguments of run-time graphs, as by those of traced functions.
struct run_time_expression {};

} // namespace cotangent

namespace cotangent::dynamic::inline COTANGENT_ABI {

class any_expr;
namespace detail {
struct front_end; // dynamic/graph/transformations.hpp
}

class axis_list;
enum class no_numbers : bool;

/// A value of a `ct::dynamic::graph`: the argument and result type of the library's functions and operators.
/// Its element is in its type, its extents are known at run time only.
///
/// It is copied and assigned like a number: a copy is another name for the same value. It belongs to its
/// graph and must not outlive it. A number (`ct::dynamic::expr<double> s = 0.0`) joins the graph of the first
/// operand it meets.
///
/// Throws: `shape_error` for operands that do not fit; `graph_error` for expressions of two graphs, or of a
/// loop body that has ended. After an error the graph is unchanged.
template <class T> class expr : public cotangent::detail::operators<expr<T>>,
                                public detail::indexed<expr<T>>,
                                public run_time_expression {
  static_assert(element_type<T>);
  detail::standing at_;

public:
  using value_type = T;
  using open_expression = void;
  using front_end = detail::front_end;
  using axis_list = dynamic::axis_list;
  using no_numbers = dynamic::no_numbers;
  static constexpr element type = element_of<T>;

  expr() = default;
  template <cotangent::detail::literal L>
  expr(L value)
      : at_(detail::standing::number(cotangent::detail::literal_bits<T>(static_cast<T>(value)))) {}
  /// Created by graphs.
  explicit expr(detail::standing const& at) : at_(at) {}
  expr(expr const&) = default;
  expr& operator=(expr const&) & = default;
  template <class Y> expr operator=(Y const&) && {
    static_assert(refusals::dynamic_part_assignment::report<Y>());
    return *this;
  }

  detail::standing const& where_it_stands() const noexcept { return at_; }
  /// The symbol in the graph; `ct::none` for a number without a graph.
  extend::symbol id() const noexcept { return at_.id; }
  bool attached() const noexcept { return at_.s != nullptr; }
  cotangent::shape shape() const {
    return at_.s == nullptr ? cotangent::shape{} : detail::shape_of(at_.s->b, at_.id);
  }
  int rank() const { return at_.s == nullptr ? 0 : at_.s->b.dims(at_.id).rank; }
  /// Throws: `shape_error` if the axis does not exist.
  std::int64_t extent(int axis, std::source_location where = std::source_location::current()) const {
    return detail::extent_at(shape(), axis, where);
  }
  std::int64_t size() const { return shape().size().number; }

  /// The result of `x += y` and the like: a new node with the shape of `before`.
  template <class Op> static expr updated(std::source_location where, expr const& before, expr const& after) {
    return detail::updated<Op>(where, before, after);
  }

  explicit operator bool() const noexcept(refusals::no_truth::report<T>()) { return false; }

  // ---- called by the library's functions

  expr(extend::builder& b, extend::symbol id) : at_(*static_cast<detail::graph_state*>(b.owner), id) {}
  /// The symbol in the region under construction of the graph that `b` builds.
  extend::symbol attach(extend::builder& b) const {
    return detail::symbol_of<T>(*static_cast<detail::graph_state*>(b.owner), *this,
                                {nullptr, 0, nullptr, 0, b.place});
  }

  template <class Op, class... A> static auto apply(std::source_location where, A const&... a) {
    return detail::apply<Op>(where, a...);
  }
  template <class Fn, class... A> static auto lift(std::source_location where, Fn const& fn, A const&... a) {
    return detail::lift(where, fn, a...);
  }
  template <class Fn> static expr lift_list(std::source_location where, Fn const& fn, std::vector<expr> const& all) {
    return detail::lift_list(where, fn, all);
  }
  /// Throws a failure of a function that has not added anything to a graph.
  template <class Refusal> [[noreturn]] static void refuse(char const* name, std::source_location where) {
    detail::refuse_call<Refusal>(name, where);
  }
  void* graph_held() const noexcept { return at_.s; }
  using undo = detail::undo;
  cotangent::detail::standing standing() const noexcept {
    return {at_.s == nullptr ? nullptr : &at_.s->b,
            at_.is_number ? cotangent::detail::standing::uniform : at_.id, at_.payload, 0};
  }
};

/// An expression of any element type: the member type of lists of outputs.
class any_expr {
  detail::standing at_;
  element type_ = element::float64;

public:
  any_expr() = default;
  template <class T> any_expr(expr<T> const& x) : at_(x.where_it_stands()), type_(element_of<T>) {}
  any_expr(detail::standing const& at, element e) : at_(at), type_(e) {}

  detail::standing const& where_it_stands() const noexcept { return at_; }
  extend::symbol id() const noexcept { return at_.id; }
  element type() const noexcept { return type_; }
  /// With the element in the type.
  template <class T> expr<T> as(std::source_location where = std::source_location::current()) const {
    if (element_of<T> == type_) return expr<T>(at_);
    static extend::builder const nothing;
    extend::builder const& b = at_.s == nullptr ? nothing : at_.s->b;
    detail::raise<refusals::dynamic_element>(b, {"as", 2, &at_.id, at_.s == nullptr ? 0 : 1, where});
  }
};

/// A list of expressions of any element types: in braces, or a vector, an array or a span.
using expressions = list_of<any_expr>;

} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
