// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_NN_HPP
#define COTANGENT_NN_HPP

// Neural networks: gelu, losses, normalizations, attention, recurrent cells, batch_take, split. With
// dynamic.hpp, included before or after this header, they also take expressions of run-time graphs and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/expressions/layers.hpp>
#include <cotangent/trace/expressions/network.hpp>
#include <cotangent/trace/transformations/attention.hpp>

#ifdef COTANGENT_DYNAMIC_HPP
#  include <cotangent/dynamic/expressions/network.hpp>
#endif

COTANGENT_HEADER_END

#endif
