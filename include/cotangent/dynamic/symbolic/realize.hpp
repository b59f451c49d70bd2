// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_REALIZE_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_REALIZE_HPP

#include <cotangent/dynamic/symbolic/resolve.hpp>

#include <cotangent/graph/verify_shapes.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Emits the nodes of one operation of the symbolic API. They belong to it alone: no other nodes merge with
// them.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Assigns the nodes from `first` on to an operation; none: to no operation.
inline void take_nodes(graph_state& s, std::int32_t first, std::int32_t e) {
  auto& owners = s.symbolic.node_exec;
  owners.resize(static_cast<std::size_t>(first), none);
  for (std::int32_t i = first; i < s.b.get().nodes.size(); ++i) {
    owners.push_back(e);
    if (e != none) exec_at(s, e).nodes.push_back(i);
  }
}

/// Removes the nodes of an operation; its outputs then have no writer.
inline void unrealize(graph_state& s, std::int32_t e) {
  graph& g = s.b.edit();
  for (std::int32_t const i : exec_at(s, e).nodes) {
    node& n = g.nodes[i];
    for (int k = 0; k < n.result_count; ++k)
      if (tensor_symbol& y = g.tensors[g.ids[n.first + n.operand_count + k]]; y.producer == i)
        y.producer = none;
    n.op = info_of<op::nothing>();
    n.operand_count = n.result_count = n.attribute_count = 0;
    n.flags.merges = false;
    s.symbolic.node_exec[static_cast<std::size_t>(i)] = none;
  }
  exec_at(s, e).nodes.clear();
}

/// The same shape in another builder. (Its sizes are numbers.)
inline std::int32_t shape_in(builder& to, builder const& from, std::int32_t shape) {
  return to.shape(from.get().shapes[shape]);
}

/// Checks the numbers of attributes and operands that a node's shape rule requires; refuses if they do not
/// fit.
inline void check_counts(graph_state const& s, request const& r, operation const* op, int operands,
                         int attributes) {
  if (op->kind == operation_kind::control || op->kind == operation_kind::input)
    raise_graph<refusals::symbolic_control>(s.b, r);
  if (op->arity >= 0 ? operands != op->arity : operands < 1)
    raise_graph<refusals::symbolic_inputs>(s.b, r, extent::of(operands),
                                           extent::of(op->arity < 0 ? 1 : op->arity));
  int needed = -1;
  switch (op->kind) {
  case operation_kind::constant:
  case operation_kind::iota:
  case operation_kind::reduction:
  case operation_kind::arg_reduction:
  case operation_kind::concatenate: needed = 1; break;
  case operation_kind::matmul: needed = 2; break;
  case operation_kind::elementwise: needed = op == info_of<op::convert>() ? 1 : -1; break;
  default: break;
  }
  if (needed >= 0 && attributes != needed)
    raise_graph<refusals::symbolic_attributes>(s.b, r, extent::of(attributes), extent::of(needed));
}
/// True if the operation's node states the shape of its result.
inline bool shape_is_stated(operation const* op) {
  switch (op->kind) {
  case operation_kind::constant:
  case operation_kind::iota:
  case operation_kind::size:
  case operation_kind::broadcast:
  case operation_kind::reshape:
  case operation_kind::slice:
  case operation_kind::pad:
  case operation_kind::scatter_add: return true;
  default: return false;
  }
}

/// Sets an unknown shape; a known one must be equal. Operands of the request: the inputs, then `y`.
inline void give_type(graph_state& s, symbol y, element e, dimensions const& d, request const& r) {
  std::int32_t const shape = s.b.shape(d);
  if (is_unknown(s, y) && s.b.tensor(y).type == e) {
    s.b.edit().tensors[y].shape = shape;
    record(s, y).automatic = false;
    return;
  }
  if (s.b.tensor(y).type == e && s.b.tensor(y).shape == shape) return;
  message text = words_of(s.b, {why<refusals::symbolic_output_type>(), {}, {}, none, {}}, r);
  cotangent::shape given;
  for (int k = 0; k < d.rank; ++k) given.push(s.b.extent_of(d.size[k]));
  text.put("; it gives ").put(cotangent::name_of(e)).put(" ").put(given);
  throw shape_error(text);
}

/// Emits one node, with all its operands, for an existing symbol.
inline void realize_node(graph_state& s, operation const* op, std::vector<symbol> const& x, symbol y,
                         std::vector<std::int64_t> const& attributes, request const& r) {
  builder& b = s.b;
  int const count = static_cast<int>(attributes.size());
  std::vector<std::int64_t> padded = attributes; // a rule may read an attribute that is missing
  padded.resize(attributes.size() + 2 * max_rank);
  if (shape_is_stated(op)) {
    if (is_unknown(s, y)) raise_graph<refusals::symbolic_shape_unknown>(b, r);
  } else {
    inference rule{b, x.data(), static_cast<int>(x.size()), padded.data(), count};
    op->infer(rule);
    if (failure const f = b.failed(); f.why != nullptr) raise(b, f, r);
    dimensions const d = b.get().shapes[rule.shape];
    give_type(s, y, rule.type, d, r);
  }
  std::int32_t const at =
      b.assign(op, x.data(), static_cast<int>(x.size()), &y, 1, attributes.data(), count, r.where);
  if (!shape_is_stated(op)) return;
  node const n = b.get().nodes[at];
  if (char const* const text = cotangent::detail::shape_check(b.get(), b, n).run(); text != nullptr)
    throw shape_error(
        words_of(b, {why<refusals::symbolic_output_type>(), {}, {}, none, {}}, r).put("; ").put(text));
}

/// Calls a function of terms on the inputs, and emits its result to the outputs.
inline void realize_function(graph_state& s, command::function const& f, std::vector<symbol> const& x,
                             std::vector<symbol> const& y, request const& r) {
  builder own;
  own.place = r.where;
  std::vector<term> terms;
  std::vector<symbol> now; // by symbol of `own`: the symbol of the graph
  for (symbol const t : x) {
    if (t == none) {
      terms.push_back({&own, none});
      continue;
    }
    tensor_symbol const like = s.b.tensor(t);
    terms.push_back({&own, own.symbol_of(like.type, shape_in(own, s.b, like.shape))});
    now.resize(static_cast<std::size_t>(terms.back().id) + 1, none);
    now.back() = t;
  }
  std::size_t const given = now.size();
  std::vector<term> const made = f(terms);
  if (failure const w = own.failed(); w.why != nullptr)
    raise(s.b, {w.why, w.left, w.right, none, w.where}, r);
  if (made.size() != y.size())
    raise_graph<refusals::symbolic_outputs>(s.b, r, extent::of(static_cast<std::int64_t>(y.size())),
                                            extent::of(static_cast<std::int64_t>(made.size())));
  graph const& g = own.get();
  if (g.regions.size() > 1) raise_graph<refusals::symbolic_control>(s.b, r);
  now.resize(static_cast<std::size_t>(g.tensors.size()), none);
  std::vector<bool> needed(now.size());
  for (term const& t : made)
    if (t.id != none) needed[static_cast<std::size_t>(t.id)] = true;
  for (std::int32_t i = g.nodes.size(); i-- > 0;) {
    node const& n = g.nodes[i];
    bool any = false;
    for (int k = 0; k < n.result_count; ++k)
      any = any || needed[static_cast<std::size_t>(g.ids[n.first + n.operand_count + k])];
    for (int k = 0; k < n.operand_count && any; ++k)
      if (symbol const t = g.ids[n.first + k]; t != none) needed[static_cast<std::size_t>(t)] = true;
  }
  std::vector<bool> placed(y.size());
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (y[k] == none) continue;
    if (made[k].id == none) raise_graph<refusals::symbolic_absent>(s.b, r);
    give_type(s, y[k], g.tensors[made[k].id].type, g.shapes[g.tensors[made[k].id].shape], r);
    symbol& at = now[static_cast<std::size_t>(made[k].id)];
    placed[k] =
        static_cast<std::size_t>(made[k].id) >= given && at == none && g.tensors[made[k].id].producer != none;
    if (placed[k]) at = y[k];
  }
  for (node const& n : g.nodes) {
    std::vector<symbol> in, out;
    bool any = false;
    for (int k = 0; k < n.result_count; ++k)
      any = any || needed[static_cast<std::size_t>(g.ids[n.first + n.operand_count + k])];
    if (!any) continue;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(now[static_cast<std::size_t>(g.ids[n.first + k])]);
    for (int k = 0; k < n.result_count; ++k) {
      symbol const t = g.ids[n.first + n.operand_count + k];
      symbol& at = now[static_cast<std::size_t>(t)];
      if (at == none) at = s.b.symbol_of(g.tensors[t].type, shape_in(s.b, own, g.tensors[t].shape));
      out.push_back(at);
    }
    (void)s.b.assign(n.op, in.data(), n.operand_count, out.data(), n.result_count,
                     g.numbers.data() + n.attribute, n.attribute_count, n.where);
  }
  for (std::size_t k = 0; k < y.size(); ++k)
    if (y[k] != none && !placed[k])
      (void)s.b.assign(info_of<op::identity>(), &now[static_cast<std::size_t>(made[k].id)], 1, &y[k], 1,
                       nullptr, 0, r.where);
}

/// Emits one operation: fills in absent operands, broadcasts, and folds further operands.
inline void realize_operation(graph_state& s, command const& c, std::vector<symbol> x,
                              std::vector<symbol> const& y, request const& r) {
  builder& b = s.b;
  operation const* const op = c.op();
  s.kernels.add(c.kernels());
  if (y.size() != 1)
    raise_graph<refusals::symbolic_outputs>(b, r, extent::of(static_cast<std::int64_t>(y.size())),
                                            extent::of(1));
  bool const folds = op->commutative && op->arity == 2 && x.size() > 2;
  check_counts(s, r, op, folds ? 2 : static_cast<int>(x.size()), static_cast<int>(c.attributes().size()));
  bool const over_one = op == info_of<op::divide>() && x[0] == none && x[1] != none; // 1 / x
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k] == none && !(over_one && k == 0))
      raise_graph<refusals::symbolic_input_absent>(b, r, extent::of(static_cast<std::int64_t>(k)));
  if (y[0] == none) return; // the result is not used
  bool equal = !folds && !over_one;
  for (symbol const t : x)
    equal =
        equal && (op->kind != operation_kind::elementwise || b.tensor(t).shape == b.tensor(x.back()).shape);
  if (equal) return realize_node(s, op, x, y[0], c.attributes(), r);
  realize_function(
      s,
      [&](std::vector<term> const& terms) -> std::vector<term> {
        builder& own = *terms.back().b;
        std::vector<term> all = terms;
        if (over_one) all[0] = extend::constant_like(all[1], 1);
        std::int32_t shape = all[0].shape_id();
        for (term const& t : all)
          if (shape != none) shape = extend::broadcast_shape(own, shape, t.shape_id());
        if (shape == none) return {all[0]};
        for (term& t : all) t = extend::broadcast_to(t, shape);
        std::int64_t const* const a = c.attributes().data();
        auto const push = [&](symbol const* ids, int n) {
          return term{&own, own.push(op, ids, n, a, static_cast<int>(c.attributes().size()), own.place)};
        };
        if (!folds) {
          std::vector<symbol> ids;
          for (term const& t : all) ids.push_back(t.id);
          return {push(ids.data(), static_cast<int>(ids.size()))};
        }
        term sum = all[0];
        for (std::size_t k = 1; k < all.size(); ++k) {
          symbol const pair[]{sum.id, all[k].id};
          sum = push(pair, 2);
        }
        return {sum};
      },
      x, y, r);
}

/// Emits the nodes of an operation; if a shape is not known yet, they wait. After an exception nodes without
/// an owner may remain: the caller rolls back.
template <class = void> void realize(graph_state& s, std::int32_t e, bool wait = true) {
  exec_record const x = exec_at(s, e); // a copy: functions may change the graph
  std::vector<symbol> all;
  for (symbol const t : x.in)
    if (t != none) all.push_back(t);
  for (symbol const t : x.out)
    if (t != none) all.push_back(t);
  request r = request_of_words(x.what.name(), x.where);
  r.operands = all.data();
  r.operand_count = static_cast<int>(all.size());
  bool unknown = false;
  for (symbol const t : all) unknown = unknown || is_unknown(s, t);
  exec_at(s, e).pending = unknown && wait && x.what.kind() != command::form::nothing;
  if (exec_at(s, e).pending) return;
  if (!wait)
    for (symbol const t : x.in)
      if (is_unknown(s, t)) {
        r.operands = &t;
        r.operand_count = 1;
        raise_graph<refusals::symbolic_shape_unknown>(s.b, r);
      }
  std::int32_t const first = s.b.get().nodes.size(), before = s.b.region;
  struct back {
    builder& b;
    std::int32_t region;
    ~back() { b.region = region; }
  } const here{s.b, before};
  s.b.region = x.graph;
  s.b.place = x.where;
  switch (x.what.kind()) {
  case command::form::nothing:
    (void)s.b.assign(info_of<op::nothing>(), nullptr, 0, nullptr, 0, nullptr, 0, x.where);
    break;
  case command::form::set: {
    if (!x.in.empty() || x.out.size() != 1)
      raise_graph<refusals::symbolic_inputs>(s.b, r, extent::of(static_cast<std::int64_t>(x.in.size())),
                                             extent::of(0));
    if (x.out[0] == none) break;
    scalar const v = x.what.value();
    element const type = s.b.tensor(x.out[0]).type;
    std::int64_t const bits = is_floating(type)          ? cotangent::detail::bits_of(type, v.as<double>())
                              : type == element::boolean ? std::int64_t{v.as<bool>()}
                                                         : v.as<std::int64_t>();
    realize_node(s, info_of<op::constant>(), {}, x.out[0], {bits}, r);
    break;
  }
  case command::form::operation: realize_operation(s, x.what, x.in, x.out, r); break;
  case command::form::function:
    if (x.what.arity() >= 0 && static_cast<int>(x.in.size()) != x.what.arity())
      raise_graph<refusals::symbolic_inputs>(s.b, r, extent::of(static_cast<std::int64_t>(x.in.size())),
                                             extent::of(x.what.arity()));
    s.kernels.add(x.what.kernels());
    realize_function(s, [&](std::vector<term> const& terms) { return x.what(terms); }, x.in, x.out, r);
    break;
  }
  take_nodes(s, first, e);
}

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template void realize(graph_state&, std::int32_t, bool);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
