// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_INSPECT_HPP
#define COTANGENT_INSPECT_HPP

// Text and pictures of programs: describe, dot, emit, memory_profile. With dynamic.hpp, included before or after this header, dot,
// emit and memory_profile also take run-time graphs and their programs.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/describe.hpp>
#include <cotangent/io/dot.hpp>
#include <cotangent/io/emit.hpp>
#include <cotangent/io/memory_profile.hpp>

#ifdef COTANGENT_DYNAMIC_HPP
#  include <cotangent/dynamic/graph/dot.hpp>
#  include <cotangent/dynamic/graph/emit.hpp>
#  include <cotangent/dynamic/program/memory_profile.hpp>
#endif

COTANGENT_HEADER_END

#endif
