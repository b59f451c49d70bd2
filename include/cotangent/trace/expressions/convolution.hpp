// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_CONVOLUTION_HPP
#define COTANGENT_TRACE_EXPRESSIONS_CONVOLUTION_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/convolution.hpp>
#include <cotangent/ops/pooling.hpp>
#include <cotangent/run/convolution.hpp>
#include <cotangent/run/pooling.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <source_location>

// Functions of images: convolution and pooling. (Not part of cotangent.hpp.)

namespace cotangent {

namespace refusals {
void is_included(header_of_images); // see trace/expressions/other_headers.hpp
}

namespace detail {

template <convolution How> struct conv2d_fn {
  static constexpr char const* name = "conv2d";
  constexpr term operator()(term x, term w) const { return extend::conv2d(x, w, How); }
};
template <convolution How> struct conv1d_fn {
  static constexpr char const* name = "conv1d";
  constexpr term operator()(term x, term w) const { return extend::conv1d(x, w, How); }
};
template <convolution How> struct conv_transpose2d_fn {
  static constexpr char const* name = "conv_transpose2d";
  constexpr term operator()(term x, term w) const { return extend::conv_transpose2d(x, w, How); }
};
template <convolution How> struct conv_transpose1d_fn {
  static constexpr char const* name = "conv_transpose1d";
  constexpr term operator()(term x, term w) const { return extend::conv_transpose1d(x, w, How); }
};
template <pooling How> struct max_pool2d_fn {
  static constexpr char const* name = "max_pool2d";
  constexpr term operator()(term x) const { return extend::max_pool2d(x, How); }
};
template <pooling How> struct avg_pool2d_fn {
  static constexpr char const* name = "avg_pool2d";
  constexpr term operator()(term x) const { return extend::avg_pool2d(x, How); }
};

} // namespace detail

/// The convolution of an image, [height, width, channels] or several of these, with weights [height, width, channels,
/// results]: `ct::conv2d(x, w)`, `ct::conv2d<ct::convolution{.stride = 2, .padding = 1}>(x, w)`.
template <convolution How = convolution{}, detail::operand X, detail::operand W>
constexpr auto conv2d(X const& x, W const& w, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::conv2d_fn<How>{}, x, w);
}
/// The convolution of a line, [width, channels] or several of these, with weights [width, channels, results].
template <convolution How = convolution{}, detail::operand X, detail::operand W>
constexpr auto conv1d(X const& x, W const& w, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::conv1d_fn<How>{}, x, w);
}
/// The transposed convolution of an image with weights [height, width, results, channels]: `How` are the options of the convolution
/// whose adjoint it is.
template <convolution How = convolution{}, detail::operand X, detail::operand W>
constexpr auto conv_transpose2d(X const& x, W const& w, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::conv_transpose2d_fn<How>{}, x, w);
}
/// The transposed convolution of a line with weights [width, results, channels].
template <convolution How = convolution{}, detail::operand X, detail::operand W>
constexpr auto conv_transpose1d(X const& x, W const& w, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::conv_transpose1d_fn<How>{}, x, w);
}
/// The maximum of each window and channel: `ct::max_pool2d<ct::pooling{.window = 3, .stride = 2}>(x)`.
template <pooling How = pooling{}, detail::operand X>
constexpr auto max_pool2d(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::max_pool2d_fn<How>{}, x);
}
/// The mean of each window and channel, over the pixels inside the image.
template <pooling How = pooling{}, detail::operand X>
constexpr auto avg_pool2d(X const& x, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::avg_pool2d_fn<How>{}, x);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
