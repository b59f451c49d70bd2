// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_ALL_HPP
#define COTANGENT_OPS_ALL_HPP

#include <cotangent/ops/convolution.hpp>
#include <cotangent/ops/list.hpp>
#include <cotangent/ops/network.hpp>
#include <cotangent/ops/pooling.hpp>
#include <cotangent/ops/random.hpp>

// All operations of the library, also those of headers that cotangent.hpp does not include.

namespace cotangent {
namespace detail {
template <class... Lists> struct joined_operations;
template <class... A> struct joined_operations<operations<A...>> {
  using type = operations<A...>;
};
template <class... A, class... B, class... Rest>
struct joined_operations<operations<A...>, operations<B...>, Rest...>
    : joined_operations<operations<A..., B...>, Rest...> {};
} // namespace detail

/// Convolution and pooling.
using image_operations =
    operations<op::conv2d, op::conv2d_image, op::conv2d_weight, op::max_pool2d, op::max_pool2d_image,
               op::max_pool2d_tangent, op::avg_pool2d, op::avg_pool2d_image>;

/// Random numbers.
using random_operations = operations<op::random24, op::random53, op::second_random24, op::second_random53>;

/// Further operations of neural networks.
using network_operations = operations<op::erf, op::normal_cdf>;

/// All operations: `ct::archive::load(path, ct::all_operations{})` also reads graphs with convolutions,
/// dropout and the like.
using all_operations = typename detail::joined_operations<library_operations, image_operations,
                                                          random_operations, network_operations>::type;

} // namespace cotangent

#endif
