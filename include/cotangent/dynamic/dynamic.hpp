// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_DYNAMIC_HPP
#define COTANGENT_DYNAMIC_DYNAMIC_HPP

// Graphs that are built while the program runs: ct::dynamic. Their errors are exceptions, so with -fno-exceptions there is
// nothing here.

#include <cotangent/core/abi.hpp> // what it says of warnings holds for headers that are included later, too

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
