// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DOT_HPP
#define COTANGENT_IO_DOT_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/dot_writer.hpp>

namespace cotangent {

/// Draws the graph for Graphviz: operations and shapes, arguments and results, constants inside the operation
/// that reads them. Nodes that values need have one color, nodes that only gradients need another. Operands
/// are numbered if their order matters. A view is a window with a dashed border; a tensor written in pieces
/// says so, and whether its other elements are zero. A loop or a branch is a frame around its body: carried
/// values have a back edge, stacked values a thick edge. Dead nodes are omitted, unless the graph has no
/// results.
///
///     ct::dot(std::ofstream("graph.dot"), ct::program<decltype(ct::value_and_grad(loss)), ...>::graph);
///
/// Checked: tests/runtime/io.cpp, tests/runtime/dot_regions.cpp
template <class Stream> void dot(Stream&& out, extend::graph_view const& g, dot_options const& options = {}) {
  detail::dot_writer(g, options).write(out);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
