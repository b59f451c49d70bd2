// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_VJP_HPP
#define COTANGENT_DYNAMIC_GRAPH_VJP_HPP

#include <cotangent/dynamic/graph/graph.hpp>
#include <cotangent/dynamic/program/pullback.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

/// Options of the split: how gradients are computed, which values may be saved, and whether no rewrite is applied.
struct vjp_options {
  gradient_options gradient = {};
  detail::saving_options saving = {};
  bool exact = false;
};

/// The result of `ct::dynamic::graph::vjp`: a program that computes some expressions. Each run saves the values that their
/// gradients read, in the fewest bytes.
///
///     s.bind(x, data);
///     auto back = s.run();   // a `pullback`
///     s.value(y);
class vjp_program {
  detail::checked_pointer<std::shared_ptr<detail::vjp_code const>, refusals::program_empty> code_;
  program forward_, back_;

public:
  vjp_program(std::shared_ptr<detail::vjp_code const> code, program forward, program back)
      : code_(std::move(code)), forward_(std::move(forward)), back_(std::move(back)) {}

  template <class T, class M>
  void bind(expr<T> const& x, M&& memory, std::source_location where = std::source_location::current()) {
    forward_.bind(x, std::forward<M>(memory), where);
  }
  template <class T>
  void bind(expr<T> const& x, std::initializer_list<T> elements,
            std::source_location where = std::source_location::current()) {
    forward_.bind(x, elements, where);
  }
  /// For one of a list of expressions of any element.
  template <class M> void bind(any_expr const& x, M&& memory, std::source_location where = std::source_location::current()) {
    forward_.bind(x, std::forward<M>(memory), where);
  }
  /// Computes the outputs. Throws the same exceptions as `program::run`.
  pullback run(std::source_location where = std::source_location::current()) {
    pullback p(code_.get(), back_);
    detail::wide_memory wide(*code_);
    struct release_saved { // copies of the forward program must not write there
      vjp_program& self;
      ~release_saved() {
        for (std::size_t k = 0; k < self.code_->saved.size(); ++k) detail::program_access::release(self.forward_, detail::saved_symbol(k));
      }
    } const after{*this};
    for (std::size_t k = 0; k < code_->saved.size(); ++k) { // straight into the memory of the pullback
      p.kept_[k].at_least(static_cast<std::size_t>(code_->held_bytes(k)) + 1);
      void* const at = code_->is_narrow(k) ? wide.take(k) : p.kept_[k].data();
      detail::program_access::bind(forward_, detail::saved_symbol(k), detail::saved_memory(*code_, k, at), where);
    }
    if (code_->has_records) detail::program_access::record(forward_).keep(recorded_bytes());
    forward_.run(where);
    wide.rewind();
    if (code_->has_records)
      p.record_ = std::make_shared<detail::tape>(std::move(detail::program_access::record(forward_)));
    for (std::size_t k = 0; k < code_->saved.size(); ++k)
      if (code_->is_narrow(k))
        detail::with_narrow_type(code_->saved[k].type, [&]<class T>(T*) {
          cotangent::detail::put_narrow(static_cast<T const*>(wide.take(k)), code_->elements(k),
                                        code_->saved[k].bits, static_cast<unsigned char*>(p.kept_[k].data()));
        });
    return p;
  }
  template <class T>
  values<T> value(expr<T> const& y, std::source_location where = std::source_location::current()) const {
    return forward_.value(y, where);
  }

  /// The values that a run saves, and their bytes.
  std::vector<saved_tensor> const& saved() const { return code_->saved; }
  std::int64_t saved_bytes() const { return code_->bytes(); }
  /// Whether the gradients read this input, output, or the cotangent of this output; the other values may be freed at once.
  template <class T>
  bool needs_input(expr<T> const& x, std::source_location where = std::source_location::current()) const {
    return find(code_->inputs, code_->needs.inputs, x, "needs_input", where);
  }
  template <class T>
  bool needs_output(expr<T> const& y, std::source_location where = std::source_location::current()) const {
    return find(code_->all_outputs, code_->needs.outputs, y, "needs_output", where);
  }
  template <class T>
  bool needs_cotangent(expr<T> const& y, std::source_location where = std::source_location::current()) const {
    return find(code_->cotangents, code_->needs.cotangents, y, "needs_cotangent", where);
  }
  /// The two programs.
  program const& forward() const noexcept { return forward_; }
  program const& backward() const noexcept { return back_; }

private:
  std::int64_t recorded_bytes() const {
    std::int64_t sum = 0;
    for (saved_tensor const& t : code_->saved)
      if (t.depth > 0) sum += t.bytes - 8;
    return sum;
  }
  bool find(std::vector<extend::symbol> const& in, detail::array<bool> const& marks, any_expr const& x,
            char const* name, std::source_location where) const {
    extend::symbol const t = detail::program_access::symbol_of(forward_, x, name, where);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k] == t && marks[static_cast<int>(k)]) return true;
    return false;
  }
};

namespace detail {

/// The two programs of a graph. `graph_state` is a copy, which may be changed.
template <class = void>
vjp_program vjp_graph(graph_state& s, std::vector<symbol> const& y, std::vector<symbol> const& x,
                      vjp_options const& options, request const& r) {
  auto shared = std::make_shared<vjp_code>();
  vjp_code& c = *shared;
  std::vector<symbol> floating, seeds;
  for (symbol const t : y)
    if (is_floating(s.b.tensor(t).type) && std::find(floating.begin(), floating.end(), t) == floating.end()) {
      floating.push_back(t);
      seeds.push_back(s.b.symbol_like(t));
      s.inputs.push_back(seeds.back());
      c.cotangents.push_back(t);
      c.outputs.push_back(s.b.tensor(t).type);
      c.listings.push_back(static_cast<int>(std::count(y.begin(), y.end(), t)));
      c.shapes.push_back(shape_of(s.b, t));
    }
  std::vector<symbol> const dx = gradient_symbols(s, floating, seeds, x, options.gradient, r);
  std::vector<symbol> results = y;
  results.insert(results.end(), dx.begin(), dx.end());
  lowered low;
  if (s.symbolic.used) low = lower(s, {.outputs = results, .all = false}, r);
  check_writers(s, r);
  for (symbol const t : results)
    if (s.b.tensor(t).region != 0) raise<refusals::dynamic_left_body>(s.b, r);

  // inputs, cotangents, and the constants and states of the graph
  auto const is_seed = [&](symbol t) {
    for (symbol const d : seeds)
      if (d == t) return true;
    return false;
  };
  auto const constant_of = [&](symbol t) {
    for (std::size_t k = 0; k < s.constants.size(); ++k)
      if (s.constants[k].id == t) return static_cast<std::int32_t>(k);
    return std::int32_t{-1};
  };
  std::vector<symbol> constants;
  for (symbol const t : s.inputs) {
    if (constant_of(t) >= 0) constants.push_back(t);
    else if (!is_seed(t)) c.inputs.push_back(t);
  }
  std::vector<symbol> inputs = c.inputs;
  inputs.insert(inputs.end(), seeds.begin(), seeds.end());
  inputs.insert(inputs.end(), constants.begin(), constants.end());
  c.all_outputs = y;

  cotangent::graph ready = s.b.get();
  ready.set_inputs(inputs.data(), static_cast<int>(inputs.size()));
  ready.set_outputs(results.data(), static_cast<int>(results.size()));
  built const simple = run_passes(ready,
                                  pipeline_options<>{.simplify = simplify_options::of_interpreter(ready, options.exact),
                                                     .recompute = recomputation::always,
                                                     .in_order = false,
                                                     .extra = low.extra.data(),
                                                     .extra_count = low.extra.size()},
                                  pipeline{});
  if (simple.failed.why != nullptr) raise(s.b, simple.failed, {});
  joint_graph const joint{simple.g, static_cast<int>(c.inputs.size()), static_cast<int>(seeds.size()),
                          static_cast<int>(y.size())};
  array<saved_value> const saved = choose_saved(joint, options.saving);
  c.needs = needs_of(joint, saved);

  auto const made = [&](cotangent::graph const& part, std::vector<port>&& in, std::vector<port>&& out) {
    auto code = std::make_shared<compiled_code>();
    code->code = interpreter(s.kernels, part, {true, {}, {}});
    if (code->code.failed().why != nullptr) raise(s.b, code->code.failed(), r);
    code->predicted.bytes = code->code.workspace_bytes();
    for (int k = 0; k < code->code.input_count(); ++k)
      in[static_cast<std::size_t>(k)].read = code->code.reads_input(k);
    code->graph = s.identity;
    code->inputs = std::move(in);
    for (port const& p : out) code->add_output(p);
    code->constants = s.constants;
    for (std::size_t k = 0; k < code->inputs.size(); ++k)
      code->input_of.emplace(code->inputs[k].id, static_cast<int>(k));
    return code;
  };
  std::vector<port> in, out, back_in, back_out;
  for (symbol const t : c.inputs) in.push_back(port_of(s.b, t));
  for (symbol const t : s.states)
    for (port& p : in) p.state = p.state || p.id == t;
  for (symbol const t : y) out.push_back(port_of(s.b, t));
  graph_view const g = simple.g;
  for (int k = 0; k < saved.size(); ++k) {
    saved_value const& v = saved[k];
    port p;
    p.id = saved_symbol(static_cast<std::size_t>(k));
    p.type = g.tensors[v.of].type;
    for (int a = 0; a < g.shape(v.of).rank; ++a) p.shape.push(extent::of(g.shape(v.of).size[a]));
    if (char const* const name = g.name(v.of)) p.name = name;
    int const depth = g.tensors[v.of].depth;
    c.saved.push_back({p.name, p.shape, p.type, v.bits, v.bytes(p.shape.size().number), v.input >= 0,
                       v.output >= 0, v.moved, depth});
    if (depth > 0) {
      c.has_records = true;
      c.saved.back().bytes = 8 + cotangent::detail::bytes_of_record(g, v.of).bytes;
      p.type = element::int64;
      p.shape = {};
    }
    p.bytes = p.shape.size().number * static_cast<std::int64_t>(size_of(p.type));
    if (c.is_narrow(static_cast<std::size_t>(k))) c.wide_bytes += c.wide(static_cast<std::size_t>(k));
    out.push_back(p);
    back_in.push_back(p);
  }
  for (symbol const t : floating) back_in.push_back(port_of(s.b, t));
  for (symbol const t : constants) {
    in.push_back(port_of(s.b, t));
    in.back().constant = constant_of(t);
    back_in.push_back(in.back());
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    back_out.push_back(port_of(s.b, dx[k]));
    back_out.back().id = x[k];
    back_out.back().name = name_in(s.b, x[k]);
  }
  auto const first = made(forward_part(joint, saved), std::move(in), std::move(out));
  for (auto const& [t, stands] : low.stands_for) first->input_of.emplace(t, first->input_of.at(stands));
  auto const second = made(backward_part(joint, saved), std::move(back_in), std::move(back_out));
  return {shared, program(first), program(second)};
}

} // namespace detail

inline vjp_program graph::vjp(expressions const& outputs, expressions const& wrt,
                              vjp_options const& options, std::source_location where) const {
  detail::request const r{"vjp", 3, nullptr, 0, where};
  std::vector<extend::symbol> y, x;
  for (any_expr const& e : outputs) y.push_back(symbol_of(e, r));
  for (any_expr const& e : wrt) x.push_back(symbol_of(e, r));
  detail::graph_state copy(*s_);
  return detail::vjp_graph(copy, y, x, options, r);
}
inline vjp_program graph::vjp(expressions const& outputs, expressions const& wrt,
                              std::source_location where) const {
  return vjp(outputs, wrt, vjp_options{}, where);
}

} // namespace cotangent::dynamic

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template vjp_program vjp_graph(graph_state&, std::vector<symbol> const&, std::vector<symbol> const&, vjp_options const&,
                                           request const&);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
