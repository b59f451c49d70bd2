// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_ALL_HPP
#define COTANGENT_OPS_ALL_HPP

#include <cotangent/ops/convolution.hpp>
#include <cotangent/ops/functions/gamma.hpp>
#include <cotangent/ops/geometry/smooth.hpp>
#include <cotangent/ops/linalg/decompositions.hpp>
#include <cotangent/ops/list.hpp>
#include <cotangent/ops/pooling.hpp>
#include <cotangent/ops/random.hpp>
#include <cotangent/ops/tables/natural.hpp>
#include <cotangent/ops/tables/positions.hpp>
#include <cotangent/ops/tables/search.hpp>

// All operations of the library, also those of headers that cotangent.hpp does not include.

namespace cotangent {

namespace detail {
/// Convolution and pooling.
using image_operations = typename detail::joined_operations<convolution_operations, pooling_operations>::type;
} // namespace detail

namespace detail {
/// All operations: `ct::archive::load(path, ct::all_operations{})` also reads graphs with convolutions,
/// dropout and the like.
using all_operations = typename detail::joined_operations<library_operations, image_operations, linear_system_operations, pivot_operations, decomposition_operations, random_operations,
                                                          geometry_operations, gamma_operations, table_operations, tridiagonal_operations, position_operations>::type;
} // namespace detail

} // namespace cotangent

#endif
