// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_ALL_HPP
#define COTANGENT_ALL_HPP

// Every header of this folder but separate.hpp; archive.hpp where nlohmann-json is found.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/geometry.hpp>
#include <cotangent/images.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/memory_budget.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/numeric.hpp>
#include <cotangent/random.hpp>
#include <cotangent/sparse.hpp>
#include <cotangent/special.hpp>
#include <cotangent/tables.hpp>

#if __has_include(<nlohmann/json.hpp>)
#  include <cotangent/archive.hpp>
#endif

COTANGENT_HEADER_END

#endif
