// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_KERNELS_HPP
#define COTANGENT_IO_EMIT_KERNELS_HPP

#include <cotangent/io/emit/nests.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/ops/ops.hpp>

#  include <cstdint>
#  include <string>

// The nodes of a plan that are no loops of their own: matrix products, lookups, moved elements.

namespace cotangent::detail {

class cpp_kernels : protected cpp_nests {
protected:
  using cpp_nests::cpp_nests;

  void write_kernel(nest const& n) {
    extend::node const& what = g.nodes[n.node];
    std::size_t const before = to.lines.size();
    to.open();
    std::size_t const begin = to.lines.size();
    switch (what.op->kind) {
    case operation_kind::constant: write_fill(n, what, cpp_literal(scalar_of(type_of(result(what)), g.attribute(what)))); break;
    case operation_kind::elementwise: write_elementwise(n, what); break;
    case operation_kind::reduction: write_reduction(n, what); break;
    case operation_kind::arg_reduction: write_arg_max(n, what); break;
    case operation_kind::matmul: write_product(n, what); break;
    case operation_kind::gather: move_rows(n, what, row_move::gather, 0, 1); break;
    case operation_kind::scatter_add:
      if (what.op == info_of<op::update_rows>()) write_update(n, what);
      else {
        write_fill(n, what, zero_of(result(what)));
        move_rows(n, what, row_move::add, 0, 1);
      }
      break;
    case operation_kind::concatenate: write_concatenate(n, what); break;
    case operation_kind::iota:
    case operation_kind::pad:
    case operation_kind::broadcast:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::reshape:
    case operation_kind::identity: write_movement(n, what); break;
    case operation_kind::whole:
      if (is_among(what.op, static_cast<detail::scan_operations*>(nullptr))) write_scan(n, what);
      else write_whole(n, what);
      break;
    case operation_kind::control: write_control(n, what); break;
    default: refuse_operation(&what);
    }
    bool const empty = to.lines.size() == begin;
    to.close();
    if (empty) to.lines.resize(before);
  }

  virtual void write_control(nest const& n, extend::node const& what) = 0;
  ~cpp_kernels() = default;

  /// The product of sizes, from axis `first` to below `last`.
  std::string count(extend::symbol t, int first, int last) const { return sizes.product(shape(t).size + first, last - first); }
  std::string count(extend::symbol t) const { return count(t, 0, shape(t).rank); }
  extend::dimensions const& shape(extend::symbol t) const { return g.shape(t); }
  std::string size(extend::symbol t, int axis) const { return sizes.of(shape(t).size[axis]); }
  access const& operand_access(nest const& n, int k) const { return p.accesses[p.kernel_accesses[n.first_instance + k]]; }
  /// The address of operand `j` of a kernel, or of its result `j - operand_count`.
  std::string address_of(nest const& n, int j) const {
    access const& a = operand_access(n, j);
    std::string const name = buffers[static_cast<std::size_t>(a.buffer)];
    return a.offset == 0 ? name : name + " + " + sizes.of(a.offset);
  }

private:
  extend::symbol result(extend::node const& n) const { return g.result(n); }
  element type_of(extend::symbol t) const { return g.tensors[t].type; }
  access const& result_access(nest const& n, extend::node const& what) const { return operand_access(n, what.operand_count); }
  /// The element of an operand at these indices.
  std::string from(nest const& n, int k, int rank, std::string const* at) const {
    access const& a = operand_access(n, k);
    cpp_sum where;
    for (int j = 0; j < rank; ++j) sizes.add_to(where, at[j], a.stride[j]);
    sizes.add_to(where, a.offset);
    return memory(a.buffer, where.text());
  }
  /// The element of the result at a row-major position.
  std::string into(nest const& n, extend::node const& what, std::string const& position) const {
    access const& a = result_access(n, what);
    return memory(a.buffer, a.offset == 0 ? position : sizes.of(a.offset) + " + " + position);
  }
  struct indices {
    std::string at[max_rank];
    indices() {
      for (int k = 0; k < max_rank; ++k) at[k] = index(k);
    }
  };
  void open_loops(extend::symbol t) {
    for (int k = 0; k < shape(t).rank; ++k) loop(index(k), shape(t).size[k]);
  }
  void close_loops(extend::symbol t) {
    for (int k = 0; k < shape(t).rank; ++k) to.close();
  }
  /// The row-major position of indices of `t`.
  std::string position(extend::symbol t, std::string const* at) const {
    std::string text;
    for (int k = 0; k < shape(t).rank; ++k) {
      if (at[k] == "0" || (shape(t).size[k] == 1 && at[k] == index(k))) continue;
      std::string const after = count(t, k + 1, shape(t).rank);
      text += (text.empty() ? "" : " + ") + at[k] + (after == "1" ? "" : " * " + after);
    }
    return text.empty() ? "0" : text;
  }
  void write_fill(nest const& n, extend::node const& what, std::string const& value) {
    to.open("for (std::int64_t e = 0; e < " + count(result(what)) + "; ++e)");
    to.line(into(n, what, "e") + " = " + value + ";");
    to.close();
  }

  void write_elementwise(nest const& n, extend::node const& what) {
    extend::symbol const y = result(what);
    indices const here;
    open_loops(y);
    std::string x[3];
    for (int k = 0; k < what.operand_count && k < 3; ++k) x[k] = from(n, k, shape(y).rank, here.at);
    to.line(into(n, what, position(y, here.at)) + " = " + applied(*what.op, type_of(y), x, &what) + ";");
    close_loops(y);
  }

  void write_reduction(nest const& n, extend::node const& what) {
    extend::symbol const x = g.operand(what, 0), y = result(what);
    write_fill(n, what, cpp_literal(what.op->neutral(type_of(y))));
    auto const mask = static_cast<std::uint32_t>(g.attribute(what));
    std::string kept[max_rank];
    for (int k = 0, j = 0; k < shape(x).rank; ++k)
      if ((mask >> k & 1u) == 0) kept[j++] = index(k);
    std::string const total = into(n, what, position(y, kept));
    std::string const both[]{total, from(n, 0, shape(x).rank, indices().at)};
    open_loops(x);
    to.line(total + " = " + applied(*what.op, type_of(y), both, &what) + ";");
    close_loops(x);
  }

  void write_arg_max(nest const& n, extend::node const& what) {
    extend::symbol const x = g.operand(what, 0), y = result(what);
    int const axis = static_cast<int>(g.attribute(what)), rank = shape(x).rank;
    std::string at[max_rank], best[max_rank], kept[max_rank];
    for (int k = 0, j = 0; k < rank; ++k) {
      at[k] = best[k] = index(k);
      if (k == axis) best[k] = "best";
      else {
        kept[j++] = index(k);
        loop(index(k), shape(x).size[k]);
      }
    }
    to.line("std::int64_t best = 0;");
    loop(index(axis), shape(x).size[axis]);
    std::string const here = from(n, 0, rank, at), there = from(n, 0, rank, best); // the first NaN is the largest
    to.line("if (" + there + " == " + there + " && (" + here + " > " + there + " || " + here + " != " + here + ")) best = " + index(axis) + ";");
    to.close();
    to.line(into(n, what, position(y, kept)) + " = best;");
    for (int k = 0; k + 1 < rank; ++k) to.close();
  }

  /// Rows of the product in blocks of columns, whose sums compilers keep in registers.
  void write_product(nest const& n, extend::node const& what) {
    static constexpr int block = 32;
    extend::symbol const y = result(what);
    int const at = shape(y).rank - 2;
    extend::dimension const columns = shape(y).size[at + 1];
    for (int k = 0; k <= at; ++k) loop(index(k), shape(y).size[k]);
    std::string const whole = columns >= 0 ? cpp_number(columns / block * block) : sizes.of(columns) + " / 32 * 32";
    if (columns < 0 || columns >= block) {
      to.open("for (std::int64_t j = 0; j < " + whole + "; j += 32)");
      write_columns(n, what, block, "j + c");
      to.close();
    }
    if (columns < 0) {
      to.open("for (std::int64_t j = " + whole + "; j < " + sizes.of(columns) + "; ++j)");
      write_columns(n, what, 1, "j + c");
      to.close();
    } else if (int const rest = static_cast<int>(columns % block); rest > 0) {
      to.open();
      write_columns(n, what, rest, whole == "0" ? "c" : whole + " + c");
      to.close();
    }
    for (int k = 0; k <= at; ++k) to.close();
  }
  void write_columns(nest const& n, extend::node const& what, int count_of, std::string const& column) {
    extend::symbol const a = g.operand(what, 0), b = g.operand(what, 1), y = result(what);
    bool const ta = g.attribute(what, 0) != 0, tb = g.attribute(what, 1) != 0;
    int const rank = shape(y).rank, at = rank - 2;
    std::string const row = index(at), inner = "k", there = "(" + column + ")", number = std::to_string(count_of), type = cpp_type(type_of(y));
    std::string left[max_rank], right[max_rank], out[max_rank];
    for (int k = 0; k < rank; ++k) left[k] = right[k] = out[k] = index(k);
    left[at] = ta ? inner : row, left[at + 1] = ta ? row : inner;
    right[at] = tb ? there : inner, right[at + 1] = tb ? inner : there;
    out[at + 1] = there;
    std::string const each = "for (int c = 0; c < " + number + "; ++c) ";
    to.line(type + " sums[" + number + "] = {};");
    loop(inner, shape(a).size[ta ? at : at + 1]);
    to.line(type + " const factor = " + from(n, 0, shape(a).rank, left) + ";");
    to.line(each + "sums[c] += factor * " + from(n, 1, shape(b).rank, right) + ";");
    to.close();
    to.line(each + into(n, what, position(y, out)) + " = sums[c];");
  }

  /// A row index: one out of range is the nearest row.
  void write_index(nest const& n, int operand, extend::symbol index_of, std::string const& rows) {
    std::string const label = from(n, operand, shape(index_of).rank, indices().at);
    to.line("std::int64_t const label = " + label + ";");
    to.line("if (label < 0 || label >= " + rows + ") found = std::max(found, 1);");
    to.line("std::int64_t const row = label < 0 ? 0 : label < " + rows + " ? label : " + rows + " - 1;");
  }
  std::string zero_of(extend::symbol t) const { return cpp_literal(extend::scalar{type_of(t)}); }
  void write_update(nest const& n, extend::node const& what) {
    extend::symbol const y = result(what);
    indices const here;
    int const last = what.operand_count - 1;
    open_loops(y);
    to.line(into(n, what, position(y, here.at)) + " = " + from(n, last, shape(y).rank, here.at) + ";");
    close_loops(y);
    for (int k = 0; k + 1 < what.operand_count; k += 2)
      move_rows(n, what, (rows_set(g, what) >> (k / 2) & 1u) != 0 ? row_move::set : row_move::add, k, k + 1);
  }
  /// Gathers rows of operand `rows` by the indices of operand `labels`, or adds or copies them to those rows of the result.
  enum class row_move { gather, add, set };
  void move_rows(nest const& n, extend::node const& what, row_move how, int rows, int labels) {
    extend::symbol const i = g.operand(what, labels), x = g.operand(what, rows), y = result(what);
    extend::symbol const large = how == row_move::gather ? x : y; // what the indices select from
    int const chosen = shape(i).rank, inner = shape(large).rank - 1;
    std::string in_large[max_rank], in_small[max_rank];
    for (int k = 0; k < chosen; ++k) in_small[k] = index(k);
    in_large[0] = "row";
    for (int k = 0; k < inner; ++k) in_small[chosen + k] = in_large[1 + k] = index(chosen + k);
    open_loops(i);
    write_index(n, labels, i, size(large, 0));
    to.line("if (" + size(large, 0) + " == 0) continue;");
    for (int k = 0; k < inner; ++k) loop(index(chosen + k), shape(large).size[1 + k]);
    if (how == row_move::gather) to.line(into(n, what, position(y, in_small)) + " = " + from(n, rows, shape(x).rank, in_large) + ";");
    else {
      std::string const there = into(n, what, position(y, in_large)), here = from(n, rows, shape(x).rank, in_small), both[]{there, here};
      to.line(there + " = " + (how == row_move::set ? here : applied(*info_of<op::sum>(), type_of(y), both, &what)) + ";");
    }
    for (int k = 0; k < inner; ++k) to.close();
    close_loops(i);
  }

  template <class... Op> static bool is_among(operation const* op, operations<Op...>*) noexcept { return (false || ... || (op == info_of<Op>())); }
  /// An element depends on the one before it along the axis, or after it.
  void write_scan(nest const& n, extend::node const& what) {
    extend::symbol const y = result(what);
    int const axis = static_cast<int>(g.attribute(what)), rank = shape(y).rank;
    bool const backward = g.attribute(what, 1) != 0;
    std::int64_t const number = g.attribute(what, 2);
    for (int k = 0; k < axis; ++k) loop(index(k), shape(y).size[k]);
    loop("step", shape(y).size[axis]);
    to.line("std::int64_t const " + index(axis) + " = " + (backward ? size(y, axis) + " - 1 - step" : "step") + ";");
    for (int k = axis + 1; k < rank; ++k) loop(index(k), shape(y).size[k]);
    indices here, there;
    there.at[axis] = "(" + index(axis) + (backward ? " + 1)" : " - 1)");
    std::string const before = into(n, what, position(y, there.at)), last = from(n, what.operand_count - 1, rank, here.at);
    std::string first = last, next;
    if (what.op == info_of<op::shift>()) {
      first = cpp_literal(scalar_of(type_of(y), bits_of(type_of(y), static_cast<double>(number))));
      next = from(n, 0, rank, there.at);
    } else if (what.op == info_of<op::recurrence>())
      next = from(n, 0, rank, number != 0 ? there.at : here.at) + " * " + before + " + " + last;
    else {
      std::string const both[]{before, last};
      next = applied(what.op == info_of<op::cumsum>() ? *info_of<op::add>() : *info_of<op::multiply>(), type_of(y), both, &what);
    }
    to.line(into(n, what, position(y, here.at)) + " = step == 0 ? " + first + " : " + next + ";");
    for (int k = 0; k < rank; ++k) to.close();
  }

  /// A call of this library.
  void write_whole(nest const& n, extend::node const& what) {
    cpp_formula const* const f = formula_in(cpp_whole_functions, what.op->name);
    if (f == nullptr) refuse_operation(&what);
    cpp_text::note(to.headers, f->text);
    to.line("cotangent::whole_call call;");
    for (int k = 0; k <= what.operand_count; ++k) {
      bool const is_result = k == what.operand_count;
      extend::symbol const t = is_result ? result(what) : g.operand(what, k);
      std::string const name = is_result ? "call.result" : "call.operand[" + std::to_string(k) + "]", type = cpp_type(type_of(t));
      to.line(name + " = cotangent::whole_tensor::of(const_cast<" + type + "*>(" + address_of(n, k) + "), 0, nullptr);");
      to.line(name + ".rank = " + std::to_string(shape(t).rank) + ";");
      for (int j = 0; j < shape(t).rank; ++j) to.line(name + ".size[" + std::to_string(j) + "] = " + size(t, j) + ";");
    }
    std::string attributes;
    for (int k = 0; k < what.attribute_count; ++k) attributes += cpp_number(g.attribute(what, k)) + ", ";
    to.line("static constexpr std::int64_t attributes[] = {" + attributes + "0};");
    to.line("call.attribute = attributes;");
    to.line("cotangent::status reported = cotangent::status::ok;");
    to.line("call.found = &reported;");
    to.line("cotangent::op::" + std::string(f->name) + "::whole(call);");
    to.line("if (reported != cotangent::status::ok) found = std::max(found, reported == cotangent::status::index_out_of_range ? 1 : 3);");
  }

  /// True if an operand was computed where it belongs in a concatenation, behind `start` positions of other operands.
  bool is_in_place(nest const& n, extend::node const& what, int k, int axis, extend::dimension start) const {
    extend::symbol const x = g.operand(what, k), y = result(what);
    access const &a = operand_access(n, k), &b = result_access(n, what);
    if (a.buffer != b.buffer || start < 0) return false;
    extend::dimension step = 1, at = b.offset;
    for (int j = shape(y).rank; j-- > 0; step *= shape(y).size[j]) {
      if (shape(y).size[j] < 0 || (shape(x).size[j] != 1 && a.stride[j] != step)) return false;
      if (j == axis) at += start * step;
    }
    return a.offset == at;
  }
  void write_concatenate(nest const& n, extend::node const& what) {
    extend::symbol const y = result(what);
    int const axis = static_cast<int>(g.attribute(what));
    cpp_sum length; // of the operands so far
    extend::dimension known = 0; // the same as a number, or negative
    for (int k = 0; k < what.operand_count; ++k) {
      extend::symbol const x = g.operand(what, k);
      std::string const start = length.text();
      if (!is_in_place(n, what, k, axis, known)) {
        indices here, there;
        if (start != "0") there.at[axis] = "(" + index(axis) + " + " + start + ")";
        open_loops(x);
        to.line(into(n, what, position(y, there.at)) + " = " + from(n, k, shape(x).rank, here.at) + ";");
        close_loops(x);
      }
      extend::dimension const own = shape(x).size[axis];
      sizes.add_to(length, own);
      known = known < 0 || own < 0 ? -1 : known + own;
    }
  }

  void write_movement(nest const& n, extend::node const& what) {
    extend::symbol const y = result(what);
    indices here;
    if (what.op->kind == operation_kind::iota) {
      open_loops(y);
      to.line(into(n, what, position(y, here.at)) + " = static_cast<" + cpp_type(type_of(y)) + ">(" + index(static_cast<int>(g.attribute(what))) + ");");
      return close_loops(y);
    }
    extend::symbol const x = g.operand(what, 0);
    indices there;
    auto const attribute = [&](int k) { return g.attribute(what, k); };
    auto const stepped = [&](int k) {
      std::string const times = attribute(2 * k + 1) == 1 ? "" : cpp_number(attribute(2 * k + 1)) + " * ";
      std::string const first = sizes.of(attribute(2 * k));
      return first == "0" ? "(" + times + index(k) + ")" : "(" + first + " + " + times + index(k) + ")";
    };
    switch (what.op->kind) {
    case operation_kind::pad:
      write_fill(n, what, zero_of(y));
      for (int k = 0; k < shape(y).rank; ++k) there.at[k] = stepped(k);
      open_loops(x);
      to.line(into(n, what, position(y, there.at)) + " = " + from(n, 0, shape(x).rank, here.at) + ";");
      return close_loops(x);
    case operation_kind::broadcast:
      for (int k = 0; k < shape(x).rank; ++k) there.at[k] = shape(x).size[k] == 1 ? "0" : index(static_cast<int>(attribute(k)));
      break;
    case operation_kind::permute:
      for (int k = 0; k < shape(y).rank; ++k) there.at[static_cast<int>(attribute(k))] = index(k);
      break;
    case operation_kind::slice:
      for (int k = 0; k < shape(y).rank; ++k) there.at[k] = stepped(k);
      break;
    case operation_kind::reshape: {
      to.line("std::int64_t e = 0;");
      open_loops(x);
      to.line(into(n, what, "e++") + " = " + from(n, 0, shape(x).rank, here.at) + ";");
      return close_loops(x);
    }
    default: break; // the same indices
    }
    open_loops(y);
    to.line(into(n, what, position(y, here.at)) + " = " + from(n, 0, shape(x).rank, there.at) + ";");
    close_loops(y);
  }
};

} // namespace cotangent::detail

#endif

#endif
