// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_CODE_HPP
#define COTANGENT_DYNAMIC_EAGER_CODE_HPP

#include <cotangent/dynamic/eager/memory.hpp>
#include <cotangent/dynamic/state/state.hpp>

#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

// Prepared operations of eager mode, one for each function with the elements and shapes of its operands. Each
// has a small graph, the program that runs it, and, on demand, its adjoints. These are graphs from the
// transformer, so that they have adjoints too.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

struct adjoint_code;

struct tensor_type {
  element type = element::float64;
  std::int32_t shape = 0; // index among the recorder's shapes
  std::int64_t elements = 1;
  std::int64_t bytes() const noexcept { return elements * static_cast<std::int64_t>(size_of(type)); }
};

/// One elementwise operation on whole operands, or on one element: its kernel runs without an interpreter.
struct single_kernel {
  static constexpr int most = 3;
  kernels::elementwise_kernel run = nullptr;
  int arity = 0;
  std::int32_t operand[most]{};
  bool one_element[most]{};
};

/// A prepared operation.
struct eager_code {
  cotangent::graph g; // its inputs are the operands
  interpreter run;
  single_kernel single;
  std::vector<tensor_type> operands, results;
  chosen floating;                   // the results that may have a gradient
  std::vector<std::int32_t> same_as; // by result: the operand whose elements it has, or none
  std::vector<std::unique_ptr<adjoint_code>> adjoints;
  eager_code* of = nullptr; // the operation that this is an adjoint of, and that owns it
  std::int64_t users = 0;   // records of it and of its adjoints, unless it is an adjoint
  double work = -1;         // predicted seconds; -1: not computed yet

  std::int64_t& counted() noexcept {
    eager_code* c = this;
    while (c->of != nullptr) c = c->of;
    return c->users;
  }
};

/// The adjoint toward some operands, for cotangents of some results. Its operands are those of the operation,
/// then its results, then these cotangents, then the masks of those in `masked`. Its results are the gradients of the
/// operands in `reached`, in order, then their masks that are no operands.
struct adjoint_code {
  struct mask {
    std::int32_t operand = none, result = none;
  };
  chosen wanted, given, masked, reached;
  std::vector<mask> masks; // by gradient
  std::vector<bool> reads; // by operand of the adjoint
  eager_code code;
  failure failed;
};

/// The operand that `t` is, possibly with another shape; else none.
inline std::int32_t operand_behind(graph_view const& g, symbol t) {
  for (;;) {
    for (int k = 0; k < g.input_count(); ++k)
      if (g.input(k) == t) return k;
    node const* const n = g.producer(t);
    if (n == nullptr || g.tensors[t].base != none ||
        (n->op->kind != operation_kind::reshape && n->op->kind != operation_kind::identity))
      return none;
    t = g.operand(*n, 0);
  }
}

// A template, so that units with COTANGENT_SEPARATE do not instantiate the kernels.
template <class = void> single_kernel single_kernel_of(graph_view const& g, interpret::kernel_list const& users) {
  single_kernel k;
  if (g.output_count() != 1) return k;
  symbol const y = g.output(0);
  node const* const n = g.producer(y);
  if (n == nullptr || n->op->kind != operation_kind::elementwise || n->operand_count > single_kernel::most ||
      n->op->reporting != nullptr || g.tensors[y].base != none)
    return k;
  auto const count = [&](symbol t) {
    std::int64_t all = 1;
    for (int a = 0; a < g.shape(t).rank; ++a) all *= g.shape(t).size[a];
    return all;
  };
  for (int j = 0; j < n->operand_count; ++j) {
    symbol t = g.operand(*n, j);
    while (node const* const p = g.producer(t)) {
      bool const moves_nothing =
          p->op->kind == operation_kind::reshape || p->op->kind == operation_kind::identity;
      bool const repeats_one = p->op->kind == operation_kind::broadcast && count(g.operand(*p, 0)) == 1;
      if ((!moves_nothing && !repeats_one) || g.tensors[t].base != none) return k;
      t = g.operand(*p, 0);
    }
    k.operand[j] = none;
    for (int i = 0; i < g.input_count(); ++i)
      if (g.input(i) == t) k.operand[j] = i;
    if (k.operand[j] == none) return k;
    k.one_element[j] = count(t) == 1;
    if (!k.one_element[j] && count(t) != count(y)) return k;
  }
  interpret::kernel_table const table = interpret::table_of<>(&users);
  element const last = g.tensors[g.operand(*n, n->operand_count - 1)].type;
  k.arity = n->operand_count;
  if (n->op == table.convert)
    k.run = table.conversions[static_cast<int>(last)][static_cast<int>(g.tensors[y].type)];
  else if (interpret::kernel_set const* const kernels = table.find(n->op);
           kernels != nullptr)
    k.run = kernels->elementwise[static_cast<int>(last)];
  return k;
}

/// Prepares the program of a graph with its inputs and outputs. Returns a refusal, if any.
template <class = void> failure prepare(eager_code& c, interpret::kernel_list const& users) {
  built const passed =
      run_passes(c.g, pipeline_options<>{.simplify = {.matrix_products = true}, .recompute = recomputation::never}, pipeline{});
  if (passed.failed.why != nullptr) return passed.failed;
  cotangent::graph const& simple = passed.g;
  graph_view const view = simple;
  c.same_as.clear();
  for (int k = 0; k < view.output_count(); ++k) c.same_as.push_back(operand_behind(view, view.output(k)));
  for (std::size_t k = 0; k < c.results.size(); ++k)
    if (is_floating(c.results[k].type)) c.floating.add(static_cast<int>(k));
  c.single = single_kernel_of(view, users);
  c.run = interpreter(users, simple, {true, {}, {}});
  return c.run.failed();
}

/// Turns results into inputs: removes their producers. Intermediate values that only those producers read are
/// recomputed if needed. Returns the symbols of the results.
inline std::vector<symbol> take_results_as_given(cotangent::graph& g) {
  graph_view const v = g;
  std::vector<symbol> given;
  std::vector<bool> gone(static_cast<std::size_t>(v.node_count));
  for (int k = 0; k < v.output_count(); ++k) {
    symbol const y = v.output(k);
    node const* const p = v.producer(y);
    bool const computed = p != nullptr && p->result_count == 1 && g.tensors[y].base == none;
    if (computed && !gone[static_cast<std::size_t>(g.tensors[y].producer)]) {
      gone[static_cast<std::size_t>(g.tensors[y].producer)] = true;
      given.push_back(y);
    } else {
      given.push_back(none);
    }
  }
  array<node> rest;
  for (std::int32_t i = 0; i < g.nodes.size(); ++i) {
    bool const goes = gone[static_cast<std::size_t>(i)];
    node const& n = g.nodes[i];
    for (int k = 0; k < n.result_count; ++k)
      g.tensors[g.ids[n.first + n.operand_count + k]].producer = goes ? none : rest.size();
    if (!goes) rest.push(n);
  }
  g.nodes = static_cast<array<node>&&>(rest);
  return given;
}

inline bool is_known_zero(builder const& b, symbol t) {
  node const* n = b.producer(t);
  while (n != nullptr && n->op->kind == operation_kind::broadcast) n = b.producer(b.get().ids[n->first]);
  return n != nullptr && n->op->kind == operation_kind::constant && b.get().numbers[n->attribute] == 0;
}

/// Splits a gradient into a value and the mask under which it stands: booleans, false where the gradient is 0 whatever the value
/// is. `none` if it has no mask.
inline symbol take_mask(builder& b, symbol& gradient) {
  term all{};
  while (cotangent::detail::masked_cotangent const m = cotangent::detail::cotangent_mask(b, gradient)) {
    term const c{&b, m.condition}, keep = m.on_false ? !c : c;
    all = all.present() ? all && keep : keep;
    gradient = m.value;
  }
  // A sum under a mask is 0 where no term has it, and has no value that is NaN.
  if (node const* const n = b.producer(gradient); n != nullptr && n->op == info_of<op::sum>()) {
    auto const axes = static_cast<std::uint32_t>(b.get().numbers[n->attribute]);
    if (cotangent::detail::masked_cotangent const m = cotangent::detail::select_mask(b.get(), b.get().ids[n->first])) {
      term const c{&b, m.condition}, keep = m.on_false ? !c : c;
      term const any = extend::max(extend::convert(keep, element::int32), axes) > 0;
      all = all.present() ? all && any : any;
    }
  }
  return all.present() ? all.id : none;
}

template <class = void>
std::unique_ptr<adjoint_code> make_adjoint(eager_code& c, chosen const& wanted, chosen const& given, chosen const& masked,
                                           interpret::kernel_list const& users) {
  auto made = std::make_unique<adjoint_code>();
  made->wanted = wanted;
  made->given = given;
  made->masked = masked;
  made->code.of = &c;
  graph_view const v = c.g;
  builder b(v);
  bool selects = masked.any();
  for (std::int32_t i = 0; i < b.get().nodes.size(); ++i) // (the adjoint of rows that are set selects those that were not set again)
    selects = selects || v.nodes[i].op == info_of<op::select>() || v.nodes[i].op == info_of<op::update_rows>();
  std::vector<symbol> x, y, dy, masks, outputs, seeds, wrt, dx;
  for (int k = 0; k < v.input_count(); ++k) x.push_back(v.input(k));
  for (int k = 0; k < v.output_count(); ++k) {
    y.push_back(v.output(k));
    if (!given[k]) continue;
    outputs.push_back(y.back());
    term const d{&b, b.symbol_like(y.back())};
    dy.push_back(d.id);
    if (masked[k]) masks.push_back(b.symbol_of(element::boolean, b.tensor(d.id).shape));
    seeds.push_back(masked[k] ? extend::select(term{&b, masks.back()}, d, extend::constant_like(d, 0)).id : d.id);
  }
  for (int k = 0; k < v.input_count(); ++k)
    if (wanted[k]) wrt.push_back(x[static_cast<std::size_t>(k)]);
  dx.resize(wrt.size() + 1);
  gradient_request request{outputs.data(), seeds.data(), static_cast<int>(outputs.size()), wrt.data(),
                           static_cast<int>(wrt.size()), unreachable::zeros, nullptr, 0};
  cotangent::detail::gradient(b, request, dx.data());
  if (b.failed().why != nullptr) {
    made->failed = b.failed();
    return made;
  }
  std::vector<symbol> results, kept;
  for (int k = 0, at = 0; k < v.input_count(); ++k)
    if (wanted[k]) {
      symbol d = dx[static_cast<std::size_t>(at++)];
      if (is_known_zero(b, d)) continue;
      made->reached.add(k);
      kept.push_back(selects ? take_mask(b, d) : none);
      results.push_back(d);
      made->code.results.push_back(c.operands[static_cast<std::size_t>(k)]);
    }
  cotangent::graph g = b.get();
  std::vector<symbol> const known = take_results_as_given(g);
  builder whole{graph_view(g)};
  std::vector<symbol> inputs = x;
  made->code.operands = c.operands;
  for (std::size_t k = 0; k < y.size(); ++k) {
    symbol const t = known[k];
    inputs.push_back(t != none ? t : whole.symbol_of(whole.tensor(y[k]).type, whole.tensor(y[k]).shape));
    made->code.operands.push_back(c.results[k]);
  }
  for (int k = 0, at = 0; k < v.output_count(); ++k)
    if (given[k]) {
      inputs.push_back(dy[static_cast<std::size_t>(at++)]);
      made->code.operands.push_back(c.results[static_cast<std::size_t>(k)]);
    }
  for (int k = 0, at = 0; k < v.output_count(); ++k)
    if (masked[k]) {
      inputs.push_back(masks[static_cast<std::size_t>(at++)]);
      made->code.operands.push_back(c.results[static_cast<std::size_t>(k)]);
      made->code.operands.back().type = element::boolean;
    }
  made->masks.resize(kept.size());
  for (std::size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] == none) continue;
    for (std::size_t j = 0; j < inputs.size(); ++j)
      if (inputs[j] == kept[k]) made->masks[k].operand = static_cast<std::int32_t>(j);
    if (made->masks[k].operand != none) continue;
    made->masks[k].result = static_cast<std::int32_t>(results.size());
    results.push_back(kept[k]);
    made->code.results.push_back(made->code.results[k]);
    made->code.results.back().type = element::boolean;
  }
  whole.set_inputs(inputs.data(), static_cast<int>(inputs.size()));
  whole.set_outputs(results.data(), static_cast<int>(results.size()));
  made->code.g = whole.get();
  made->failed = prepare(made->code, users);
  for (int k = 0; made->failed.why == nullptr && k < made->code.run.input_count(); ++k)
    made->reads.push_back(made->code.run.reads_input(k));
  for (adjoint_code::mask const& m : made->masks)
    if (m.operand != none && made->failed.why == nullptr) made->reads[static_cast<std::size_t>(m.operand)] = true;
  return made;
}

/// Created at the first request.
inline adjoint_code& adjoint_of(eager_code& c, chosen const& wanted, chosen const& given, chosen const& masked,
                                interpret::kernel_list const& users) {
  for (auto const& d : c.adjoints)
    if (d->wanted == wanted && d->given == given && d->masked == masked) return *d;
  c.adjoints.push_back(make_adjoint(c, wanted, given, masked, users));
  return *c.adjoints.back();
}

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template failure prepare(eager_code&, interpret::kernel_list const&);
extern template std::unique_ptr<adjoint_code> make_adjoint(eager_code&, chosen const&, chosen const&, chosen const&,
                                                           interpret::kernel_list const&);
} // namespace cotangent::dynamic::detail
#endif

#endif
