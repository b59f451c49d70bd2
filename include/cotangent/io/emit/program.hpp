// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_PROGRAM_HPP
#define COTANGENT_IO_EMIT_PROGRAM_HPP

#include <cotangent/io/emit/control.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/core/names.hpp>
#  include <cotangent/plan/label_checks.hpp>
#  include <cotangent/plan/layout.hpp>

#  include <cctype>
#  include <cstdint>
#  include <string>
#  include <vector>

// A graph as C++ functions of its inputs, its results and a workspace: one for the graph, one for each of its sub-graphs.

namespace cotangent {

/// The names in an emitted program. An input without one is x1, x2, ..., a result y1, y2, ...; names that C++ reserves get an underscore.
struct emit_options {
  std::string name = "program";
  std::vector<std::string> inputs{}, results{};
};

namespace detail {

/// The function of one region.
class cpp_function : cpp_control {
  std::string derived_; // the sizes that it computes
  cpp_sum workspace_;   // the bytes of its buffers

public:
  cpp_function(graph_view const& graph, plan const& of_graph, cpp_text& text, cpp_whole const& whole)
      : cpp_control(graph, of_graph, text, whole) {}

  /// `given`: the elements of inputs that are constants; others are parameters.
  void write(std::string const& name, std::vector<std::string> const& inputs, std::vector<std::string> const& results,
             std::vector<std::string> const& given = {}) {
    cpp_text body;
    find_sizes();
    begin(body.lines, inputs, results);
    std::string const header = std::move(to.lines);
    to.lines.clear();
    check_labels(inputs);
    for (nest const& n : p.nests)
      if (n.kind == nest_kind::loops) write_nest(n);
      else write_kernel(n);
    for (int k = 0; k < g.output_count(); ++k) write_result(k, results[static_cast<std::size_t>(k)]);
    std::string const statements = std::move(to.lines);
    to.lines = header + "// The bytes of its workspace.\ninline std::int64_t " + name + "_workspace_bytes(" + whole_.size_list() +
               ") {\n" + whole_.unused_sizes() + derived_ + "  return " + bytes() + ";\n}\n\n";
    to.lines += "inline int " + name + "(" + whole_.size_list();
    bool first = whole_.parameters.empty();
    if (!scratch.empty())
      body.lines += "  unsigned char* const scratch = static_cast<unsigned char*>(workspace) + " + workspace_.text() + ";\n";
    std::string constants;
    for (std::size_t k = 0; k < given.size(); ++k)
      if (!given[k].empty()) {
        std::string const type = cpp_type(g.tensors[g.input(static_cast<int>(k))].type);
        constants += "  [[maybe_unused]] static constexpr " + type + " " + inputs[k] + "[] = {" + given[k] + "};\n";
      }
    std::string const all = derived_ + constants + body.lines + "  int found = 0;\n" + statements + "  return found;\n";
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (k >= given.size() || given[k].empty()) put_parameter(g.input(static_cast<int>(k)), " const* ", inputs[k], all, first);
    for (int k = 0; k < g.output_count(); ++k) put_parameter(g.output(k), "* ", results[static_cast<std::size_t>(k)], all, first);
    to.lines += std::string(first ? "" : ",\n    ") + unused(all, "workspace") + "void* workspace) {\n" + whole_.unused_sizes() + all + "}\n\n";
  }

private:
  /// Reports labels out of range, as the program does. They do no harm where they are read.
  void check_labels(std::vector<std::string> const& inputs) {
    array<label_check> checks(count_label_checks(g));
    find_label_checks(g, checks.data());
    for (int k = 0; k < checks.size(); ++k) {
      label_check const& c = checks[k];
      bool known = false;
      for (int j = 0; j < k; ++j) known = known || (checks[j].input == c.input && checks[j].classes == c.classes);
      if (known) continue;
      std::string const label = inputs[static_cast<std::size_t>(c.input)] + "[e]";
      to.open("for (std::int64_t e = 0; e < " + count(g.input(c.input)) + "; ++e)");
      to.line("if (" + label + " < 0 || " + label + " >= " + sizes.of(c.classes) + ") found = std::max(found, 1);");
      to.close();
    }
  }
  /// An attribute for a parameter that the code does not name.
  static std::string unused(std::string const& code, std::string const& name) {
    auto const belongs = [&](std::size_t at) {
      return at < code.size() && (code[at] == '_' || std::isalnum(static_cast<unsigned char>(code[at])) != 0);
    };
    for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1))
      if ((at == 0 || !belongs(at - 1)) && !belongs(at + name.size())) return "";
    return "[[maybe_unused]] ";
  }
  void put_parameter(extend::symbol t, char const* how, std::string const& name, std::string const& code, bool& first) {
    cotangent::shape s;
    for (int k = 0; k < g.shape(t).rank; ++k) s.push(g.extent_of(g.shape(t).size[k]));
    std::string const type = cpp_type(g.tensors[t].type), text = message().put(s).text();
    to.lines += std::string(first ? "\n    " : ",\n    ") + unused(code, name) + type + how + name + " /* " + text + " */";
    first = false;
  }
  void find_sizes() {
    derived_ = whole_.formulas;
    for (std::string const& e : whole_.extents) sizes.add(e);
    for (int k = 0; k < p.derived.size(); ++k) {
      std::string const size = "d" + std::to_string(k);
      derived_size const& d = p.derived[k];
      derived_ += "  [[maybe_unused]] std::int64_t const " + size + " = " + sizes.of(d.a) + (d.product ? " * " : " + ") + sizes.of(d.b) + ";\n";
      sizes.add(size);
    }
  }
  /// Names the memory of each buffer.
  void begin(std::string& lines, std::vector<std::string> const& inputs, std::vector<std::string> const& results) {
    std::vector<std::string> starts;
    for (slot const& s : p.slots) {
      starts.push_back(workspace_.text());
      sizes.add_lines(workspace_, sizes.of(s.count), s.bytes);
    }
    for (int k = 0; k < p.buffers.size(); ++k) {
      buffer const& b = p.buffers[k];
      if (b.where == residence::argument) buffers.push_back(inputs[static_cast<std::size_t>(b.index)]);
      else if (b.where == residence::result) buffers.push_back(results[static_cast<std::size_t>(b.index)]);
      else {
        buffers.push_back("w" + std::to_string(k));
        if (b.index < 0) continue;
        std::string const type = cpp_type(b.type);
        lines += "  [[maybe_unused]] " + type + "* const " + buffers.back() + " = reinterpret_cast<" + type + "*>(static_cast<unsigned char*>(workspace) + " +
                 starts[static_cast<std::size_t>(b.index)] + ");\n";
      }
    }
  }
  std::string bytes() const { return scratch.empty() ? workspace_.text() : workspace_.text() + " + " + most(scratch); }
  /// A result that is another buffer is copied.
  void write_result(int k, std::string const& name) {
    buffer const& b = p.buffers[p.results[k]];
    if (b.where == residence::result && b.index == k) return;
    to.open("for (std::int64_t e = 0; e < " + sizes.of(b.count) + "; ++e)");
    to.line(name + "[e] = " + memory(p.results[k], "e") + ";");
    to.close();
  }
};

class cpp_program {
  cpp_text text_;
  cpp_whole whole_;
  sequence_solver const solver_;

public:
  cpp_program(graph_view const& g, emit_options const& o, std::vector<std::string> const& given = {}) : solver_(g) {
    whole_.view = g;
    whole_.sequences = solver_.sizes(); // reads the solver
    check();
    cpp_names names;
    whole_.name = names.add(o.name, "program");
    text_.parts = names.add(whole_.name + "_parts", "parts");
    for (std::int32_t r = 1; r < g.region_count; ++r) names.add(whole_.region(r), "region");
    name_extents(names);
    for (std::int32_t r = g.region_count; r-- > 0;) // those of bodies first
      if (r == 0) write(r, whole_.name, named(names, o.inputs, g.input_count(), "x"), named(names, o.results, g.output_count(), "y"), given);
      else {
        cpp_names own = names;
        auto const inputs = named(own, {}, g.input_count(r), "x"), results = named(own, {}, g.output_count(r), "y");
        write(r, whole_.region(r), inputs, results);
      }
  }

  std::string text() const {
    std::string all = "// " + whole_.name + ": emitted by Cotangent. Arrays are row-major; a workspace is aligned to 64 bytes. Returns 0; 1 if an index was\n"
                      "// out of range, for which the nearest one was taken; 2 if a loop reached the bound of its iterations; 3 for a singular matrix.\n";
    for (char const* const h : {"<algorithm>", "<cmath>", "<cstddef>", "<cstdint>", "<cstring>", "<limits>", "<type_traits>"})
      all.append("#include ").append(h).append(1, '\n');
    for (std::string const& h : text_.headers) all.append(h[0] == '<' ? "#include " + h : "#include <cotangent/" + h + ">").append(1, '\n');
    all += '\n';
    if (!text_.helpers.empty()) {
      all += "namespace " + text_.parts + " {\n";
      for (std::string const& h : text_.helpers) all += "  " + h + "\n";
      all += "} // namespace " + text_.parts + "\n\n";
    }
    return all + text_.lines;
  }

private:
  void check() const {
    graph_view const& g = whole_.view;
    for (extend::symbol t = 0; t < g.tensor_count; ++t) {
      if (is_half(g.tensors[t].type)) refuse_emission(refusals::emit_half::text, g.producer(t));
      if (g.tensors[t].base != none) refuse_emission(refusals::emit_views::text, g.producer(t));
    }
    if (extend::symbol const t = whole_.sequences.unbounded(); t != none) refuse_emission(refusals::emit_unbounded::text, g.producer(t));
  }
  /// Names become parameters, formulas of them variables.
  void name_extents(cpp_names& names) {
    graph_view const& g = whole_.view;
    whole_.extents.resize(static_cast<std::size_t>(g.extent_count));
    auto const at = [&](int k) -> std::string& { return whole_.extents[static_cast<std::size_t>(k)]; };
    for (int k = 0; k < g.extent_count; ++k)
      if (extent const e = g.extent_of(-1 - k); is_name(e)) whole_.parameters.push_back(at(k) = names.add(e.text, "n" + std::to_string(k + 1)));
    for (int k = 0; k < g.extent_count; ++k) {
      extent const e = g.extent_of(-1 - k);
      if (is_name(e)) continue;
      std::string const text = of_names(e);
      at(k) = text.empty() ? names.add(e.text, "n" + std::to_string(k + 1)) : "s" + std::to_string(k);
      if (text.empty()) whole_.parameters.push_back(at(k));
      else whole_.formulas += "  [[maybe_unused]] std::int64_t const " + at(k) + " = " + text + ";\n";
    }
  }
  /// A formula of parameters; empty if it has a name that is no extent of the graph.
  std::string of_names(extent const& e) const {
    if (e.overflow()) return {};
    formula const f = to_formula(e);
    std::string sum;
    for (int i = 0; i < f.count; ++i) {
      std::string product = cpp_number(f.terms[i].coefficient);
      for (int j = 0; j < f.terms[i].degree; ++j) {
        std::string factor;
        for (int k = 0; k < whole_.view.extent_count; ++k)
          if (extent const name = whole_.view.extent_of(-1 - k); is_name(name) && compare_names(name.text, f.terms[i].names[j]) == 0)
            factor = whole_.extents[static_cast<std::size_t>(k)];
        if (factor.empty()) return {};
        product += " * " + factor;
      }
      sum += (sum.empty() ? "" : " + ") + product;
    }
    return sum;
  }
  static std::vector<std::string> named(cpp_names& names, std::vector<std::string> const& wanted, int count, char const* letter) {
    std::vector<std::string> list;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
      list.push_back(names.add(k < wanted.size() ? wanted[k] : "", letter + std::to_string(k + 1)));
    return list;
  }
  void write(std::int32_t r, std::string const& name, std::vector<std::string> const& inputs, std::vector<std::string> const& results,
             std::vector<std::string> const& given = {}) {
    graph_view const& all = whole_.view;
    graph own;
    if (has_control(all)) own = region_graph(all, r, whole_.sequences);
    graph_view const g = has_control(all) ? graph_view(own) : all;
    plan const p = make_plan(g, 16);
    cpp_function(g, p, text_, whole_).write(name, inputs, results, given);
  }
};

} // namespace detail
} // namespace cotangent

#endif

#endif
