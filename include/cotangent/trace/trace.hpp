// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRACE_HPP
#define COTANGENT_TRACE_TRACE_HPP

// Expressions, functions of them, and transformations of functions to programs.

#include <cotangent/trace/assignment.hpp>
#include <cotangent/trace/braces.hpp>
#include <cotangent/trace/checkpoint.hpp>
#include <cotangent/trace/checkpoint_sequence.hpp>
#include <cotangent/trace/expr.hpp>
#include <cotangent/trace/function.hpp>
#include <cotangent/trace/functions.hpp>
#include <cotangent/trace/grad.hpp>
#include <cotangent/trace/indexing.hpp>
#include <cotangent/trace/movement.hpp>
#include <cotangent/trace/optimizers.hpp>
#include <cotangent/trace/other_headers.hpp>
#include <cotangent/trace/plain.hpp>
#include <cotangent/trace/products.hpp>
#include <cotangent/trace/program.hpp>
#include <cotangent/trace/reductions.hpp>
#include <cotangent/trace/sources.hpp>
#include <cotangent/trace/vjp.hpp>

#endif
