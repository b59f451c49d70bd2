// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_MEMORY_BUDGET_HPP
#define COTANGENT_MEMORY_BUDGET_HPP

// Programs that rematerialize values to take less memory: memory_budget, mirror. The search runs in constant evaluations.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/transformations/memory_budget.hpp>
#include <cotangent/trace/transformations/mirror.hpp>

COTANGENT_HEADER_END

#endif
