// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_HPP
#define COTANGENT_DYNAMIC_EAGER_HPP

// Eager mode: ct::dynamic::eager, where operations run as they are written. Its errors are exceptions, so with
// -fno-exceptions there is nothing here.

#include <cotangent/dynamic/dynamic.hpp>

// g++ takes a `g` of the user's for shadowed, as in dynamic.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wshadow"
#endif

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/recorder.hpp>
#  include <cotangent/dynamic/trainer.hpp>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic pop
#endif

#endif
