// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RANDOM_HPP
#define COTANGENT_RANDOM_HPP

// Random numbers from keys, and dropout. With dynamic.hpp, included before or after this header, they also take
// expressions of run-time graphs and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/random.hpp> // first: compilers print with every error the chain of includes of its line

#include <cotangent/trace/expressions/random.hpp>

#ifdef COTANGENT_DYNAMIC_HPP
#  include <cotangent/dynamic/expressions/random.hpp>
#endif

COTANGENT_HEADER_END

#endif
