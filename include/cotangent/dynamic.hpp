// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_HPP
#define COTANGENT_DYNAMIC_HPP

// Graphs at run time: ct::dynamic. Their errors are exceptions, so with -fno-exceptions this header declares nothing.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/state/refusals.hpp>

#  include <cotangent/dynamic/expressions/branches.hpp>
#  include <cotangent/dynamic/graph/graph.hpp>
#  include <cotangent/dynamic/graph/training.hpp>
#  include <cotangent/dynamic/graph/vjp.hpp>
#endif

// The part for run-time graphs of headers that were included before this one.
#if defined(COTANGENT_COTANGENT_HPP) && COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/graph/external.hpp>
#  include <cotangent/dynamic/graph/transformations.hpp>
#endif
#ifdef COTANGENT_NN_HPP
#  include <cotangent/dynamic/expressions/network.hpp>
#endif
#ifdef COTANGENT_IMAGES_HPP
#  include <cotangent/dynamic/expressions/convolution.hpp>
#endif
#ifdef COTANGENT_LINALG_HPP
#  include <cotangent/dynamic/expressions/linalg.hpp>
#endif
#ifdef COTANGENT_RANDOM_HPP
#  include <cotangent/dynamic/expressions/random.hpp>
#endif
#ifdef COTANGENT_SPARSE_HPP
#  include <cotangent/dynamic/graph/sparse.hpp>
#endif
#ifdef COTANGENT_INSPECT_HPP
#  include <cotangent/dynamic/graph/dot.hpp>
#  include <cotangent/dynamic/graph/emit.hpp>
#  include <cotangent/dynamic/program/memory_profile.hpp>
#endif
#ifdef COTANGENT_ARCHIVE_HPP
#  include <cotangent/dynamic/archive/archive.hpp>
#endif

COTANGENT_HEADER_END

#endif
