// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_CONVOLUTION_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_CONVOLUTION_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>
#include <cotangent/ops/all.hpp>
#include <cotangent/trace/expressions/convolution.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/expressions/functions.hpp>
#  include <cotangent/run/interpreter/execute/kernels.hpp>

#  include <source_location>

// Convolution and pooling of expressions of a run-time graph, or of variables, with options known at run
// time: ct::conv2d(x, w, {.stride = 2}).

namespace cotangent {

namespace detail::interpret {
inline namespace COTANGENT_ABI {
[[gnu::weak]] kernel_sets image_kernels() noexcept {
  using all = kernels_of_list<image_operations>;
  return {all::sets.at, all::count};
}
} // namespace COTANGENT_ABI
} // namespace detail::interpret

namespace dynamic::inline COTANGENT_ABI::detail {

template <term (*Layer)(term, term, convolution const&)> struct convolved_fn {
  static constexpr char const* name = "convolution";
  convolution how;
  constexpr term operator()(term x, term w) const { return Layer(x, w, how); }
};
template <class Op> struct pooled_fn {
  static constexpr char const* name = Op::name;
  pooling how;
  constexpr term operator()(term x) const { return extend::pool2d<Op>(x, how); }
};

} // namespace dynamic::detail

template <detail::open_expr X, detail::open_expr W>
auto conv2d(X const& x, W const& w, convolution const& how,
            std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::convolved_fn<extend::conv2d>{how}, x, w);
}
template <detail::open_expr X, detail::open_expr W>
auto conv1d(X const& x, W const& w, convolution const& how, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::convolved_fn<extend::conv1d>{how}, x, w);
}
template <detail::open_expr X, detail::open_expr W>
auto conv_transpose2d(X const& x, W const& w, convolution const& how, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::convolved_fn<extend::conv_transpose2d>{how}, x, w);
}
template <detail::open_expr X, detail::open_expr W>
auto conv_transpose1d(X const& x, W const& w, convolution const& how, std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::convolved_fn<extend::conv_transpose1d>{how}, x, w);
}
template <detail::open_expr X>
auto max_pool2d(X const& x, pooling const& how,
                std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::pooled_fn<op::max_pool2d>{how}, x);
}
template <detail::open_expr X>
auto avg_pool2d(X const& x, pooling const& how,
                std::source_location where = std::source_location::current()) {
  return X::lift(where, dynamic::detail::pooled_fn<op::avg_pool2d>{how}, x);
}

} // namespace cotangent

#endif

COTANGENT_HEADER_END

#endif
