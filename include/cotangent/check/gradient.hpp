// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CHECK_GRADIENT_HPP
#define COTANGENT_CHECK_GRADIENT_HPP
#include <cotangent/trace/trace.hpp>
#endif
