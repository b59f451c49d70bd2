// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_HPP
#define COTANGENT_DYNAMIC_EAGER_HPP

// Eager mode: ct::dynamic::eager, where operations run as they are written. Its errors are exceptions, so with
// -fno-exceptions there is nothing here.

#include <cotangent/dynamic/dynamic.hpp>

COTANGENT_HEADER_BEGIN

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/recorder.hpp>
#  include <cotangent/dynamic/trainer.hpp>
#endif

COTANGENT_HEADER_END

#endif
