// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_SPECIAL_HPP
#define COTANGENT_SPECIAL_HPP

// Special functions that cotangent.hpp does not include: incomplete gamma functions, beta functions, entropies, quantiles. The
// functions take expressions of traced functions; with dynamic.hpp, included before or after this header, also of run-time graphs
// and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/functions/gamma.hpp>
#include <cotangent/trace/expressions/lift.hpp>

COTANGENT_HEADER_END

#endif
