// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPR_HPP
#define COTANGENT_DYNAMIC_EXPR_HPP

#include <cotangent/dynamic/data.hpp>
#include <cotangent/dynamic/lifted.hpp>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

namespace cotangent::dynamic {

class any_expr;

/// A value of a `ct::dynamic::graph`: the functions and operators of the library take it and return such. Its element is
/// in its type, its extents are known while the program runs.
///
/// It is copied and assigned like a number: a copy is a new name for the same value. It belongs to its graph and must not
/// outlive it. A number (`ct::dynamic::expr<double> s = 0.0`) joins a graph where it first meets one.
///
/// Refuses, by exceptions: what does not fit (`shape_error`), expressions of two graphs, or of a loop body that has ended
/// (`graph_error`). After an error the graph is as it was.
template <class T> class expr : public cotangent::detail::operators<expr<T>>,
                                public detail::indexed<expr<T>> {
  static_assert(element_type<T>);
  detail::standing at_;

public:
  using value_type = T;
  using open_expression = void;
  static constexpr element type = element_of<T>;

  expr() = default;
  template <cotangent::detail::literal L>
  expr(L value)
      : at_(detail::standing::number(cotangent::detail::literal_bits<T>(static_cast<T>(value)))) {}
  /// What a graph makes.
  explicit expr(detail::standing const& at) : at_(at) {}
  expr(expr const&) = default;
  expr& operator=(expr const&) & = default;
  template <class Y> expr operator=(Y const&) && {
    static_assert(refusals::dynamic_part_assignment::report<Y>());
    return *this;
  }

  detail::standing const& where_it_stands() const noexcept { return at_; }
  /// The symbol in the graph; `ct::none` for a number that has not met one.
  symbol id() const noexcept { return at_.id; }
  bool attached() const noexcept { return at_.s != nullptr; }
  cotangent::shape shape() const {
    return at_.s == nullptr ? cotangent::shape{} : detail::shape_of(at_.s->b, at_.id);
  }
  int rank() const { return at_.s == nullptr ? 0 : at_.s->b.dims(at_.id).rank; }
  /// Throws: `shape_error` for an axis that is not there.
  std::int64_t extent(int axis, std::source_location where = std::source_location::current()) const {
    return detail::extent_at(shape(), axis, where);
  }
  std::int64_t size() const { return shape().size().number; }

  /// `before` gets another node with its own shape: what `x += y` and its kin ask.
  template <class Op> static expr updated(std::source_location where, expr const& before, expr const& after) {
    return detail::updated<Op>(where, before, after);
  }

  explicit operator bool() const noexcept(refusals::no_truth::report<T>()) { return false; }

  // ---- what the functions of the library call

  template <class Op, class... A> static auto apply(std::source_location where, A const&... a) {
    return detail::apply<Op>(where, a...);
  }
  template <class Fn, class... A> static auto lift(std::source_location where, Fn const& fn, A const&... a) {
    return detail::lift(where, fn, a...);
  }
  void* graph_held() const noexcept { return at_.s; }
  using undo = detail::undo;
  cotangent::detail::standing standing() const noexcept {
    return {at_.s == nullptr ? nullptr : &at_.s->b, at_.id, at_.payload, 0};
  }
};

/// An expression of any element: what lists of outputs are made of.
class any_expr {
  detail::standing at_;
  element type_ = element::float64;

public:
  any_expr() = default;
  template <class T> any_expr(expr<T> const& x) : at_(x.where_it_stands()), type_(element_of<T>) {}
  any_expr(detail::standing const& at, element e) : at_(at), type_(e) {}

  detail::standing const& where_it_stands() const noexcept { return at_; }
  symbol id() const noexcept { return at_.id; }
  element type() const noexcept { return type_; }
  /// The same with its element in its type.
  template <class T> expr<T> as(std::source_location where = std::source_location::current()) const {
    if (element_of<T> == type_) return expr<T>(at_);
    static builder const nothing;
    builder const& b = at_.s == nullptr ? nothing : at_.s->b;
    detail::raise<refusals::dynamic_element>(b, {"as", 2, &at_.id, at_.s == nullptr ? 0 : 1, where});
  }
};

/// Expressions of any elements: in braces, or a vector, an array or a span.
using expressions = list_of<any_expr>;

} // namespace cotangent::dynamic

#endif
