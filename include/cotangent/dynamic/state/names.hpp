// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_NAMES_HPP
#define COTANGENT_DYNAMIC_STATE_NAMES_HPP

#include <cotangent/core/abi.hpp>

// The internal names of the library, in the internal namespace of run-time graphs.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {}

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
using namespace cotangent::detail;
} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
