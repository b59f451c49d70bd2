// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DOT_WRITER_HPP
#define COTANGENT_IO_DOT_WRITER_HPP

#include <cotangent/io/dot_marks.hpp>

#include <cstdint>
#include <sstream>
#include <string>

namespace cotangent::detail {

/// Writes a graph in the DOT language. `n5` is node 5, `t3` tensor 3 if no node computes it, `v4` view 4,
/// `o0` the first output, `r2` the outcome of region 2.
class dot_writer {
  graph_view g;
  dot_options o;
  dots::marks m;
  region_nodes regions_;
  mutable std::ostringstream edges_; // written last: a frame would capture every node named inside it

public:
  dot_writer(graph_view const& graph, dot_options const& options)
      : g(graph), o(options), m(graph, options), regions_(graph) {}

  template <class Stream> void write(Stream& out) const {
    out << "digraph cotangent {\n"
           "  graph [rankdir=TB, ranksep=0.28, nodesep=0.22, fontname=\"Helvetica\", fontsize=11, "
           "bgcolor=white, compound=true];\n"
           "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"filled,rounded\", height=0.3, "
           "margin=\"0.1,0.05\"];\n"
           "  edge [color=\"#7a7a7a\", arrowsize=0.55, fontname=\"Helvetica\", fontsize=9];\n";
    if (g.node_count > o.fold) // Graphviz would search too long
      out << "  graph [nslimit=1, nslimit1=1, mclimit=0.2, splines=polyline];\n";
    legend(out);
    for (int k = 0; k < g.input_count(); ++k) {
      out << "  t" << g.input(k) << " [shape=house, style=filled, fillcolor=\"#e8e8e8\", label=\"";
      if (o.inputs != nullptr) out << dots::escaped(o.inputs[k]);
      else if (g.name(g.input(k)) != nullptr && g.name(g.input(k))[0] != '\0')
        out << dots::escaped(g.name(g.input(k)));
      else out << "input " << k;
      out << "\\n"
          << dots::shape_of(g, g.input(k)) << (m.written[g.input(k)] ? "\\nwritten over in pieces" : "");
      details_of(out, g.input(k));
      out << "\"];\n";
    }
    region(out, 0, "  ");
    for (int k = 0; k < g.output_count(); ++k) output(out, k);
    out << edges_.str() << "}\n";
  }

private:
  template <class Stream> void legend(Stream& out) const {
    out << "  subgraph cluster_legend {\n    label=\"\"; color=white;\n"
           "    l1 [label=\"argument\", shape=house, style=filled, fillcolor=\"#e8e8e8\"];\n"
           "    l2 [label=\"what the value needs\", fillcolor=\"#cfe2f3\", color=\"#3d77b0\"];\n"
           "    l3 [label=\"what only gradients need\", fillcolor=\"#fce0c2\", color=\"#c8741a\"];\n"
           "    l4 [label=\"result\", shape=invhouse, penwidth=1.6, style=filled, fillcolor=white];\n";
    std::string chain = "l1 -> l2 -> l3 -> l4";
    auto const entry = [&](char const* id, char const* looks) {
      out << "    " << id << " [" << looks << "];\n";
      chain += std::string(" -> ") + id;
    };
    if (m.has_views) {
      entry("l5", "label=\"window on a tensor\", shape=box, style=dashed");
      entry("l6", "label=\"tensor, written\\nthrough views\", shape=box3d, style=filled, "
                  "fillcolor=\"#e2efda\", color=\"#6a9a4f\"");
    }
    if (g.region_count > 1)
      entry("l7", "label=\"given at each\\niteration, to a branch\", shape=ellipse, style=filled, "
                  "fillcolor=\"#f3f3f3\"");
    if (m.has_tape)
      entry("l8", "label=\"taped in every\\niteration (t)\", shape=box, style=bold, color=\"#8e5bb5\", "
                  "fontcolor=\"#6b3f91\"");
    out << "    " << chain << " [style=invis];\n  }\n";
  }

  template <class Stream> void output(Stream& out, int k) const {
    out << "  o" << k << " [shape=invhouse, penwidth=1.6, style=filled, fillcolor=\""
        << (k < o.values ? "#6fa8dc" : "#f6a04d") << "\", label=\"";
    if (o.outputs != nullptr) out << dots::escaped(o.outputs[k]);
    else out << (k < o.values ? "value " : "gradient ") << (k < o.values ? k : k - o.values);
    out << "\\n" << dots::shape_of(g, g.output(k)) << "\"];\n";
    if (dots::is_constant(g, g.output(k))) {
      out << "  c" << k << " [shape=plaintext, style=\"\", label=\"";
      dots::constant(out, g, g.output(k));
      out << "\"];\n  c" << k << " -> o" << k << ";\n";
    } else edge(g.output(k), dots::numbered("o", k));
  }

  /// Details of a symbol, in the long form.
  template <class Stream> void details_of(Stream& out, symbol t, node const* n = nullptr) const {
    if (!o.details) return;
    out << "\\n#" << t;
    if (n != nullptr && n->where.line() != 0) {
      std::string file = n->where.file_name();
      if (std::size_t const at = file.find_last_of("/\\"); at != std::string::npos) file.erase(0, at + 1);
      out << "\\n" << dots::escaped(file.c_str()) << ':' << n->where.line();
    }
  }

  std::string note_of(std::int32_t i) const {
    char const* const note = o.notes == nullptr ? nullptr : o.notes[i];
    return note == nullptr || note[0] == '\0' ? "" : "\\n" + dots::escaped(note);
  }
  std::string id_of(symbol t) const {
    t = m.stands_for[t];
    if (g.tensors[t].base != none) return dots::numbered("v", t);
    if (std::int32_t const p = g.tensors[t].producer; p != none) return dots::numbered("n", m.box[p]);
    return dots::numbered("t", t);
  }
  void edge(symbol from, std::string const& to, std::string const& looks = "") const {
    if (from == none || dots::is_constant(g, from)) return;
    std::string all = looks;
    if (g.tensors[from].depth > 0)
      all += std::string(all.empty() ? "" : ", ") + "penwidth=2, color=\"#8e5bb5\"";
    link(id_of(from), to, all);
  }
  void link(std::string const& from, std::string const& to, std::string const& looks = "") const {
    edges_ << "  " << from << " -> " << to;
    if (!looks.empty()) edges_ << " [" << looks << "]";
    edges_ << ";\n";
  }

  /// Everything in a region.
  template <class Stream> void region(Stream& out, std::int32_t r, std::string const& indent) const {
    for (symbol const t : m.list)
      if (g.tensors[t].region == r) tensor(out, t, indent);
    for (int p = 0; p < regions_.count(r); ++p) {
      std::int32_t const i = regions_.at(r, p);
      node const& n = g.nodes[i];
      if (!m.runs[i] || n.op->kind == operation_kind::constant || m.box[i] != i) continue;
      if (n.op == info_of<op::loop>()) loop(out, i, indent);
      else if (n.op == info_of<op::case_of>()) branches(out, i, indent);
      else operation(out, i, indent);
    }
  }

  /// A view, or a tensor that is written in pieces.
  template <class Stream> void tensor(Stream& out, symbol t, std::string const& indent) const {
    tensor_symbol const& s = g.tensors[t];
    if (s.base == none) {
      out << indent << "t" << t
          << " [shape=box3d, style=filled, fillcolor=\"#e2efda\", color=\"#6a9a4f\", label=\"";
      if (g.name(t) != nullptr && g.name(t)[0] != '\0') out << dots::escaped(g.name(t)) << "\\n";
      out << dots::shape_of(g, t) << (m.zero_filled[t] ? "\\nzero (0) where not written" : "");
      details_of(out, t);
      out << "\"];\n";
      return;
    }
    out << indent << "v" << t << " [shape=box, style=dashed, label=\"" << dots::window_of_view(g, t);
    details_of(out, t);
    out << "\"];\n";
    std::string const self = dots::numbered("v", t);
    if (s.producer == none) edge(s.base, self, "arrowhead=none");
    else link(self, id_of(s.base));
  }

  template <class Stream> void looks_of(Stream& out, std::int32_t i) const {
    out << "fillcolor=\"" << (m.forward[i] ? "#cfe2f3" : "#fce0c2") << "\", color=\""
        << (m.forward[i] ? "#3d77b0" : "#c8741a") << "\"";
  }
  template <class Stream> void operation(Stream& out, std::int32_t i, std::string const& indent) const {
    node const& n = g.nodes[i];
    out << indent << "n" << i << " [";
    looks_of(out, i);
    out << ", label=\"";
    std::int32_t last = i;
    for (std::int32_t k = i; k != none; k = m.next[k]) { // a chain that shares a box
      if (k != i) out << "\\n";
      dots::operation_of(out, g, g.nodes[k]);
      out << note_of(k);
      last = k;
    }
    out << "\\n" << dots::shape_of(g, g.result(g.nodes[last]));
    details_of(out, g.result(g.nodes[last]), &n);
    out << "\"];\n";
    int from_nodes = 0, place = 0;
    for (int k = 0; k < n.operand_count; ++k)
      from_nodes += g.operand(n, k) != none && !dots::is_constant(g, g.operand(n, k));
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const t = g.operand(n, k); t != none && !dots::is_constant(g, t))
        edge(t, dots::numbered("n", i),
             n.op->commutative || from_nodes < 2
                 ? ""
                 : dots::numbered("headlabel=\"", ++place) +
                       "\", fontsize=8, fontcolor=\"#7a7a7a\", labeldistance=1.3");
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = g.result(n, k); g.tensors[y].base != none)
        link(dots::numbered("n", i), dots::numbered("v", y));
  }

  template <class Stream>
  void open(Stream& out, std::string const& name, std::string const& label, std::int32_t i,
            std::string const& indent, bool strong = true) const {
    out << indent << "subgraph cluster_" << name << " {\n"
        << indent << "  label=\"" << label << (strong ? note_of(i) : "") << "\"; labeljust=l; style=\"rounded"
        << (strong ? ",filled" : ",dashed") << "\"; color=\"" << (m.forward[i] ? "#3d77b0" : "#c8741a")
        << "\"; fillcolor=\"" << (m.forward[i] ? "#f5f9fd" : "#fef8f1") << "\";\n";
  }
  /// An input of a region, with the edge from its operand.
  template <class Stream>
  void given(Stream& out, symbol in, symbol from, std::string const& word, std::string const& indent) const {
    if (!m.used[in] || m.stands_for[in] != in) return;
    char const* const name = from == none ? nullptr : g.name(from);
    out << indent << "t" << in
        << " [shape=ellipse, style=filled, fillcolor=\"#f3f3f3\", color=\"#7a7a7a\", label=\""
        << (name != nullptr && name[0] != '\0' ? dots::escaped(name) : word);
    if (from != none && dots::is_constant(g, from)) {
      out << " = ";
      dots::constant(out, g, from);
    }
    details_of(out, in);
    out << "\"];\n";
    edge(from, dots::numbered("t", in), word == "captured" ? "style=dashed" : "");
  }
  /// The box of the results of a loop or a branch.
  template <class Stream>
  void results(Stream& out, std::int32_t i, char const* words, std::string const& indent) const {
    node const& n = g.nodes[i];
    out << indent << "n" << i << " [";
    looks_of(out, i);
    out << ", penwidth=1.6, label=\"" << words;
    for (int k = 0; k < n.result_count; ++k) {
      symbol const y = g.result(n, k);
      if (!m.used[y]) continue;
      out << "\\n" << dots::shape_of(g, y) << (g.tensors[y].depth > 0 ? ", of every iteration (t)" : "");
    }
    if (n.result_count > 0) details_of(out, g.result(n), &n);
    out << "\"];\n";
  }

  template <class Stream> void loop(Stream& out, std::int32_t i, std::string const& indent) const {
    node const& n = g.nodes[i];
    loop_layout const at = loop_layout::of(g, n);
    std::string const self = dots::numbered("n", i), inner = indent + "  ";
    symbol const limit = g.operand(n, 0);
    std::string label = "loop";
    if (dots::is_constant(g, limit))
      label += std::string(at.condition == none ? ", " : ", at most ") +
               std::to_string(g.attribute(*g.producer(limit))) + " times";
    else if (limit != none) label += ", as often as said";
    if (at.condition != none)
      label += (at.flags & loop_layout::runs_first) != 0 ? ", asked after each iteration"
                                                         : ", asked before each iteration";
    if (at.is_reverse()) label += ", backwards";
    open(out, self, label, i, indent);
    given(out, g.input(0, at.body), none, "iteration", inner);
    for (int k = 0; k < at.carried; ++k)
      given(out, g.input(at.init(k), at.body), g.operand(n, at.init(k)), "carried", inner);
    for (int k = 0; k < at.captured; ++k)
      given(out, g.input(at.capture(k), at.body), g.operand(n, at.capture(k)), "captured", inner);
    for (int k = 0; k < at.scanned; ++k)
      given(out, g.input(at.scan(k), at.body), g.operand(n, at.scan(k)), "kept (t)", inner);
    if (at.condition != none) {
      std::string const asks = dots::numbered("r", at.condition);
      open(out, asks, "condition", i, inner, false);
      region(out, at.condition, inner + "  ");
      out << inner << "  " << asks
          << " [shape=diamond, style=filled, fillcolor=\"#fff2cc\", color=\"#b59a3b\", label=\"go on?\"];\n"
          << inner << "}\n";
      edge(g.output(0, at.condition), asks);
    }
    region(out, at.body, inner);
    results(out, i, at.stacked == 0 ? "after the loop" : "after the loop, and kept", inner);
    out << indent << "}\n";
    edge(limit, self, "headlabel=\"times\", fontsize=8");
    for (int k = 0; k < at.carried; ++k) {
      symbol const next = g.output(k, at.body), in = g.input(at.init(k), at.body);
      if (m.used[g.result(n, k)]) edge(next, self);
      if (m.used[in] && id_of(next) != id_of(in))
        edge(next, dots::numbered("t", in),
             "style=dotted, penwidth=1.5, color=\"#3d77b0\", constraint=false");
    }
    for (int k = 0; k < at.stacked; ++k)
      if (m.used[g.result(n, at.stack(k))])
        edge(g.output(at.entry(k), at.body), self,
             "penwidth=1.5, color=\"#8e5bb5\", label=\"(t)\", fontcolor=\"#6b3f91\"");
  }

  template <class Stream> void branches(Stream& out, std::int32_t i, std::string const& indent) const {
    node const& n = g.nodes[i];
    case_layout const at = case_layout::of(g, n);
    std::string const self = dots::numbered("n", i), inner = indent + "  ";
    open(out, self, "one of", i, indent);
    for (int j = 0; j < at.branches; ++j) {
      std::int32_t const r = at.branch(j);
      open(out, dots::numbered("r", r), dots::numbered("branch ", j), i, inner, false);
      for (int k = 0; k < at.values; ++k)
        given(out, g.input(k, r), g.operand(n, at.value(k)), "given", inner + "  ");
      region(out, r, inner + "  ");
      out << inner << "}\n";
      for (int k = 0; k < at.results; ++k)
        if (m.used[g.result(n, k)] && g.output(k, r) != none) {
          if (dots::is_constant(g, g.output(k, r))) continue;
          edge(g.output(k, r), self);
        }
    }
    results(out, i, "chosen", inner);
    out << indent << "}\n";
    edge(g.operand(n, 0), self, "headlabel=\"which\", fontsize=8, color=\"#b59a3b\"");
    for (int k = 0; k < at.results; ++k)
      if (at.bypass(k) >= 0 && m.used[g.result(n, k)])
        edge(g.operand(n, at.value(at.bypass(k))), self, "style=dashed, label=\"if none\"");
  }
};

} // namespace cotangent::detail

#endif
