// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EAGER_HPP
#define COTANGENT_EAGER_HPP

// Eager mode: ct::dynamic::eager, which runs operations as they are written. Its errors are exceptions, so with
// -fno-exceptions this header declares nothing.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/dynamic.hpp>

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/eager/control.hpp>
#  include <cotangent/dynamic/eager/recorder.hpp>
#  include <cotangent/dynamic/eager/trainer.hpp>
#endif

COTANGENT_HEADER_END

#endif
