// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_MATH_ELEMENTARY_HPP
#define COTANGENT_CORE_MATH_ELEMENTARY_HPP

// All elementary functions.

#include <cotangent/core/math/erf.hpp>
#include <cotangent/core/math/exp.hpp>
#include <cotangent/core/math/hyperbolic.hpp>
#include <cotangent/core/math/inverse.hpp>
#include <cotangent/core/math/log.hpp>
#include <cotangent/core/math/logistic.hpp>
#include <cotangent/core/math/power.hpp>
#include <cotangent/core/math/trigonometric.hpp>

#endif
