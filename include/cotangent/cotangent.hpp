// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_COTANGENT_HPP
#define COTANGENT_COTANGENT_HPP

// Everything that needs no foreign header beyond Boost.Hana. (Refusals first, each before what includes it: compilers say
// in every error through which headers its line was included.)

#include <cotangent/core/abi.hpp> // what it says of warnings holds for headers that are included later, too

COTANGENT_HEADER_BEGIN

// clang-format off
#include <cotangent/core/refusal.hpp>

#include <cotangent/core/well_formed.hpp>

#include <cotangent/core/braces.hpp>
#include <cotangent/core/access.hpp>
#include <cotangent/core/tensor.hpp>
#include <cotangent/core/view.hpp>
#include <cotangent/core/print.hpp>

#include <cotangent/ops/elementwise.hpp>
#include <cotangent/ops/repeat.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/reduction.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/matmul.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/random.hpp>

#include <cotangent/transform/refusals.hpp>
#include <cotangent/trace/refusals.hpp>

#include <cotangent/trace/trace.hpp>
#include <cotangent/check/gradient.hpp>
// clang-format on

COTANGENT_HEADER_END

#endif
