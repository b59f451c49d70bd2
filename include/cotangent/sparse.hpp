// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_SPARSE_HPP
#define COTANGENT_SPARSE_HPP

// Sparse Jacobians and Hessians of compiled functions.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/cotangent.hpp>
#include <cotangent/trace/transformations/sparse.hpp>

// Functions of run-time expressions, if their header was included before.
#if defined(COTANGENT_DYNAMIC_HPP) && COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/graph/sparse.hpp>
#endif

COTANGENT_HEADER_END

#endif
