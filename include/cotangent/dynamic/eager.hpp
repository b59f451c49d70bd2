// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_HPP
#define COTANGENT_DYNAMIC_EAGER_HPP

// Eager mode: ct::dynamic::eager, whose operations run when they are written. It reports errors by
// exceptions, so with -fno-exceptions this header is empty.

#include <cotangent/dynamic/dynamic.hpp>

COTANGENT_HEADER_BEGIN

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/recorder.hpp>
#  include <cotangent/dynamic/trainer.hpp>
#endif

COTANGENT_HEADER_END

#endif
