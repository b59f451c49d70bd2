// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_EXTERNAL_HPP
#define COTANGENT_DYNAMIC_GRAPH_EXTERNAL_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/dynamic/graph/transformations.hpp>

#include <cotangent/graph/whole.hpp>
#include <cotangent/trace/transformations/external.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

// C++ functions that programs of run-time graphs call as they are. They may have captures, which graphs and programs keep.

COTANGENT_COLD_BEGIN
namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_OF(external_spans, allowed, "cotangent: external: the function must take a std::span<T const> for each argument, and a std::span<T> for the result")
COTANGENT_REFUSAL_OF(external_rule_spans, allowed, "cotangent: external: the rule must take a std::span<T const> for each argument, for the result and for its cotangent, and a std::span<T> for each cotangent that it writes")
// clang-format on
} // namespace refusals

namespace dynamic::inline COTANGENT_ABI::detail {

/// Takes the elements of all arguments, one after the other, and writes those of all results.
template <class T> using external_code = std::function<void(T const*, T*)>;

} // namespace dynamic::detail

namespace op {

/// A call of an `external_code`, on rows of elements. Attributes: its address, the elements that it takes and gives.
template <class T> struct external_rows : extend::primitive<operation_kind::whole, 1> {
  static constexpr char const* name = "external";
  using emits = operations<>;
  static constexpr bool has_address = true;
  static constexpr float cost = 1000;
  static constexpr derivative_kind derivative = derivative_kind::none_;

  static void whole(whole_call const& c) {
    auto const& code = *std::bit_cast<dynamic::detail::external_code<T> const*>(c.attribute[0]);
    std::int64_t const given = c.attribute[2];
    detail::each_external_row<T>(c, c.attribute[1], given, [&](T const* x, T* y) {
      for (std::int64_t k = 0; k < given; ++k) y[k] = T{}; // what the code does not write
      code(x, y);
    });
  }
  static constexpr void infer(inference& r) { detail::gives_external_rows<T>(r, r.attribute[2]); }
  static constexpr void batch(batch_rule& r) {
    r.give(detail::push(info_of<external_rows>(), {r.each(0)}, {r.attribute(0), r.attribute(1), r.attribute(2)}));
  }
};

} // namespace op

namespace dynamic::inline COTANGENT_ABI {
namespace detail {

template <class T> struct external_line_fn {
  static constexpr char const* name = "external";
  using emits = operations<>;
  using uses = operations<op::external_rows<T>>;
  std::shared_ptr<external_code<T> const> const& code;
  std::int64_t taken, given;
  term operator()(term x) const {
    static_cast<graph_state*>(x.b->owner)->kernels.hold(code);
    return push(info_of<op::external_rows<T>>(), {x}, {std::bit_cast<std::int64_t>(code.get()), taken, given});
  }
};

/// The results of `code` for expressions, as one line.
template <class T, class... X>
expr<T> external_line(std::shared_ptr<external_code<T> const> const& code, std::int64_t given, std::source_location where, expr<T> const& first,
                      X const&... x) {
  std::int64_t const taken = (first.size() + ... + x.size());
  external_line_fn<T> const call{code, taken, given};
  if constexpr (sizeof...(X) == 0) return detail::lift(where, call, cotangent::flatten(first, where));
  else
    return detail::lift(where, call,
                        detail::lift(where, cotangent::detail::concatenate_fn<0>{}, cotangent::flatten(first, where), cotangent::flatten(x, where)...));
}

/// Parts of consecutive elements.
template <std::size_t Arguments> struct external_parts {
  static constexpr std::size_t value = Arguments, cotangent = Arguments + 1; // follow the arguments
  std::array<std::int64_t, Arguments + 2> counts;
  template <class P> std::span<P> of(P* all, std::size_t k) const {
    std::int64_t begin = 0;
    for (std::size_t j = 0; j < k; ++j) begin += counts[j];
    return {all + begin, static_cast<std::size_t>(counts[k])};
  }
};

template <class F, class Rule> class external_function {
  sizes to_;
  F f_;
  Rule rule_;
  std::source_location where_; // a call has no location of its own: none can follow its arguments

public:
  external_function(sizes const& to, F const& f, Rule const& rule, std::source_location where) : to_(to), f_(f), rule_(rule), where_(where) {}

  template <class First, class... More> auto operator()(First const& first, More const&... more) const {
    if constexpr (!is_like_first<First, First> || !(is_like_first<First, More> && ...)) {
      static_assert(refusals::external_arguments::report<First, More...>());
      return refused();
    } else {
      using T = typename First::value_type;
      using in = std::span<T const>;
      using out = std::span<T>;
      if constexpr (!std::is_invocable_v<F const&, in, taken<in, More>..., out>) {
        static_assert(refusals::external_spans::report<F, First, More...>());
        return refused();
      } else if constexpr (!std::is_invocable_v<Rule const&, in, taken<in, More>..., in, in, out, taken<out, More>...>) {
        static_assert(refusals::external_rule_spans::report<Rule, First, More...>());
        return refused();
      } else return called<T>(std::make_index_sequence<sizeof...(More) + 1>{}, first, more...);
    }
  }

private:
  template <class Span, class> using taken = Span;
  template <class First, class X>
  static constexpr bool is_like_first = std::is_same_v<First, X> && (std::is_same_v<X, expr<float>> || std::is_same_v<X, expr<double>>);

  template <class T, std::size_t... K, class... X> expr<T> called(std::index_sequence<K...>, X const&... x) const {
    graph_state& s = front_end::given(state_among(x...), where_);
    return front_end::changed(&s, where_, [&] {
      std::int32_t const shape = shape_for(s.b, to_);
      std::int64_t const given = s.b.failed().why != nullptr ? 1 : s.b.count(s.b.get().shapes[shape]);
      using parts_of_line = external_parts<sizeof...(X)>;
      parts_of_line const parts{{x.size()..., given, given}};
      auto const value = std::make_shared<external_code<T> const>(
          [f = f_, parts](T const* in, T* out) { f(parts.of(in, K)..., std::span<T>(out, static_cast<std::size_t>(parts.counts[parts_of_line::value]))); });
      auto const cotangents = std::make_shared<external_code<T> const>(
          [rule = rule_, parts](T const* in, T* out) {
            rule(parts.of(in, K)..., parts.of(in, parts_of_line::value), parts.of(in, parts_of_line::cotangent), parts.of(out, K)...);
          });
      auto const forward = [&](auto const&... y) { return cotangent::reshape(detail::external_line<T>(value, given, where_, y...), to_, where_); };
      auto const backward = [&](auto const&... y) {
        std::int64_t const all = (x.size() + ...);
        expr<T> const line = detail::external_line<T>(cotangents, all, where_, y...);
        std::int64_t end = 0;
        auto const part = [&](auto const& like) {
          std::int64_t const begin = end;
          end += like.size();
          return cotangent::reshape(line(dynamic::between(begin, end)), sizes(like.shape()), where_);
        };
        if constexpr (sizeof...(X) == 1) return (part(x), ...);
        else return std::tuple{part(x)...};
      };
      return cotangent::custom_vjp(forward, backward)(x...);
    });
  }
};

} // namespace detail
} // namespace dynamic

/// A C++ function that programs of a run-time graph call as it is: `ct::external({3, 4}, f, vjp)(x...)`, with a result of these sizes.
/// `f(x..., y)` takes a `std::span<T const>` of the elements of each argument, in row-major order, and writes the elements of the
/// `std::span<T>` y, which are zeros at first. `vjp(x..., y, dy, dx...)` takes the same, the result and its cotangent, and writes the cotangents of the
/// arguments. They may have captures, which graphs and programs keep. They must not throw.
///
/// Value: that of the function. It may be called more often, less often and in another order than written, by threads that run the
///   program at once, and on rows of a batch one after the other.
/// Adjoint: `vjp`. Forward mode and second derivatives are refused.
/// Refuses: arguments of other elements than float and double, or of both; archives of such graphs.
/// Checked: tests/runtime/dynamic_external.cpp.
template <class F, class Rule>
auto external(dynamic::sizes const& result, F const& f, Rule const& vjp, std::source_location where = std::source_location::current()) {
  return dynamic::detail::external_function<F, Rule>(result, f, vjp, where);
}

} // namespace cotangent
COTANGENT_COLD_END

#endif
