// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_SPARSE_HPP
#define COTANGENT_SPARSE_HPP

// Sparse Jacobians and Hessians of compiled functions.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/cotangent.hpp>
#include <cotangent/trace/transformations/sparse.hpp>

COTANGENT_HEADER_END

#endif
