// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SEAL_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SEAL_HPP

#include <cotangent/dynamic/symbolic/order.hpp>
#include <cotangent/dynamic/symbolic/realize.hpp>
#include <cotangent/graph/builder_scope.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

// Sealing: infers open shapes, emits the nodes of waiting operations, and lowers sub-graphs to loops and
// branches.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

class sealing {
  graph_state& s_;
  request r_;

public:
  sealing(graph_state& s, request const& r) : s_(s), r_(r) { keep_in_step(s); }

  /// Seals what these symbols need; null: everything.
  void run(std::vector<symbol> const* wanted) { graph(0, wanted); }

private:
  [[noreturn]] void refuse_open(symbol t) const {
    request about = r_;
    about.operands = &t;
    about.operand_count = 1;
    raise_graph<refusals::symbolic_shape_unknown>(s_.b, about);
  }
  template <class Refusal> [[noreturn]] void refuse(std::vector<symbol> const& about) const {
    request r = r_;
    r.operands = about.data();
    r.operand_count = static_cast<int>(about.size());
    raise_graph<Refusal>(s_.b, r);
  }
  tensor_symbol type(symbol t) const { return s_.b.tensor(t); }
  symbol fresh(std::int32_t region, symbol like) {
    builder_scope const outer(s_.b);
    s_.b.region = region;
    return s_.b.symbol_like(like);
  }
  symbol number(std::int32_t region, symbol like, double value) {
    symbol const t = fresh(region, like);
    place(region, info_of<op::constant>(), {}, {t}, {cotangent::detail::bits_of(type(like).type, value)});
    return t;
  }
  std::int32_t place(std::int32_t region, operation const* op, std::vector<symbol> const& in,
                     std::vector<symbol> const& out, std::vector<std::int64_t> const& attributes,
                     std::int32_t exec = none) {
    std::int32_t const before = s_.b.region, first = s_.b.get().nodes.size();
    s_.b.region = region;
    (void)s_.b.assign(op, in.data(), static_cast<int>(in.size()), out.data(), static_cast<int>(out.size()),
                      attributes.data(), static_cast<int>(attributes.size()), s_.b.place);
    s_.b.region = before;
    take_nodes(s_, first, exec);
    return first;
  }

  void graph(std::int32_t region, std::vector<symbol> const* wanted = nullptr) {
    bool waits = false;
    for (std::int32_t const e : graph_at(s_, region).execs) waits = waits || exec_at(s_, e).pending;
    if (waits) {
      exec_order const order = order_in(s_, region);
      std::vector<bool> const needed =
          wanted == nullptr ? std::vector<bool>(order.execs.size(), true) : needed_for(s_, order, *wanted);
      for (std::int32_t const at : sorted(s_, order, r_)) {
        std::int32_t const e = order.execs[static_cast<std::size_t>(at)];
        if (!exec_at(s_, e).pending || !needed[static_cast<std::size_t>(at)]) continue;
        s_.b.place = exec_at(s_, e).where;
        switch (exec_at(s_, e).kind) {
        case exec_kind::operation: realize(s_, e, false); break;
        case exec_kind::loop: loop(e); break;
        case exec_kind::choice: choice(e); break;
        }
      }
    }
    std::vector<symbol> const tensors = graph_at(s_, region).tensors; // a copy: constants are added
    for (symbol const t : tensors)
      if (unwritten const fill = look(s_, t).fill; fill == unwritten::given || look(s_, t).dead) continue;
      else if (is_written(s_, t)) {
        if (fill == unwritten::ones && type(t).producer == none) refuse<refusals::symbolic_flags_of_parts>({t});
      } else {
        if (is_unknown(s_, t)) continue; // unread: its readers were refused
        place(region, info_of<op::constant>(), {}, {t},
              {cotangent::detail::bits_of(type(t).type, fill == unwritten::ones ? 1 : 0)});
      }
  }

  /// Infers shapes from outside; then all of its own.
  void inside(std::int32_t region) {
    for (auto const& [outer, inner] : graph_at(s_, region).outer_inner)
      if (look(s_, inner).automatic && !is_unknown(s_, outer) && !is_written(s_, inner)) {
        s_.b.edit().tensors[inner].shape = type(outer).shape;
        record(s_, inner).automatic = false;
      }
    graph(region);
  }
  /// Infers shapes from inside, and ensures one writer for each element.
  void give_out(symbol outer, symbol inner) {
    request r = r_;
    symbol const pair[]{outer, inner};
    r.operands = pair;
    r.operand_count = 2;
    if (is_unknown(s_, inner)) refuse_open(inner);
    give_type(s_, outer, type(inner).type, s_.b.dims(inner), r);
    auto& writers = s_.written[root_of(s_, outer)];
    if (type(outer).producer != none) refuse<refusals::symbolic_assigned>({outer});
    for (symbol const other : writers)
      if (other == outer || (writers.size() < compared_at_once && overlap(s_.b.get(), outer, other)))
        refuse<refusals::symbolic_assigned>({outer, other});
    writers.push_back(outer);
  }

  struct connections {
    std::vector<std::pair<symbol, symbol>> in, out; // outer, inner
  };
  /// The inputs and results of a sub-graph. A symbol without a writer and without an outer symbol becomes an
  /// input of the enclosing graph.
  connections connect(std::int32_t region, std::vector<symbol> const& carried_to) {
    graph_record const g = graph_at(s_, region);
    std::vector<bool> read(static_cast<std::size_t>(s_.b.get().tensors.size()));
    for (std::int32_t const e : g.execs)
      for (symbol const t : io_of(s_, e).in)
        if (t != none) read[static_cast<std::size_t>(root_of(s_, t))] = true;
    for (symbol const t : carried_to) read[static_cast<std::size_t>(t)] = true;
    for (auto const& [from, to] : g.carries) read[static_cast<std::size_t>(root_of(s_, from))] = true;
    if (g.condition != none) read[static_cast<std::size_t>(root_of(s_, g.condition))] = true;
    for (symbol const t : g.tensors)
      if (read[static_cast<std::size_t>(t)] && t != g.count && type(t).base == none &&
          look(s_, t).outer == none && !look(s_, t).dead && !is_written(s_, t)) {
        symbol const outer = new_tensor(s_, g.parent, type(t).type, type(t).shape, false, {});
        s_.b.edit().tensors[outer].name = type(t).name;
        record(s_, outer).lifted = true;
        record(s_, t).outer = outer;
        graph_at(s_, region).outer_inner.emplace_back(outer, t);
      }
    connections c;
    for (auto const& p : graph_at(s_, region).outer_inner) {
      if (is_unknown(s_, p.second)) refuse_open(p.second);
      (is_written(s_, p.second) ? c.out : c.in).push_back(p);
    }
    return c;
  }
  void name(std::int32_t region, std::vector<symbol> const& in, std::vector<symbol> const& out,
            std::int32_t owner) {
    s_.b.set_inputs(in.data(), static_cast<int>(in.size()), region);
    s_.b.set_outputs(out.data(), static_cast<int>(out.size()), region);
    s_.b.edit().regions[region].owner = owner;
  }
  void finish(std::int32_t e) {
    exec_at(s_, e).pending = false;
    for (std::int32_t const r : exec_at(s_, e).graphs) graph_at(s_, r).sealed = true;
  }

  void loop(std::int32_t e) {
    std::int32_t const region = exec_at(s_, e).graphs.front(), parent = exec_at(s_, e).graph;
    if (graph_at(s_, region).execs.empty() && graph_at(s_, region).carries.empty()) return; // empty
    inside(region);
    graph_record const g = graph_at(s_, region);
    std::vector<symbol> to;
    for (auto const& c : g.carries) to.push_back(c.second);
    connections const c = connect(region, to);
    auto const is_carried = [&](symbol t) {
      for (symbol const known : to)
        if (known == t) return true;
      return false;
    };

    std::vector<symbol> in, inits, captured, next, results;
    in.push_back(g.count != none ? g.count : s_.b.symbol_of(element::int64, s_.b.shape(dimensions{})));
    s_.b.edit().tensors[in[0]].region = region;
    for (auto const& [from, t] : g.carries) {
      if (is_unknown(s_, from)) refuse_open(from);
      if (type(from).type != type(t).type || type(from).shape != type(t).shape)
        refuse<refusals::symbolic_carry>({from, t});
      inits.push_back(look(s_, t).outer);
      in.push_back(t);
      next.push_back(from);
      results.push_back(none);
    }
    for (auto const& [outer, inner] : c.out) { // the final value of what the body writes
      give_out(outer, inner);
      std::size_t k = 0;
      while (k < next.size() && (next[k] != inner || results[k] != none)) ++k;
      if (k < next.size()) {
        results[k] = outer;
        continue;
      }
      inits.push_back(number(parent, outer, 0));
      in.push_back(fresh(region, inner));
      next.push_back(inner);
      results.push_back(outer);
    }
    symbol const dims0 = in[0];
    if (g.condition_last) { // carried too: the next iteration reads it
      inits.push_back(number(parent, g.condition, 1));
      in.push_back(fresh(region, g.condition));
      next.push_back(g.condition);
      results.push_back(none);
    }
    std::size_t const carried = inits.size();
    std::vector<symbol> operands{none};
    for (symbol const t : inits) operands.push_back(t);
    for (auto const& [outer, inner] : c.in)
      if (!is_carried(inner)) {
        operands.push_back(outer);
        in.push_back(inner);
      }
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k] == none) results[k] = fresh(parent, next[k]);
    results.push_back(fresh(parent, dims0)); // the trips

    std::int32_t const before = s_.b.region;
    s_.b.region = parent;
    std::int32_t const condition = s_.b.open_region();
    s_.b.region = before;
    keep_in_step(s_);
    std::vector<symbol> asked;
    for (std::size_t k = 0; k <= carried + (in.size() - 1 - carried); ++k)
      asked.push_back(fresh(condition, in[k]));
    symbol const goes_on =
        g.condition_last ? asked[carried] : copied(g.condition, region, condition, in, asked);

    loop_layout const layout{.carried = static_cast<int>(carried),
                             .captured = static_cast<int>(in.size() - 1 - carried),
                             .condition = condition,
                             .body = region};
    std::vector<std::int64_t> attributes(loop_layout::attribute_count);
    layout.write(attributes.data());
    s_.b.place = exec_at(s_, e).where;
    std::int32_t const owner = place(parent, info_of<op::loop>(), operands, results, attributes, e);
    name(region, in, next, owner);
    name(condition, asked, {goes_on}, owner);
    finish(e);
  }

  /// Copies the nodes that compute the condition to a region of their own.
  symbol copied(symbol t, std::int32_t region, std::int32_t to, std::vector<symbol> const& in,
                std::vector<symbol> const& asked) {
    std::unordered_map<symbol, symbol> now;
    for (std::size_t k = 0; k < in.size(); ++k) now.emplace(in[k], asked[k]);
    cotangent::graph const& g = s_.b.get();
    std::vector<bool> needed(static_cast<std::size_t>(g.nodes.size()));
    std::vector<symbol> open{t};
    auto const need = [&](std::int32_t i) {
      if (i == none || needed[static_cast<std::size_t>(i)]) return;
      if (is_control(g.nodes[i])) refuse<refusals::symbolic_condition>({t});
      needed[static_cast<std::size_t>(i)] = true;
      for (int k = 0; k < g.nodes[i].operand_count; ++k)
        if (symbol const x = g.ids[g.nodes[i].first + k]; x != none) open.push_back(x);
    };
    while (!open.empty()) {
      symbol const x = open.back(), root = root_of(s_, x);
      open.pop_back();
      need(g.tensors[root].producer);
      if (auto const at = s_.written.find(root); at != s_.written.end())
        for (symbol const piece : at->second) need(g.tensors[piece].producer);
    }
    auto const moved = [&](auto const& self, symbol x) -> symbol {
      if (x == none) return none;
      if (auto const at = now.find(x); at != now.end()) return at->second;
      tensor_symbol const from = type(x);
      symbol const base = from.base == none ? none : self(self, from.base);
      symbol const y = fresh(to, x);
      s_.b.edit().tensors[y].base = base;
      s_.b.edit().tensors[y].window = from.window;
      now.emplace(x, y);
      return y;
    };
    symbol const goes_on = moved(moved, t);
    std::int32_t const count = g.nodes.size();
    for (std::int32_t i = 0; i < count; ++i) {
      node const n = s_.b.get().nodes[i];
      if (!needed[static_cast<std::size_t>(i)] || n.region != region) continue;
      std::vector<symbol> x, y;
      for (int k = 0; k < n.operand_count; ++k) x.push_back(moved(moved, s_.b.get().ids[n.first + k]));
      for (int k = 0; k < n.result_count; ++k)
        y.push_back(moved(moved, s_.b.get().ids[n.first + n.operand_count + k]));
      std::int64_t const* const a = s_.b.get().numbers.data() + n.attribute;
      s_.b.place = n.where;
      place(to, n.op, x, y, {a, a + n.attribute_count});
    }
    return goes_on;
  }

  void choice(std::int32_t e) {
    exec_record const x = exec_at(s_, e);
    if (x.graphs.empty() && x.bypasses.empty()) return;
    std::vector<connections> all;
    std::vector<symbol> values, outs;
    auto const add = [](std::vector<symbol>& to, symbol t) {
      for (symbol const known : to)
        if (known == t) return;
      to.push_back(t);
    };
    auto const find = [](std::vector<std::pair<symbol, symbol>> const& in, symbol t) {
      for (auto const& [outer, inner] : in)
        if (outer == t) return inner;
      return none;
    };
    for (std::int32_t const r : x.graphs) {
      inside(r);
      all.push_back(connect(r, {}));
      for (auto const& p : all.back().in) add(values, p.first);
      for (auto const& p : all.back().out) add(outs, p.first);
    }
    for (auto const& [from, to] : x.bypasses) {
      if (is_unknown(s_, from)) refuse_open(from);
      add(values, from);
      add(outs, to);
    }
    std::vector<symbol> operands{x.selector};
    for (symbol const t : values) operands.push_back(t);
    std::vector<std::int64_t> attributes{static_cast<std::int64_t>(outs.size()),
                                         static_cast<std::int64_t>(values.size()),
                                         static_cast<std::int64_t>(x.graphs.size())};
    for (symbol const y : outs) {
      for (connections const& c : all) {
        symbol const inner = find(c.out, y);
        if (inner == none) refuse<refusals::symbolic_branch_result>({y});
        if (&c == &all.front()) give_out(y, inner);
        else {
          request r = r_;
          symbol const pair[]{y, inner};
          r.operands = pair;
          r.operand_count = 2;
          give_type(s_, y, type(inner).type, s_.b.dims(inner), r);
        }
      }
      std::int64_t by = -1;
      for (auto const& [from, to] : x.bypasses)
        if (to == y) {
          if (all.empty()) give_out(y, from);
          if (type(from).type != type(y).type || type(from).shape != type(y).shape)
            refuse<refusals::symbolic_bypass>({from, y});
          for (by = 0; values[static_cast<std::size_t>(by)] != from;) ++by;
        }
      attributes.push_back(by);
    }
    for (std::int32_t const r : x.graphs) attributes.push_back(r);
    s_.b.place = x.where;
    std::int32_t const owner = place(x.graph, info_of<op::case_of>(), operands, outs, attributes, e);
    for (std::size_t j = 0; j < all.size(); ++j) {
      std::vector<symbol> in, out;
      for (symbol const v : values) {
        symbol const inner = find(all[j].in, v);
        in.push_back(inner != none ? inner : fresh(x.graphs[j], v));
      }
      for (symbol const y : outs) out.push_back(find(all[j].out, y));
      name(x.graphs[j], in, out, owner);
    }
    finish(e);
  }
};

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
