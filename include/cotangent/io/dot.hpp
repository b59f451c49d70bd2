// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DOT_HPP
#define COTANGENT_IO_DOT_HPP

#include <cotangent/core/message.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>

namespace cotangent {

/// What a graph does not know of itself.
struct dot_options {
  char const* const* inputs = nullptr;  // a name for each input, where there are some
  char const* const* outputs = nullptr; // and for each output
  /// So many outputs are values, the others gradients: what only these need is drawn as the adjoint part.
  int values = 1;
};

namespace detail {

class dot_writer {
public:
  dot_writer(graph_view const& graph, dot_options const& options)
      : g(graph), o(options), forward_(graph.node_count) {
    for (int k = 0; k < g.output_count() && k < o.values; ++k) mark(g.output(k));
    for (std::int32_t i = g.node_count - 1; i >= 0; --i)
      if (forward_[i])
        for (int k = 0; k < g.nodes[i].operand_count; ++k) mark(g.operand(g.nodes[i], k));
  }

  template <class Stream> void write(Stream& out) const {
    out << "digraph cotangent {\n"
           "  graph [rankdir=TB, ranksep=0.28, nodesep=0.22, fontname=\"Helvetica\", bgcolor=white];\n"
           "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"filled,rounded\", height=0.3, "
           "margin=\"0.1,0.05\"];\n"
           "  edge [color=\"#7a7a7a\", arrowsize=0.55];\n";
    legend(out);
    for (int k = 0; k < g.input_count(); ++k) {
      out << "  t" << g.input(k) << " [shape=house, style=filled, fillcolor=\"#e8e8e8\", label=\"";
      name(out, g.input(k), "input ", k, o.inputs);
      out << "\\n" << shape_of(g.input(k)).text() << "\"];\n";
    }
    for (std::int32_t i = 0; i < g.node_count; ++i) node_and_edges(out, i);
    for (int k = 0; k < g.output_count(); ++k) {
      out << "  o" << k << " [shape=invhouse, penwidth=1.6, style=filled, fillcolor=\""
          << (k < o.values ? "#6fa8dc" : "#f6a04d") << "\", label=\"";
      name(out, none, k < o.values ? "value " : "gradient ", k < o.values ? k : k - o.values, o.outputs, k);
      out << "\\n" << shape_of(g.output(k)).text() << "\"];\n";
      if (is_constant(g.output(k))) {
        out << "  c" << k << " [shape=plaintext, style=\"\", label=\"";
        constant(out, g.output(k));
        out << "\"];\n  c" << k << " -> o" << k << ";\n";
      } else edge(out, g.output(k), "o", k, 0);
    }
    out << "}\n";
  }

private:
  graph_view g;
  dot_options o;
  array<bool> forward_; // of each node

  void mark(symbol t) {
    if (t != none && g.tensors[t].producer != none) forward_[g.tensors[t].producer] = true;
  }

  message shape_of(symbol t) const {
    message m;
    shape s;
    for (int k = 0; k < g.shape(t).rank; ++k) s.push(g.extent_of(g.shape(t).size[k]));
    if (g.tensors[t].type != element::float32) m.put(name_of(g.tensors[t].type)).put(s.rank == 0 ? "" : " ");
    if (s.rank != 0) m.put(s);
    else if (g.tensors[t].type == element::float32) m.put("a number");
    return m;
  }
  bool is_constant(symbol t) const {
    return g.tensors[t].producer != none &&
           g.nodes[g.tensors[t].producer].op->kind == operation_kind::constant;
  }

  template <class Stream> static void legend(Stream& out) {
    out << "  subgraph cluster_legend {\n    label=\"\"; color=white;\n"
           "    l1 [label=\"argument\", shape=house, style=filled, fillcolor=\"#e8e8e8\"];\n"
           "    l2 [label=\"what the value needs\", fillcolor=\"#cfe2f3\", color=\"#3d77b0\"];\n"
           "    l3 [label=\"what only gradients need\", fillcolor=\"#fce0c2\", color=\"#c8741a\"];\n"
           "    l4 [label=\"result\", shape=invhouse, penwidth=1.6, style=filled, fillcolor=white];\n"
           "    l1 -> l2 -> l3 -> l4 [style=invis];\n  }\n";
  }
  template <class Stream> static void quoted(Stream& out, char const* text) {
    for (; *text != '\0'; ++text) {
      if (*text == '"' || *text == '\\') out << '\\';
      out << *text;
    }
  }
  template <class Stream>
  void name(Stream& out, symbol t, char const* otherwise, int number, char const* const* names,
            int k = -1) const {
    if (names != nullptr) quoted(out, names[k < 0 ? number : k]);
    else if (t != none && g.name(t) != nullptr) quoted(out, g.name(t));
    else out << otherwise << number;
  }

  /// How the operands are meant, where the operation alone does not say it.
  template <class Stream> void detail_of(Stream& out, node const& n) const {
    operation_kind const kind = n.op->kind;
    if (kind == operation_kind::matmul) {
      if (g.attribute(n, 0) != 0) out << " (left transposed)";
      if (g.attribute(n, 1) != 0) out << " (right transposed)";
    } else if (kind == operation_kind::reduction) {
      char const* before = " over axis ";
      for (int a = 0; a < g.shape(g.operand(n, 0)).rank; ++a)
        if ((g.attribute(n, 0) >> a & 1) != 0) {
          out << before << a;
          before = ", ";
        }
    }
  }

  template <class Stream> void constant(Stream& out, symbol t) const {
    scalar const value = scalar_of(g.tensors[t].type, g.attribute(*g.producer(t)));
    if (value.type == element::boolean) out << (value.integer != 0 ? "true" : "false");
    else if (is_floating(value.type)) out << value.real;
    else out << value.integer;
  }

  /// With the constants among its operands, which are no nodes of the picture: `sub(1, .)`
  template <class Stream> void operation_of(Stream& out, node const& n) const {
    out << n.op->name;
    bool any = false;
    for (int k = 0; k < n.operand_count; ++k) any = any || is_constant(g.operand(n, k));
    for (int k = 0; any && k < n.operand_count; ++k) {
      out << (k == 0 ? "(" : ", ");
      if (is_constant(g.operand(n, k))) constant(out, g.operand(n, k));
      else out << "&#183;";
    }
    if (any) out << ')';
    detail_of(out, n);
  }

  template <class Stream> void node_and_edges(Stream& out, std::int32_t i) const {
    node const& n = g.nodes[i];
    if (n.op->kind == operation_kind::constant) return;
    out << "  n" << i << " [fillcolor=\"" << (forward_[i] ? "#cfe2f3" : "#fce0c2") << "\", color=\""
        << (forward_[i] ? "#3d77b0" : "#c8741a") << "\", label=\"";
    operation_of(out, n);
    out << "\\n" << shape_of(g.result(n)).text() << "\"];\n";
    int from_nodes = 0, place = 0;
    for (int k = 0; k < n.operand_count; ++k)
      from_nodes += g.operand(n, k) != none && !is_constant(g.operand(n, k));
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const t = g.operand(n, k); t != none && !is_constant(t))
        edge(out, t, "n", i, n.op->commutative || from_nodes < 2 ? 0 : ++place);
  }

  /// `place` says which operand it is, where that matters.
  template <class Stream> void edge(Stream& out, symbol from, char const* to, std::int32_t number,
                                    int place) const {
    if (node const* const n = g.producer(from); n != nullptr) out << "  n" << n - g.nodes;
    else out << "  t" << from;
    out << " -> " << to << number;
    if (place > 0)
      out << " [headlabel=\"" << place << "\", fontsize=8, fontcolor=\"#7a7a7a\", labeldistance=1.3]";
    out << ";\n";
  }
};

} // namespace detail

/// The graph as a picture for Graphviz: operations and shapes, what the value needs in one colour and what only
/// the gradients need in another, arguments and results marked, constants in the operation that takes them,
/// operands numbered where their order matters.
///
///     ct::dot(std::ofstream("graph.dot"), ct::program<decltype(ct::value_and_grad(loss)), ...>::graph);
///
/// Checked: tests/runtime/io.cpp
template <class Stream> void dot(Stream&& out, graph_view const& g, dot_options const& options = {}) {
  detail::dot_writer(g, options).write(out);
}

} // namespace cotangent

#endif
