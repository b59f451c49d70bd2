// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TABLES_HPP
#define COTANGENT_TABLES_HPP

// Tables: interpolation on irregular and regular grids, searchsorted, polynomials, natural splines and B-splines. The functions take expressions of
// traced functions; with dynamic.hpp, included before or after this header, also of run-time graphs and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/tables/interpolation.hpp>
#include <cotangent/ops/tables/natural.hpp>
#include <cotangent/ops/tables/search.hpp>
#include <cotangent/ops/tables/splines.hpp>
#include <cotangent/trace/expressions/lift.hpp>

COTANGENT_HEADER_END

#endif
