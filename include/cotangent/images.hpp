// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IMAGES_HPP
#define COTANGENT_IMAGES_HPP

// Convolution and pooling. With dynamic.hpp, included before or after this header, they also take expressions of run-time
// graphs and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/expressions/convolution.hpp>

#ifdef COTANGENT_DYNAMIC_HPP
#  include <cotangent/dynamic/expressions/convolution.hpp>
#endif

COTANGENT_HEADER_END

#endif
