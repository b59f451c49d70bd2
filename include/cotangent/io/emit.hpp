// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_HPP
#define COTANGENT_IO_EMIT_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/emit/program.hpp>

#if COTANGENT_EXCEPTIONS

namespace cotangent {

/// Writes a graph as a C++ function: `name(sizes..., inputs..., results..., workspace)`. Inputs and results are row-major arrays, sizes
/// those of named extents. The loops are those of the plan, over single elements. `name_workspace_bytes(sizes...)` is the size of
/// the workspace.
///
/// Value: sums are in the order of the elements. Functions are those of <cmath>, which round differently. An index out of range is the
/// nearest one, and nothing is reported.
/// Needs: C++17. Functions that the standard library lacks, and functions of whole tensors, include headers of this library.
/// Refuses: half precision, operations of users, and loops that record values without a bound.
/// Throws: `graph_error`.
template <class Stream> void emit(Stream&& out, extend::graph_view const& g, emit_options const& options = {}) {
  out << detail::cpp_program(g, options).text();
}

/// The same of a program: `ct::emit<P>(std::ofstream("step.hpp"), {.name = "step", .inputs = {"w", "x"}})`.
///
/// Checked: tests/emit/write.cpp
template <class P, class Stream> void emit(Stream&& out, emit_options const& options = {}) {
  cotangent::emit(out, extend::graph_view(P::graph), options);
}

} // namespace cotangent

#endif
COTANGENT_HEADER_END

#endif
