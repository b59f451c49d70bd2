// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_DOT_TEXT_HPP
#define COTANGENT_IO_DOT_TEXT_HPP

#include <cotangent/core/message.hpp>
#include <cotangent/graph/window.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>
#include <string>

// Labels of a drawing: shapes, windows, constants, operations.

namespace cotangent::detail::dots {

/// Escapes text for a quoted label: newlines are kept, and nothing is an entity.
inline std::string escaped(char const* text) {
  std::string to;
  for (; *text != '\0'; ++text) switch (*text) {
    case '"': to += "\\\""; break;
    case '\\': to += "\\\\"; break;
    case '\n': to += "\\n"; break;
    case '&': to += "&amp;"; break;
    default: to += static_cast<unsigned char>(*text) < 32 ? ' ' : *text;
    }
  return to;
}

/// A word and a number. (`"n" + std::to_string(7)` makes g++ 12 warn, at -O3, of an overlapping copy that
/// does not exist.)
inline std::string numbered(char const* word, std::int64_t number) {
  return std::string(word).append(std::to_string(number));
}

inline std::string shape_of(graph_view const& g, symbol t) {
  message m;
  shape s;
  for (int k = 0; k < g.shape(t).rank; ++k) s.push(g.extent_of(g.shape(t).size[k]));
  if (g.tensors[t].type != element::float32) m.put(name_of(g.tensors[t].type)).put(s.rank == 0 ? "" : " ");
  if (s.rank != 0) m.put(s);
  else if (g.tensors[t].type == element::float32) m.put("a number");
  return m.text();
}

/// The window of a view: "[0:2, 3]" if axes of the tensor stay axes, else "4 + (3, 1) by [2, 2]".
inline std::string window_of_view(graph_view const& g, symbol t) {
  tensor_window const w = window_of(g, t);
  dimensions const& from = g.shape(w.root);
  message ranges("["), strides, sizes;
  bool along_axes = from.rank == w.rank && w.known && numbers_only(from);
  std::int64_t step = 1, start[max_rank]{}, by[max_rank]{};
  for (int k = w.rank - 1; k >= 0 && along_axes; --k) {
    by[k] = w.size[k] <= 1 ? 1 : w.stride[k] / step;
    start[k] = from.size[k] > 0 ? w.offset / step % from.size[k] : 0;
    std::int64_t const last = start[k] + (w.size[k] - 1) * by[k];
    along_axes = from.size[k] > 0 && w.size[k] > 0 && (w.size[k] == 1 || w.stride[k] == by[k] * step) &&
                 by[k] > 0 && last < from.size[k];
    step *= from.size[k];
  }
  for (int k = 0; k < w.rank; ++k) {
    if (k > 0) ranges.put(", "), strides.put(", "), sizes.put(", ");
    strides.put(w.stride[k]);
    sizes.put(w.size[k]);
    if (!along_axes) continue;
    if (w.size[k] == from.size[k] && by[k] == 1) ranges.put(":");
    else if (w.size[k] == 1) ranges.put(start[k]);
    else {
      ranges.put(start[k]).put(":").put(start[k] + (w.size[k] - 1) * by[k] + 1);
      if (by[k] != 1) ranges.put(":").put(by[k]);
    }
  }
  if (along_axes) return ranges.put("]").text();
  return message()
      .put(w.offset)
      .put(" + (")
      .put(strides.text())
      .put(") by [")
      .put(sizes.text())
      .put("]")
      .text();
}

inline bool is_constant(graph_view const& g, symbol t) {
  return t != none && g.tensors[t].producer != none &&
         g.nodes[g.tensors[t].producer].op->kind == operation_kind::constant;
}
template <class Stream> void constant(Stream& out, graph_view const& g, symbol t) {
  scalar const value = scalar_of(g.tensors[t].type, g.attribute(*g.producer(t)));
  if (value.type == element::boolean) out << (value.integer != 0 ? "true" : "false");
  else if (is_floating(value.type)) out << value.real;
  else out << value.integer;
}

/// An operation with its constant operands, which are not nodes of the drawing, as in `sub(1, .)`; the roles
/// of operands if the name does not tell them.
template <class Stream> void operation_of(Stream& out, graph_view const& g, node const& n) {
  out << escaped(n.op->name);
  bool any = false;
  for (int k = 0; k < n.operand_count; ++k) any = any || is_constant(g, g.operand(n, k));
  for (int k = 0; any && k < n.operand_count; ++k) {
    out << (k == 0 ? "(" : ", ");
    if (is_constant(g, g.operand(n, k))) constant(out, g, g.operand(n, k));
    else out << "&#183;";
  }
  if (any) out << ')';
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

} // namespace cotangent::detail::dots

#endif
