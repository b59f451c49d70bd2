// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_HPP
#define COTANGENT_DYNAMIC_HPP

// Graphs at run time: ct::dynamic. Their errors are exceptions, so with -fno-exceptions this header declares nothing.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/refusals.hpp>

#  include <cotangent/dynamic/control.hpp>
#  include <cotangent/dynamic/graph.hpp>
#  include <cotangent/dynamic/training.hpp>
#  include <cotangent/dynamic/vjp.hpp>
#endif

// The part for run-time graphs of headers that were included before this one.
#ifdef COTANGENT_NN_HPP
#  include <cotangent/dynamic/network.hpp>
#endif
#ifdef COTANGENT_IMAGES_HPP
#  include <cotangent/dynamic/convolution.hpp>
#endif
#ifdef COTANGENT_RANDOM_HPP
#  include <cotangent/dynamic/random.hpp>
#endif
#ifdef COTANGENT_INSPECT_HPP
#  include <cotangent/dynamic/dot.hpp>
#  include <cotangent/dynamic/memory_profile.hpp>
#endif
#ifdef COTANGENT_ARCHIVE_HPP
#  include <cotangent/dynamic/archive.hpp>
#endif

COTANGENT_HEADER_END

#endif
