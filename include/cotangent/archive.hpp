// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_ARCHIVE_HPP
#define COTANGENT_ARCHIVE_HPP

// Tensors in files; needs nlohmann-json. With dynamic.hpp, included before or after this header, run-time graphs too.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/archive/tensors.hpp>

#ifdef COTANGENT_DYNAMIC_HPP
#  include <cotangent/dynamic/archive/archive.hpp>
#endif

COTANGENT_HEADER_END

#endif
