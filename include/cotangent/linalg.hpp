// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_LINALG_HPP
#define COTANGENT_LINALG_HPP

// Linear algebra: einsum; Cholesky, LU and QR decompositions, symmetric eigenvalues, singular values; linear systems, least squares,
// inverses, determinants, the matrix exponential. With dynamic.hpp, included before or after this header, the functions also take
// expressions of run-time graphs and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/expressions/linalg.hpp>

#ifdef COTANGENT_DYNAMIC_HPP
#  include <cotangent/dynamic/expressions/linalg.hpp>
#endif

COTANGENT_HEADER_END

#endif
