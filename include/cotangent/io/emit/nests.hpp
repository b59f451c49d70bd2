// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_NESTS_HPP
#define COTANGENT_IO_EMIT_NESTS_HPP

#include <cotangent/io/emit/writer.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/ops/ops.hpp>
#  include <cotangent/plan/layout.hpp>

#  include <cstdint>
#  include <string>
#  include <vector>

// The loop nests of a plan as C++ loops over single elements.

namespace cotangent::detail {

/// A plan whose nests become loops. Rows and lanes are loops, stages follow each other in the body of a row.
class cpp_nests {
protected:
  graph_view const& g;
  plan const& p;
  cpp_text& to;
  cpp_sizes sizes;
  std::vector<std::string> buffers; // names, by buffer

  cpp_nests(graph_view const& graph, plan const& of_graph, cpp_text& text) : g(graph), p(of_graph), to(text) {}

  static std::string index(int axis) { return "i" + std::to_string(axis); }
  static std::string value(std::int32_t i) { return "v" + std::to_string(i); }
  std::string memory(std::int32_t buffer, std::string const& position) const {
    return buffers[static_cast<std::size_t>(buffer)] + "[" + position + "]";
  }
  void loop(std::string const& name, extend::dimension size) {
    to.open("for (std::int64_t " + name + " = 0; " + name + " < " + sizes.of(size) + "; ++" + name + ")");
  }

  void write_nest(nest const& n) {
    std::int32_t const* const list = &p.lists[n.first_list];
    to.open();
    for (std::int32_t i = list[0]; i < list[1]; ++i) write(i, n);
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) begin_total(i, n);
    for (int k = 0; k < n.split; ++k) loop(index(k), n.size[k]);
    for (int s = 0; s < n.stages; ++s) write_stage(n, s);
    for (int k = 0; k < n.split; ++k) to.close();
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) end_total(i, n);
    to.close();
  }

  /// A formula with its operands.
  std::string applied(operation const& op, element type, std::string const* x, extend::node const* n) {
    std::string const narrow = cpp_type(type);
    cpp_formula const* f = is_floating(type) || type == element::boolean ? nullptr : formula_in(cpp_integer_formulas, op.name);
    if (f == nullptr) f = formula_in(cpp_formulas, op.name);
    if (f == nullptr) refuse_operation(n);
    if (f->helper != nullptr) cpp_text::note(to.helpers, f->helper);
    if (f->header != nullptr) cpp_text::note(to.headers, f->header);
    std::string text;
    for (char const* c = f->text; *c != 0; ++c)
      if (*c != '$') text += *c;
      else if (*++c == 'T') text += narrow;
      else if (*c == 'U') text += cpp_unsigned(type);
      else if (*c == 'P') text += to.parts + "::";
      else text += x[*c - '0'];
    return text;
  }

private:
  /// The element that an instance accesses at these indices.
  std::string place(instance const& v, nest const& n, std::string const* at) const {
    access const& a = p.accesses[v.access];
    cpp_sum where;
    for (int k = 0; k < n.rank; ++k) sizes.add_to(where, at[k], a.stride[k]);
    sizes.add_to(where, a.offset);
    return memory(a.buffer, where.text());
  }
  /// The indices of the loops around a value: 0 along those that are not.
  struct indices {
    std::string at[max_rank];
    indices(nest const& n, bool rows, bool lanes) {
      for (int k = 0; k < n.rank; ++k) at[k] = (k < n.split ? rows : lanes) ? index(k) : "0";
    }
    indices(nest const& n, role where) : indices(n, where != role::once, where == role::lane) {}
  };
  std::string at_access(instance const& v, nest const& n, bool rows, bool lanes) const { return place(v, n, indices(n, rows, lanes).at); }
  std::string at_access(instance const& v, nest const& n) const { return place(v, n, indices(n, v.where).at); }
  std::string operand(std::int32_t i, int k) const {
    std::int32_t const o = p.operands[p.instances[i].first_operand + k];
    instance const& u = p.instances[o];
    return u.what == action::constant ? cpp_literal(scalar_of(u.type, u.bits)) : value(o);
  }
  static std::string zero(element e) { return cpp_literal(extend::scalar{e}); }
  std::string lane(nest const& n) const { return n.rank > n.split ? index(n.rank - 1) : "0"; }
  /// The condition under which a value that lives in a part of the lanes is there; empty if it always is.
  std::string inside(instance const& v, nest const& n) const {
    if (v.where != role::lane || v.detail == none || n.rank == n.split || !may_be_partial(v.what)) return {};
    return index(n.rank - 1) + " < " + sizes.of(p.windows[v.detail].high[n.rank - 1]);
  }
  /// The actions whose `detail` is a window of lanes.
  static bool may_be_partial(action a) {
    return a == action::load || a == action::shift || a == action::compute || a == action::reduce || a == action::accumulate;
  }
  extend::node const* node_of(instance const& v) const { return v.value == none ? nullptr : g.producer(v.value); }

  void write_stage(nest const& n, int s) {
    std::int32_t const* const list = &p.lists[n.first_list + 1 + 2 * s];
    for (std::int32_t i = list[0]; i < list[1]; ++i) write(i, n);
    for (std::int32_t i = list[1]; i < list[2]; ++i) {
      instance const& v = p.instances[i];
      if (v.what == action::reduce) to.line(std::string(cpp_type(v.type)) + " " + value(i) + " = " + cpp_literal(v.op->neutral(v.type)) + ";");
      if (v.what == action::shift) begin_shift(i, n);
    }
    if (list[1] < list[2]) {
      for (int k = n.split; k < n.rank; ++k) loop(index(k), n.size[k]);
      for (std::int32_t i = list[1]; i < list[2]; ++i) write(i, n);
      for (int k = n.split; k < n.rank; ++k) to.close();
    }
    for (std::int32_t i = list[1]; i < list[2]; ++i)
      if (instance const& v = p.instances[i]; v.what == action::reduce && v.access != none)
        to.line(at_access(v, n, true, false) + " = " + value(i) + ";");
  }

  /// One value at one position.
  void write(std::int32_t i, nest const& n) {
    instance const& v = p.instances[i];
    std::string const type = cpp_type(v.type), condition = inside(v, n);
    auto const guarded = [&](std::string const& statement) { to.line(condition.empty() ? statement : "if (" + condition + ") " + statement); };
    auto const either = [&](std::string const& when, std::string const& then) { return when.empty() ? then : when + " ? " + then + " : " + zero(v.type); };
    std::string text;
    switch (v.what) {
    case action::constant: return;
    case action::position: text = v.detail == none ? zero(v.type) : "static_cast<" + type + ">(" + index(v.detail) + ")"; break;
    case action::size: {
      extend::node const& of = *g.producer(v.detail);
      text = "static_cast<" + type + ">(" + sizes.product(g.numbers + of.attribute, of.attribute_count) + ")";
      break;
    }
    case action::load: text = either(condition, at_access(v, n)); break;
    case action::recall: text = memory(p.row_slots[v.detail].buffer, lane(n)); break;
    case action::window: text = windowed(v, n); break;
    case action::pick: {
      indices from(n, v.where);
      from.at[n.rank - 1] = operand(i, 0);
      std::string const label = operand(i, 0);
      text = either(label + " >= 0 && " + label + " < " + sizes.of(n.size[n.rank - 1]), place(v, n, from.at));
      break;
    }
    case action::shift: return write_shift(i, n, condition);
    case action::compute: {
      std::string x[3];
      for (int k = 0; k < v.operand_count && k < 3; ++k) x[k] = operand(i, k);
      bool const same = v.op == info_of<op::convert>() && p.instances[p.operands[v.first_operand]].type == v.type;
      text = same ? x[0] : applied(*v.op, v.type, x, node_of(v));
      break;
    }
    case action::reduce: return guarded(combined(i, value(i)));
    case action::accumulate: return guarded(combined(i, is_column(v, n) ? at_access(v, n) : value(i)));
    }
    to.line(type + " const " + value(i) + " = " + text + ";");
    if (v.what == action::compute && v.access != none) guarded(at_access(v, n) + " = " + value(i) + ";");
    if (v.slot != none) to.line(memory(p.row_slots[v.slot].buffer, lane(n)) + " = " + value(i) + ";");
  }
  /// `so_far` combined with an instance's operand.
  std::string combined(std::int32_t i, std::string const& so_far) {
    instance const& v = p.instances[i];
    std::string const x[]{so_far, operand(i, 0)};
    return so_far + " = " + applied(*v.op, v.type, x, node_of(v)) + ";";
  }
  std::string windowed(instance const& v, nest const& n) const {
    window const& w = p.windows[v.detail];
    indices from(n, v.where);
    std::string condition;
    auto const require = [&](std::string const& one) { condition += condition.empty() ? one : " && " + one; };
    for (int k = 0; k < n.rank; ++k) {
      if (w.low[k] != 0) {
        require(index(k) + " >= " + sizes.of(w.low[k]));
        from.at[k] = "(" + index(k) + " - " + sizes.of(w.low[k]) + ")";
      }
      if (w.high[k] != n.size[k]) require(index(k) + " < " + sizes.of(w.high[k]));
    }
    std::string const there = place(v, n, from.at);
    return condition.empty() ? there : condition + " ? " + there + " : " + zero(v.type);
  }

  /// A shift reads its operand some positions ago: a ring holds that many.
  std::string ring(std::int32_t i) const { return "r" + std::to_string(i); }
  extend::dimension distance(instance const& v, nest const& n) const { return p.windows[v.detail].low[n.rank - 1]; }
  void begin_shift(std::int32_t i, nest const& n) {
    cpp_text::note(to.headers, "<vector>");
    to.line("std::vector<" + std::string(cpp_type(p.instances[i].type)) + "> " + ring(i) + "(static_cast<std::size_t>(" + sizes.of(distance(p.instances[i], n)) + ") + 1);");
  }
  void write_shift(std::int32_t i, nest const& n, std::string const& condition) {
    instance const& v = p.instances[i];
    std::string const by = sizes.of(distance(v, n)), here = index(n.rank - 1), length = "(" + by + " + 1)";
    to.line(ring(i) + "[static_cast<std::size_t>(" + here + " % " + length + ")] = " + operand(i, 0) + ";");
    to.line(std::string(cpp_type(v.type)) + " const " + value(i) + " = " + here + " >= " + by + (condition.empty() ? "" : " && " + condition) + " ? " +
            ring(i) + "[static_cast<std::size_t>((" + here + " - " + by + ") % " + length + ")] : " + zero(v.type) + ";");
    if (v.slot != none) to.line(memory(p.row_slots[v.slot].buffer, lane(n)) + " = " + value(i) + ";");
  }

  /// A sum over rows has one element for each position of a row, or is one number.
  bool is_column(instance const& v, nest const& n) const { return v.where == role::lane && n.rank > 0 && p.accesses[v.access].stride[n.rank - 1] != 0; }
  void begin_total(std::int32_t i, nest const& n) {
    instance const& v = p.instances[i];
    if (v.what != action::accumulate) return;
    std::string const neutral = cpp_literal(v.op->neutral(v.type));
    if (!is_column(v, n)) return to.line(std::string(cpp_type(v.type)) + " " + value(i) + " = " + neutral + ";");
    for (int k = n.split; k < n.rank; ++k) loop(index(k), n.size[k]);
    to.line(at_access(v, n, false, true) + " = " + neutral + ";");
    for (int k = n.split; k < n.rank; ++k) to.close();
  }
  void end_total(std::int32_t i, nest const& n) {
    instance const& v = p.instances[i];
    if (v.what == action::accumulate && !is_column(v, n)) to.line(at_access(v, n, false, false) + " = " + value(i) + ";");
  }
};

} // namespace cotangent::detail

#endif

#endif
