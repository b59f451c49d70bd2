// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLS_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLS_HPP

#include <cotangent/dynamic/expressions/functions.hpp>
#include <cotangent/dynamic/expressions/options.hpp>
#include <cotangent/dynamic/symbolic/realize.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Creates symbols: tensors, aliases, operations; and queries them.

namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {

/// The symbol of a window on `of`. Throws if it does not fit; the caller rolls back additions.
inline symbol window_on(graph_state& s, symbol of, window const& w, request r) {
  builder& b = s.b;
  b.place = r.where;
  r.operands = &of;
  r.operand_count = 1;
  auto const check = [&] {
    if (failure const f = b.failed(); f.why != nullptr) raise(b, f, r);
  };
  symbol const v = view_symbol(b, of, w);
  check();
  return v;
}

/// Keeps a hook registered until destruction; hooks that are set later must end earlier.
template <class List> class hook_guard {
  std::weak_ptr<symbolic_hooks> hooks_;
  List symbolic_hooks::* list_;
  int number_;

public:
  hook_guard(std::shared_ptr<symbolic_hooks> const& hooks, List symbolic_hooks::* list, int number)
      : hooks_(hooks), list_(list), number_(number) {}
  hook_guard(hook_guard&& other) noexcept
      : hooks_(std::move(other.hooks_)), list_(other.list_), number_(other.number_) {
    other.hooks_.reset();
  }
  hook_guard& operator=(hook_guard&&) = delete;
  ~hook_guard() {
    if (auto const hooks = hooks_.lock())
      std::erase_if((*hooks).*list_, [&](auto const& h) { return h.first == number_; });
  }
};

} // namespace detail

/// The symbols of a graph or a sub-graph.
class symbolic_symbols {
protected:
  detail::graph_state* s_;
  std::int32_t region_;

  symbolic_symbols(detail::graph_state& s, std::int32_t region) : s_(&s), region_(region) {
    s.symbolic.used = true;
    detail::keep_in_step(s);
  }

  detail::request changing(std::string_view name, std::source_location where) const {
    detail::request const r = detail::request_of_words(name, where);
    if (!s_->frames.empty()) detail::raise_graph<refusals::symbolic_in_body>(s_->b, r);
    detail::keep_in_step(*s_);
    if (detail::graph_at(*s_, region_).sealed) detail::raise_graph<refusals::symbolic_sealed>(s_->b, r);
    return r;
  }
  detail::request asking(std::string_view name, std::source_location where) const {
    detail::keep_in_step(*s_);
    return detail::request_of_words(name, where);
  }
  /// The symbol in this sub-graph; none for an absent one.
  extend::symbol here(symbolic_tensor const& t, detail::request const& r) const {
    return detail::resolved(*s_, region_, detail::checked(*s_, t, r), r);
  }
  std::vector<extend::symbol> here(std::vector<symbolic_tensor> const& all, detail::request const& r) const {
    for (symbolic_tensor const& t : all)
      if (t.present()) (void)detail::checked(*s_, t, r);
    std::vector<extend::symbol> ids;
    for (symbolic_tensor const& t : all) ids.push_back(t.present() ? here(t, r) : extend::none);
    return ids;
  }
  std::int32_t here(symbolic_exec const& e, detail::request const& r) const {
    std::int32_t const id = detail::checked(*s_, e, r);
    if (detail::exec_at(*s_, id).graph != region_)
      detail::raise_graph<refusals::symbolic_sub_graph>(s_->b, r);
    return id;
  }
  /// Checks that an operation of this graph may write these symbols, besides `own`.
  void check_places(std::vector<extend::symbol> const& out, detail::request r) const {
    extend::builder const& b = s_->b;
    std::vector<extend::symbol> mine;
    for (extend::symbol const t : out) {
      if (t == extend::none) continue;
      extend::symbol pair[]{t, t};
      r.operands = pair;
      r.operand_count = 1;
      extend::symbol const root = detail::root_of(*s_, t);
      detail::graph_record const& g = detail::graph_at(*s_, region_);
      bool fixed = t == g.count;
      for (auto const& carried : g.carries) fixed = fixed || root == carried.second;
      if (!detail::look(*s_, root).own)
        for (extend::symbol const in : s_->inputs) fixed = fixed || (in == root && t == root);
      if (fixed) detail::raise_graph<refusals::symbolic_output_place>(b, r);
      if (b.tensor(t).producer != extend::none || b.tensor(root).producer != extend::none ||
          detail::look(*s_, t).writer != extend::none || (t != root && repeats(detail::window_of(b.get(), t))))
        detail::raise_graph<refusals::symbolic_assigned>(b, r);
      auto const at = s_->written.find(root);
      auto const meets = [&](extend::symbol other) {
        if (!detail::overlap(b.get(), t, other)) return;
        pair[1] = other;
        r.operand_count = 2;
        detail::raise_graph<refusals::symbolic_assigned>(b, r);
      };
      if (at != s_->written.end() && at->second.size() < detail::compared_at_once)
        for (extend::symbol const other : at->second) meets(other);
      if (mine.size() < detail::compared_at_once)
        for (extend::symbol const other : mine) meets(other);
      mine.push_back(t);
    }
  }
  void claim(std::int32_t e) const {
    detail::exec_record const& x = detail::exec_at(*s_, e);
    if (x.kind != detail::exec_kind::operation || x.what.kind() == command::form::nothing) return;
    for (extend::symbol const t : x.out)
      if (t != extend::none) {
        s_->written[detail::root_of(*s_, t)].push_back(t);
        detail::record(*s_, t).writer = e;
      }
  }
  void unclaim(std::int32_t e) const {
    for (extend::symbol const t : detail::exec_at(*s_, e).out) {
      if (t == extend::none || detail::exec_at(*s_, e).what.kind() == command::form::nothing) continue;
      if (auto const at = s_->written.find(detail::root_of(*s_, t)); at != s_->written.end())
        std::erase(at->second, t);
      detail::record(*s_, t).writer = extend::none;
    }
  }

public:
  /// A tensor symbol: element, shape, name; no memory. If no operation writes it, it is given at run time.
  symbolic_tensor tensor(element e, sizes const& shape, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("tensor", where);
    detail::symbolic_undo back(*s_);
    s_->b.place = where;
    std::int32_t const id = detail::shape_for(s_->b, shape);
    if (detail::failure const f = s_->b.failed(); f.why != nullptr) detail::raise(s_->b, f, r);
    return made(detail::new_tensor(*s_, region_, e, id, false, name), back);
  }
  /// With a shape that is set later, or inferred.
  symbolic_tensor tensor(element e, automatic_t, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    (void)changing("tensor", where);
    detail::symbolic_undo back(*s_);
    return made(detail::new_tensor(*s_, region_, e, s_->b.shape(extend::dimensions{}), true, name), back);
  }
  template <element_type T>
  symbolic_tensor tensor(sizes const& shape, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    return tensor(element_of<T>, shape, name, where);
  }
  template <element_type T>
  symbolic_tensor tensor(automatic_t a, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    return tensor(element_of<T>, a, name, where);
  }

  /// A window on a tensor or on an alias: aliases of aliases compose. It may be read and written.
  symbolic_tensor alias(symbolic_tensor const& of, window const& w, std::string_view name = {},
                        std::source_location where = std::source_location::current()) const {
    detail::request r = changing("alias", where);
    detail::symbolic_undo back(*s_);
    extend::symbol const from = here(of, r);
    r.operands = &from;
    r.operand_count = 1;
    if (detail::is_unknown(*s_, from)) detail::raise_graph<refusals::symbolic_shape_unknown>(s_->b, r);
    extend::symbol const t = detail::window_on(*s_, from, w, r);
    detail::name_symbol(s_->b, t, name);
    detail::record(*s_, t).own = true;
    detail::graph_at(*s_, region_).tensors.push_back(t);
    s_->symbolic.made_tensors.push_back(t);
    back.keep();
    detail::tell_made(*s_);
    return detail::handle_of(*s_, t);
  }

  /// An operation: it reads the inputs and writes the outputs, which exist already. Both may be absent if the
  /// command allows it; symbols of enclosing graphs are resolved. It never merges with another one.
  symbolic_exec exec(command const& what, std::vector<symbolic_tensor> const& inputs,
                     std::vector<symbolic_tensor> const& outputs, std::string_view name = {},
                     std::source_location where = std::source_location::current()) const {
    detail::request const r = changing(what.name(), where);
    detail::symbolic_undo back(*s_);
    detail::exec_record e;
    e.what = what;
    e.in = here(inputs, r);
    e.out = here(outputs, r);
    e.name = name;
    e.where = where;
    e.graph = region_;
    if (what.kind() != command::form::nothing) check_places(e.out, r);
    std::int32_t const id = detail::new_exec(*s_, std::move(e));
    try {
      detail::realize(*s_, id);
    } catch (...) {
      forget(id);
      throw;
    }
    claim(id);
    back.keep();
    symbolic_exec const made = detail::exec_handle(*s_, id);
    detail::tell_made(*s_);
    return made;
  }

private:
  template <class List, class Hook> auto hooked(List detail::symbolic_hooks::* list, Hook&& hook) const {
    detail::tell_made(*s_); // the others
    detail::symbolic_hooks& all = *s_->symbolic.hooks;
    (all.*list).emplace_back(++all.next, std::forward<Hook>(hook));
    return detail::hook_guard<List>(s_->symbolic.hooks, list, all.next);
  }

public:
  // ---- hooks for new symbols, in the graph or any sub-graph: of this API, of expressions, of gradients

  [[nodiscard]] auto on_tensor(std::function<void(symbolic_tensor)> hook) const {
    return hooked(&detail::symbolic_hooks::tensor, std::move(hook));
  }
  [[nodiscard]] auto on_alias(std::function<void(symbolic_tensor)> hook) const {
    return hooked(&detail::symbolic_hooks::alias, std::move(hook));
  }
  [[nodiscard]] auto on_exec(std::function<void(symbolic_exec)> hook) const {
    return hooked(&detail::symbolic_hooks::exec, std::move(hook));
  }

protected:
  /// Frees an operation's index.
  void forget(std::int32_t id) const {
    detail::exec_record& e = detail::exec_at(*s_, id);
    std::erase(detail::graph_at(*s_, e.graph).execs, id);
    std::erase(s_->symbolic.made_execs, id);
    std::uint32_t const generation = e.generation + 1;
    e = {};
    e.dead = true;
    e.generation = generation;
    s_->symbolic.free_execs.push_back(id);
  }

private:
  symbolic_tensor made(extend::symbol t, detail::symbolic_undo& back) const {
    back.keep();
    symbolic_tensor const handle = detail::handle_of(*s_, t);
    detail::tell_made(*s_);
    return handle;
  }
};

} // namespace cotangent::dynamic

#endif
