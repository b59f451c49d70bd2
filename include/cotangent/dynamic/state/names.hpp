// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_NAMES_HPP
#define COTANGENT_DYNAMIC_STATE_NAMES_HPP

// The internal names of the library, in the internal namespace of run-time graphs.

namespace cotangent::detail {}

namespace cotangent::dynamic::detail {
using namespace cotangent::detail;
} // namespace cotangent::dynamic::detail

#endif
