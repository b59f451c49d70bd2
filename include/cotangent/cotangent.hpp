// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_COTANGENT_HPP
#define COTANGENT_COTANGENT_HPP

// Tensors, functions of tensors, and transformations of functions. (Refusals come first, each before the headers that
// include it: compilers print with every error the chain of includes of its line.)

#include <cotangent/core/abi.hpp> // before BEGIN: its -Wpsabi pragma outlasts END

COTANGENT_HEADER_BEGIN

// clang-format off
#include <cotangent/core/refusal.hpp>

#include <cotangent/core/well_formed.hpp>

#include <cotangent/core/braces.hpp>
#include <cotangent/core/access.hpp>
#include <cotangent/core/tensor.hpp>
#include <cotangent/core/view.hpp>
#include <cotangent/core/strided_span.hpp>
#include <cotangent/core/print.hpp>

#include <cotangent/ops/elementwise.hpp>
#include <cotangent/ops/repeat.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/functions.hpp>
#include <cotangent/ops/reduction.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/matmul.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/scan.hpp>
#include <cotangent/ops/control/case_builder.hpp>
#include <cotangent/ops/control/loop_builder.hpp>

#include <cotangent/transform/refusals.hpp>
#include <cotangent/trace/expressions/refusals.hpp>
#include <cotangent/trace/functions/control_refusals.hpp>

#include <cotangent/trace/expressions/assignment.hpp>
#include <cotangent/trace/expressions/expr.hpp>
#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/expressions/indexing.hpp>
#include <cotangent/trace/expressions/layout.hpp>
#include <cotangent/trace/expressions/movement.hpp>
#include <cotangent/trace/expressions/numbers.hpp>
#include <cotangent/trace/expressions/optimizers.hpp>
#include <cotangent/trace/expressions/other_headers.hpp>
#include <cotangent/trace/expressions/plain.hpp>
#include <cotangent/trace/expressions/print.hpp>
#include <cotangent/trace/expressions/reductions.hpp>
#include <cotangent/trace/expressions/statistics.hpp>
#include <cotangent/trace/expressions/sources.hpp>
#include <cotangent/trace/functions/at.hpp>
#include <cotangent/trace/functions/branches.hpp>
#include <cotangent/trace/functions/function.hpp>
#include <cotangent/trace/functions/grad.hpp>
#include <cotangent/trace/functions/loops.hpp>
#include <cotangent/trace/functions/update_all.hpp>
#include <cotangent/trace/program/program.hpp>
#include <cotangent/trace/transformations/checkpoint.hpp>
#include <cotangent/trace/transformations/checkpoint_sequence.hpp>
#include <cotangent/trace/transformations/custom.hpp>
#include <cotangent/trace/transformations/debug_nans.hpp>
#include <cotangent/trace/transformations/external.hpp>
#include <cotangent/trace/transformations/fixed_point.hpp>
#include <cotangent/trace/transformations/jacobian.hpp>
#include <cotangent/trace/transformations/linearize.hpp>
#include <cotangent/trace/transformations/map.hpp>
#include <cotangent/trace/transformations/products.hpp>
#include <cotangent/trace/transformations/root.hpp>
#include <cotangent/trace/transformations/scan.hpp>
#include <cotangent/trace/transformations/vmap.hpp>
#include <cotangent/trace/transformations/vjp.hpp>

#include <cotangent/check/gradient.hpp>
// clang-format on

// Transformations of functions of run-time graphs, if the header of these was included before.
#if defined(COTANGENT_DYNAMIC_HPP) && COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/graph/external.hpp>
#  include <cotangent/dynamic/graph/transformations.hpp>
#endif

COTANGENT_HEADER_END

#endif
