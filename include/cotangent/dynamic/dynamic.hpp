// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_DYNAMIC_HPP
#define COTANGENT_DYNAMIC_DYNAMIC_HPP

// Run-time graphs: ct::dynamic. They report errors by exceptions, so with -fno-exceptions this header is
// empty.

#include <cotangent/core/abi.hpp> // its warning pragma also applies to headers that are included later

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/refusals.hpp>

#  include <cotangent/dynamic/control.hpp>
#  include <cotangent/dynamic/graph.hpp>
#  include <cotangent/dynamic/vjp.hpp>
#  include <cotangent/dynamic/training.hpp>
#endif

COTANGENT_HEADER_END

#endif
