// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DOT_HPP
#define COTANGENT_IO_DOT_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/dot_writer.hpp>

namespace cotangent {

/// The graph as a picture for Graphviz: operations and shapes, what the value needs in one colour and what only
/// the gradients need in another, arguments and results marked, constants in the operation that takes them,
/// operands numbered where their order matters. Views are windows with a broken border, by which tensors are read and
/// written; a tensor that is written in pieces says so, and whether zeros fill it up. A loop or a choice of branches is a
/// frame around what runs in it: what is carried goes round, what is kept for each iteration goes along a thick line.
/// What no result needs is left out, unless there are none.
///
///     ct::dot(std::ofstream("graph.dot"), ct::program<decltype(ct::value_and_grad(loss)), ...>::graph);
///
/// Checked: tests/runtime/io.cpp, tests/runtime/dot_regions.cpp
template <class Stream> void dot(Stream&& out, graph_view const& g, dot_options const& options = {}) {
  detail::dot_writer(g, options).write(out);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
