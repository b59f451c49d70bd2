// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_NUMERIC_HPP
#define COTANGENT_NUMERIC_HPP

// Functions of numerical programs: differences and integrals of samples, covariances, weighted means, spaced numbers, units of angles.
// The functions take expressions of traced functions; with dynamic.hpp, included before or after this header, also of run-time graphs
// and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/functions/numeric.hpp>
#include <cotangent/trace/expressions/lift.hpp>

COTANGENT_HEADER_END

#endif
