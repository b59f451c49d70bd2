// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_CONTROL_HPP
#define COTANGENT_IO_EMIT_CONTROL_HPP

#include <cotangent/io/emit/kernels.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/plan/regions.hpp>

#  include <cstdint>
#  include <string>
#  include <vector>

// Loops and branches: their sub-graphs are functions.

namespace cotangent::refusals {
COTANGENT_REFUSAL_OF(emit_unbounded, allowed,
                     "cotangent: emit: a loop whose values are recorded must have a count that is a number or a size, or max_iterations")
} // namespace cotangent::refusals

namespace cotangent::detail {

/// The graph with all its regions.
struct cpp_whole {
  graph_view view;
  sequence_sizes sequences;
  std::string name;
  std::vector<std::string> extents;    // the variables of all extents
  std::vector<std::string> parameters; // those that are passed
  std::string formulas;                // definitions of the others

  std::string region(std::int32_t r) const { return name + "_region" + std::to_string(r); }
  std::string size_list() const {
    std::string text;
    for (std::string const& e : parameters) text += (text.empty() ? "std::int64_t " : ", std::int64_t ") + e;
    return text;
  }
  std::string unused_sizes() const {
    std::string text;
    for (std::string const& e : parameters) text += "  static_cast<void>(" + e + ");\n";
    return text;
  }
  std::string sizes() const {
    std::string text;
    for (std::string const& e : parameters) text += (text.empty() ? "" : ", ") + e;
    return text;
  }
  std::string workspace_of(std::int32_t r) const { return region(r) + "_workspace_bytes(" + sizes() + ")"; }
};

class cpp_control : protected cpp_kernels {
protected:
  cpp_whole const& whole_;
  std::vector<std::string> scratch; // the bytes that each control node needs

  cpp_control(graph_view const& graph, plan const& of_graph, cpp_text& text, cpp_whole const& whole)
      : cpp_kernels(graph, of_graph, text), whole_(whole) {}
  ~cpp_control() = default;

  static std::string most(std::vector<std::string> const& of) {
    std::string text;
    for (std::string const& one : of) text += ", " + one;
    return "std::max({std::int64_t{0}" + text + "})";
  }

  void write_control(nest const& n, extend::node const& what) final {
    if (what.op == info_of<op::loop>()) return write_loop(n, what);
    if (what.op == info_of<op::case_of>()) return write_case(n, what);
    std::string const sum = address_of(n, what.operand_count); // sequences: nothing, or a sum
    to.open("for (std::int64_t e = 0; e < " + count(g.result(what)) + "; ++e)");
    to.line("(" + sum + ")[e] = " + (what.operand_count == 0 ? "0" : "(" + address_of(n, 0) + ")[e] + (" + address_of(n, 1) + ")[e]") + ";");
    to.close();
  }

private:
  graph_view const& all() const { return whole_.view; }
  extend::node const& original(extend::node const& what) const { return all().nodes[g.attribute(what)]; }

  /// The address of operand `k` of the original node, whose absent operands the region's node lacks.
  std::string operand_of(nest const& n, extend::node const& what, int k) const {
    if (all().operand(original(what), k) == none) refuse_operation(&what);
    return address_of(n, operand_position(what, k));
  }
  int operand_position(extend::node const& what, int k) const {
    int at = 0;
    for (int j = 0; j < k; ++j) at += all().operand(original(what), j) != none ? 1 : 0;
    return at;
  }
  std::string result_of(nest const& n, extend::node const& what, int k) const { return address_of(n, what.operand_count + k); }
  extend::symbol result_symbol(extend::node const& what, int k) const { return g.result(what, k); }
  std::string bytes_of(extend::symbol t) const {
    return "static_cast<std::size_t>(" + count(t) + ") * sizeof(" + cpp_type(g.tensors[t].type) + ")";
  }
  /// Copies a value like `t`.
  void copy(std::string const& to_memory, std::string const& from_memory, extend::symbol t) {
    if (count(t) == "1") to.line("*(" + to_memory + ") = *(" + from_memory + ");");
    else to.line("std::memmove(" + to_memory + ", " + from_memory + ", " + bytes_of(t) + ");");
  }
  void clear(std::string const& memory_of, extend::symbol t) { to.line("std::memset(" + memory_of + ", 0, " + bytes_of(t) + ");"); }

  /// Calls the function of region `r`.
  void call(std::int32_t r, std::vector<std::string> const& values, std::string const& workspace) {
    std::string list = whole_.sizes();
    for (std::string const& v : values) list += (list.empty() ? "" : ", ") + v;
    to.line("found = std::max(found, " + whole_.region(r) + "(" + list + (list.empty() ? "" : ", ") + workspace + "));");
  }

  void write_case(nest const& n, extend::node const& what) {
    case_layout const at = case_layout::of(all(), original(what));
    std::vector<std::string> bytes;
    to.open("switch (*(" + operand_of(n, what, 0) + "))");
    for (int b = 0; b < at.branches; ++b) {
      std::int32_t const r = at.branch(b);
      to.open("case " + std::to_string(b) + ":");
      std::vector<std::string> values;
      for (int k = 0; k < at.values; ++k) values.push_back(operand_of(n, what, 1 + k));
      for (int k = 0; k < at.results; ++k)
        if (all().output(k, r) != none) values.push_back(result_of(n, what, k));
        else clear(result_of(n, what, k), result_symbol(what, k));
      call(r, values, "scratch");
      bytes.push_back(whole_.workspace_of(r));
      to.line("break;");
      to.close();
    }
    to.open("default:");
    for (int k = 0; k < at.results; ++k) {
      extend::symbol const y = result_symbol(what, k);
      if (at.bypass(k) < 0) clear(result_of(n, what, k), y);
      else copy(result_of(n, what, k), operand_of(n, what, 1 + at.bypass(k)), y);
    }
    to.close();
    to.close();
    scratch.push_back(most(bytes));
  }

  void write_loop(nest const& n, extend::node const& what) {
    loop_layout const at = loop_layout::of(all(), original(what));
    bool const has_condition = at.condition != none, is_limited = all().operand(original(what), loop_layout::limit()) != none;
    cpp_sum next;
    for (int k = 0; k < at.carried; ++k) { // carried values live in the results
      extend::symbol const y = result_symbol(what, k);
      std::string const type = cpp_type(g.tensors[y].type);
      to.line(type + "* const next" + std::to_string(k) + " = reinterpret_cast<" + type + "*>(scratch + " + next.text() + ");");
      sizes.add_lines(next, count(y), static_cast<std::int64_t>(size_of(g.tensors[y].type)));
      copy(result_of(n, what, k), operand_of(n, what, at.init(k)), y);
    }
    for (int k = 0; k < at.stacked; ++k) clear(result_of(n, what, at.stack(k)), result_symbol(what, at.stack(k)));
    to.line("std::int64_t const first = " + (at.has_start() ? "*(" + operand_of(n, what, at.start()) + ")" : std::string("0")) + ";");
    to.line("std::int64_t const limit = " + (is_limited ? "*(" + operand_of(n, what, loop_layout::limit()) + ")" : std::string("INT64_MAX")) + ";");
    to.line("std::int64_t trips = 0;");
    to.open("for (; trips < limit - first; ++trips)");
    to.line(std::string("std::int64_t const at = ") + (at.is_reverse() ? "limit - 1 - trips" : "first + trips") + ";");
    std::vector<std::string> shared{"&at"};
    for (int k = 0; k < at.carried; ++k) shared.push_back(result_of(n, what, k));
    for (int k = 0; k < at.captured; ++k) shared.push_back(operand_of(n, what, at.capture(k)));
    std::string const inner = "scratch + " + next.text();
    std::vector<std::string> bytes{whole_.workspace_of(at.body)};
    if (has_condition) {
      bytes.push_back(whole_.workspace_of(at.condition));
      bool const always_first = (at.flags & loop_layout::runs_first) != 0;
      to.line("bool goes_on = true;");
      std::vector<std::string> values = shared;
      values.push_back("&goes_on");
      if (always_first) to.open("if (trips > 0)");
      call(at.condition, values, inner);
      if (always_first) to.close();
      to.line("if (!goes_on) break;");
    }
    for (int k = 0; k < at.stacked; ++k) write_bound(original(what), result_symbol(what, at.stack(k)), all().result(original(what), at.stack(k)));
    std::vector<std::string> values = shared;
    for (int k = 0; k < at.scanned; ++k) {
      extend::symbol const sequence = all().operand(original(what), at.scan(k));
      values.push_back(operand_of(n, what, at.scan(k)) + entry(sequence, g.operand(what, operand_position(what, at.scan(k)))));
    }
    for (int k = 0; k < at.carried; ++k) values.push_back("next" + std::to_string(k));
    for (int k = 0; k < at.stacked; ++k) {
      extend::symbol const sequence = all().result(original(what), at.stack(k));
      values.push_back(result_of(n, what, at.stack(k)) + entry(sequence, result_symbol(what, at.stack(k))));
    }
    call(at.body, values, inner);
    for (int k = 0; k < at.carried; ++k) copy(result_of(n, what, k), "next" + std::to_string(k), result_symbol(what, k));
    to.close();
    to.line("*(" + result_of(n, what, at.trips()) + ") = trips;");
    scratch.push_back(next.text() + " + " + most(bytes));
  }
  /// Ends a loop for whose values a sequence has no room.
  void write_bound(extend::node const& loop_node, extend::symbol t, extend::symbol sequence) {
    extend::symbol const limit = all().operand(loop_node, loop_layout::limit());
    extend::node const* const n = limit == none ? nullptr : all().producer(limit);
    if (n != nullptr && n->op == info_of<op::constant>()) return; // sequences have room for a known limit
    to.open("if (" + index_in(sequence) + " >= " + size(t, 0) + ")");
    to.line("found = std::max(found, 2);");
    to.line("break;");
    to.close();
  }
  std::string index_in(extend::symbol sequence) const { return whole_.sequences.from_start(sequence) ? "(at - first)" : "at"; }
  /// The way to the entry of this iteration in a sequence, whose entries lie along the first axis of `t`.
  std::string entry(extend::symbol sequence, extend::symbol t) const {
    std::string const elements = count(t, 1, shape(t).rank);
    return " + " + index_in(sequence) + (elements == "1" ? "" : " * " + elements);
  }
};

} // namespace cotangent::detail

#endif

#endif
