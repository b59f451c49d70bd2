// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_CHANGES_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_CHANGES_HPP

#include <cotangent/dynamic/symbolic/symbols.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Changes, frees and queries symbols.

namespace cotangent::dynamic::inline COTANGENT_ABI {

class symbolic_changes : public symbolic_symbols {
protected:
  using symbolic_symbols::symbolic_symbols;

public:
  /// Sets other inputs and outputs of an operation.
  void set_io(symbolic_exec const& e, std::vector<symbolic_tensor> const& inputs,
              std::vector<symbolic_tensor> const& outputs,
              std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_io", where);
    std::int32_t const id = plain(e, r);
    change(
        id,
        [&](detail::exec_record& x) {
          x.in = here(inputs, r);
          x.out = here(outputs, r);
        },
        r);
  }
  /// Sets another command for an operation, and keeps its inputs and outputs.
  void set_command(symbolic_exec const& e, command const& what,
                   std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_command", where);
    change(plain(e, r), [&](detail::exec_record& x) { x.what = what; }, r);
  }
  /// Sets other attributes of an operation.
  void set_params(symbolic_exec const& e, std::vector<std::int64_t> attributes,
                  std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_params", where);
    std::int32_t const id = plain(e, r);
    command const& now = detail::exec_at(*s_, id).what;
    if (now.kind() != command::form::operation)
      detail::raise_graph<refusals::symbolic_attributes>(
          s_->b, r, extent::of(static_cast<std::int64_t>(attributes.size())), extent::of(0));
    command const what = now.with_attributes(std::move(attributes));
    change(id, [&](detail::exec_record& x) { x.what = what; }, r);
  }
  void set_flags(symbolic_exec const& e, exec_flags const& flags,
                 std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_flags", where);
    detail::exec_at(*s_, plain(e, r)).flags = flags;
  }
  /// Attaches a text to an operation, a loop or a choice: it stays in walks, drawings and files, and prevents
  /// merging. An empty text removes it.
  void set_hint(symbolic_exec const& e, std::string_view hint,
                std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_hint", where);
    detail::exec_at(*s_, here(e, r)).hint = hint;
  }
  /// Sets the value of a tensor that no operation writes.
  void set_flags(symbolic_tensor const& t, unwritten fill,
                 std::source_location where = std::source_location::current()) const {
    detail::request r = changing("set_flags", where);
    extend::symbol const id = local(t, r);
    r.operands = &id;
    r.operand_count = 1;
    if (s_->b.tensor(id).base != extend::none) detail::raise_graph<refusals::symbolic_flags_of_alias>(s_->b, r);
    detail::record(*s_, id).fill = fill;
  }
  /// Sets another shape; operations that it does not fit are refused when the graph is compiled or
  /// differentiated.
  void set_shape(symbolic_tensor const& t, sizes const& shape,
                 std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_shape", where);
    extend::symbol const id = reshaped(t, r);
    detail::symbolic_undo back(*s_);
    std::int32_t const to = detail::shape_for(s_->b, shape);
    if (detail::failure const f = s_->b.failed(); f.why != nullptr) detail::raise(s_->b, f, r);
    back.keep();
    s_->b.edit().tensors[id].shape = to;
    detail::record(*s_, id).automatic = false;
    wait(id);
  }
  void set_shape(symbolic_tensor const& t, automatic_t,
                 std::source_location where = std::source_location::current()) const {
    extend::symbol const id = reshaped(t, changing("set_shape", where));
    detail::record(*s_, id).automatic = true;
    wait(id);
  }

  /// Frees a tensor symbol without users. Its index may be reused; later uses of the old symbol are refused.
  void free(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    detail::request r = changing("free", where);
    extend::symbol const id = local(t, r);
    r.operands = &id;
    r.operand_count = 1;
    detail::tensor_record const& at = detail::look(*s_, id);
    bool used = !at.own || at.exposed || at.outer != extend::none;
    for (extend::tensor_symbol const& other : s_->b.get().tensors)
      used = used || (other.base == id &&
                      !detail::look(*s_, static_cast<extend::symbol>(&other - s_->b.get().tensors.data())).dead);
    auto const is = [&](extend::symbol x) { used = used || x == id; };
    for (detail::exec_record const& e : s_->symbolic.execs) {
      if (e.dead) continue;
      for (extend::symbol const x : e.in) is(x);
      for (extend::symbol const x : e.out) is(x);
      is(e.selector);
      for (auto const& [from, to] : e.bypasses) is(from), is(to);
    }
    for (detail::graph_record const& g : s_->symbolic.graphs) {
      is(g.count);
      is(g.condition);
      for (auto const& [from, to] : g.carries) is(from), is(to);
      for (auto const& [outer, inner] : g.outer_inner) is(outer), is(inner);
    }
    if (used) detail::raise_graph<refusals::symbolic_in_use>(s_->b, r);
    end(id);
  }
  /// Frees an operation, its edges and its role as source or destination; for a loop or choice also its
  /// sub-graphs. Its outputs then have no writer.
  void free(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("free", where);
    free_exec(here(e, r));
  }

  // ---- queries

  /// The first symbol of that name in this graph; absent if there is none.
  symbolic_tensor find_tensor(std::string_view name) const {
    detail::keep_in_step(*s_);
    graph const& g = s_->b.get();
    for (extend::symbol t = 0; t < g.tensors.size(); ++t)
      if (g.tensors[t].region == region_ && g.tensors[t].name != extend::none && !detail::look(*s_, t).dead &&
          name == std::string_view(g.names.data() + g.tensors[t].name))
        return detail::handle_of(*s_, t);
    return {};
  }
  symbolic_exec find_exec(std::string_view name) const {
    detail::keep_in_step(*s_);
    for (std::int32_t const e : detail::graph_at(*s_, region_).execs)
      if (detail::exec_at(*s_, e).name == name) return detail::exec_handle(*s_, e);
    return {};
  }
  bool is_alive(symbolic_tensor const& t) const {
    return t.graph == s_->identity->number && !detail::look(*s_, t.id).dead && detail::look(*s_, t.id).generation == t.generation;
  }
  bool is_alive(symbolic_exec const& e) const {
    return e.graph == s_->identity->number && !detail::exec_at(*s_, e.id).dead &&
           detail::exec_at(*s_, e.id).generation == e.generation;
  }
  /// The counterpart here of a symbol of the graph that this one is a duplicate of, directly or not; a symbol of
  /// this graph is its own. Throws: `graph_error` for all others, also for those created after the duplication.
  symbolic_tensor same(symbolic_tensor const& t,
                       std::source_location where = std::source_location::current()) const {
    auto const record = [&]() -> auto const& { return detail::look(*s_, t.id); };
    return counterpart(t, &detail::graph_origin::tensors, record, where);
  }
  symbolic_exec same(symbolic_exec const& e,
                     std::source_location where = std::source_location::current()) const {
    auto const record = [&]() -> auto const& { return detail::exec_at(*s_, e.id); };
    return counterpart(e, &detail::graph_origin::execs, record, where);
  }
  cotangent::element element_of(symbolic_tensor const& t,
                                std::source_location where = std::source_location::current()) const {
    return s_->b.tensor(detail::checked(*s_, t, asking("element_of", where))).type;
  }
  /// Throws: `graph_error` if the shape is not known yet.
  cotangent::shape shape_of(symbolic_tensor const& t,
                            std::source_location where = std::source_location::current()) const {
    detail::request r = asking("shape_of", where);
    extend::symbol const id = detail::checked(*s_, t, r);
    r.operands = &id;
    r.operand_count = 1;
    if (detail::is_unknown(*s_, id)) detail::raise_graph<refusals::symbolic_shape_unknown>(s_->b, r);
    return detail::shape_of(s_->b, id);
  }
  bool is_automatic(symbolic_tensor const& t,
                    std::source_location where = std::source_location::current()) const {
    return detail::is_unknown(*s_, detail::checked(*s_, t, asking("is_automatic", where)));
  }
  std::string name_of(symbolic_tensor const& t,
                      std::source_location where = std::source_location::current()) const {
    std::int32_t const n = s_->b.tensor(detail::checked(*s_, t, asking("name_of", where))).name;
    return n == extend::none ? std::string() : std::string(s_->b.get().names.data() + n);
  }
  std::string name_of(symbolic_exec const& e,
                      std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*s_, detail::checked(*s_, e, asking("name_of", where))).name;
  }
  /// The tensor of an alias; absent for a tensor.
  symbolic_tensor base_of(symbolic_tensor const& t,
                          std::source_location where = std::source_location::current()) const {
    return detail::handle_of(*s_, s_->b.tensor(detail::checked(*s_, t, asking("base_of", where))).base);
  }
  /// The offset of its first element in that tensor, then one stride for each axis, in elements.
  std::vector<std::int64_t> window_of(symbolic_tensor const& t,
                                      std::source_location where = std::source_location::current()) const {
    detail::tensor_window const w =
        cotangent::detail::window_of(s_->b.get(), detail::checked(*s_, t, asking("window_of", where)));
    std::vector<std::int64_t> numbers{w.offset};
    for (int k = 0; k < w.rank; ++k) numbers.push_back(w.stride[k]);
    return numbers;
  }
  unwritten flags_of(symbolic_tensor const& t,
                     std::source_location where = std::source_location::current()) const {
    return detail::look(*s_, detail::checked(*s_, t, asking("flags_of", where))).fill;
  }
  /// True if a loop records its value for each iteration, for the backward sweep.
  bool is_taped(symbolic_tensor const& t,
                std::source_location where = std::source_location::current()) const {
    return detail::look(*s_, detail::checked(*s_, t, asking("is_taped", where))).taped;
  }
  exec_flags flags_of(symbolic_exec const& e,
                      std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*s_, detail::checked(*s_, e, asking("flags_of", where))).flags;
  }
  std::string hint_of(symbolic_exec const& e,
                      std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*s_, detail::checked(*s_, e, asking("hint_of", where))).hint;
  }
  command command_of(symbolic_exec const& e,
                     std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*s_, detail::checked(*s_, e, asking("command_of", where))).what;
  }

protected:
  extend::symbol local(symbolic_tensor const& t, detail::request const& r) const {
    extend::symbol const id = detail::checked(*s_, t, r);
    if (s_->b.tensor(id).region != region_) detail::raise_graph<refusals::symbolic_sub_graph>(s_->b, r);
    return id;
  }
  /// Since a duplication, an index may have been freed and reused here, there, or in both graphs.
  template <class Symbol, class Record>
  Symbol counterpart(Symbol x, std::int32_t detail::graph_origin::* count, Record const& record,
                     std::source_location where) const {
    if (!x.present()) return x;
    detail::request const r = asking("same", where);
    bool found = x.graph == s_->identity->number;
    for (std::size_t k = 0; k < s_->origins.size() && !found; ++k) {
      if (x.graph != s_->origins[k].number || x.id >= s_->origins[k].*count) continue;
      auto const& at = record();
      bool const older = !at.dead && at.reused <= k;
      found = x.generation < at.generation || (older && x.generation == at.generation);
    }
    if (!found) detail::raise_graph<refusals::dynamic_other_graph>(s_->b, r);
    x.s = s_;
    x.graph = s_->identity->number;
    return x;
  }
  std::int32_t plain(symbolic_exec const& e, detail::request const& r) const {
    std::int32_t const id = here(e, r);
    if (detail::exec_at(*s_, id).kind != detail::exec_kind::operation)
      detail::raise_graph<refusals::symbolic_foreign>(s_->b, r);
    return id;
  }
  void end(extend::symbol id) const {
    detail::tensor_record dead;
    dead.dead = true;
    dead.own = true;
    dead.generation = detail::look(*s_, id).generation + 1;
    detail::record(*s_, id) = dead;
    std::erase(detail::graph_at(*s_, s_->b.tensor(id).region).tensors, id);
    s_->symbolic.free_tensors.push_back(id);
    std::erase_if(s_->gradients, [&](auto const& of) { return of.first == id || of.second == id; });
  }
  void free_exec(std::int32_t id) const {
    unclaim(id);
    detail::unrealize(*s_, id);
    detail::exec_record const x = detail::exec_at(*s_, id);
    for (std::int32_t const p : x.before) std::erase(detail::exec_at(*s_, p).after, id);
    for (std::int32_t const n : x.after) std::erase(detail::exec_at(*s_, n).before, id);
    std::erase(detail::graph_at(*s_, x.graph).sources, id);
    std::erase(detail::graph_at(*s_, x.graph).destinations, id);
    for (std::int32_t const r : x.graphs) {
      std::vector<std::int32_t> const inside = detail::graph_at(*s_, r).execs;
      for (std::int32_t const e : inside) free_exec(e);
      std::vector<extend::symbol> const tensors = detail::graph_at(*s_, r).tensors;
      for (extend::symbol const t : tensors) end(t);
      detail::graph_record gone;
      gone.region = r;
      gone.parent = x.graph;
      gone.sealed = true;
      detail::graph_at(*s_, r) = gone;
    }
    forget(id);
  }

private:
  /// Changes an operation; restores it after an error.
  template <class Change> void change(std::int32_t id, Change const& to, detail::request const& r) const {
    detail::exec_record const was = detail::exec_at(*s_, id);
    detail::exec_record now = was;
    unclaim(id);
    detail::unrealize(*s_, id);
    try {
      detail::symbolic_undo back(*s_);
      to(now);
      now.where = r.where;
      now.nodes.clear();
      if (now.what.kind() != command::form::nothing) check_places(now.out, r);
      detail::exec_at(*s_, id) = now;
      detail::realize(*s_, id);
      back.keep();
    } catch (...) {
      detail::exec_at(*s_, id) = was;
      detail::exec_at(*s_, id).nodes.clear();
      detail::realize(*s_, id);
      claim(id);
      throw;
    }
    claim(id);
  }
  extend::symbol reshaped(symbolic_tensor const& t, detail::request r) const {
    extend::symbol const id = local(t, r);
    r.operands = &id;
    r.operand_count = 1;
    bool fixed = s_->b.tensor(id).base != extend::none || !detail::look(*s_, id).own;
    for (extend::symbol const other : detail::graph_at(*s_, region_).tensors)
      fixed = fixed || s_->b.tensor(other).base == id;
    if (fixed) detail::raise_graph<refusals::symbolic_shape_of_alias>(s_->b, r);
    return id;
  }
  /// Defers the operations on a tensor until all shapes are known.
  void wait(extend::symbol t) const {
    for (std::int32_t const e : detail::graph_at(*s_, region_).execs) {
      detail::exec_record& x = detail::exec_at(*s_, e);
      if (x.kind != detail::exec_kind::operation || x.what.kind() == command::form::nothing) continue;
      bool touched = false;
      for (extend::symbol const in : x.in) touched = touched || in == t;
      for (extend::symbol const out : x.out) touched = touched || out == t;
      if (!touched) continue;
      detail::unrealize(*s_, e);
      detail::exec_at(*s_, e).pending = true;
    }
  }
};

} // namespace cotangent::dynamic

#endif
