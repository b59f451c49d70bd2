// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_EXECUTOR_HPP
#define COTANGENT_RUN_PROGRAM_EXECUTOR_HPP

#include <cotangent/run/program/control.hpp>
#include <cotangent/run/program/frozen_packing.hpp>
#include <cotangent/run/program/kernels.hpp>
#include <cotangent/run/program/loops.hpp>
#include <cotangent/run/program/straight.hpp>

#include <cstddef>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// The loop nests of the graph `Stage::view`: its plan as code. Stateless; each concurrent run needs its own
/// workspace.
template <class Stage> struct nests {
  static constexpr extend::graph_view g = Stage::view;
  static constexpr auto const& P = detail::planned<Stage, simd::bytes>::value;
  static constexpr auto const& C = detail::shared_code<Stage, simd::bytes>::value;
  static constexpr auto count = P.size; // (copies: code that reads P would bring it, with what the operations refer to)
  static constexpr int known_sizes = P.known_sizes, sizes = known_sizes + count.derived;
  /// True if loops allocate their records on a tape, which `run` then gets.
  static constexpr bool grows = detail::stage_grows<Stage>;
  /// True if steps of loops report a status. (Kernels return theirs.)
  static constexpr bool reports = [] {
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->reporting != nullptr) return true;
    return false;
  }();
  using context_type = context<count.buffers, sizes, grows, reports>;
  /// The context of one nest: only its own buffers.
  template <int K> using nest_context = context<C.first_buffer.data[K + 1] - C.first_buffer.data[K], sizes, grows, reports>;

  static constexpr bool matmul_of(int k) {
    detail::nest const& n = P.nests.data[k];
    return n.kind == detail::nest_kind::kernel && g.nodes[n.node].op->kind == operation_kind::matmul;
  }
  struct product : cotangent::detail::product_sizes {
    element type;
  };
  static constexpr product product_of(int k) {
    extend::node const& n = g.nodes[P.nests.data[k].node];
    return {cotangent::detail::product_sizes_of(g, n), g.tensors[g.result(n)].type};
  }
  static constexpr std::int64_t scratch_elements(int k) {
    product const s = product_of(k);
    return s.m < 0 || s.n < 0 || s.k < 0 ? -1 : scratch_bytes(s.type, s.m, s.n, s.k);
  }
  static constexpr std::int64_t scratch_bytes(element e, std::int64_t m, std::int64_t n, std::int64_t k) {
    return static_cast<std::int64_t>(e == element::float32 ? kernels::matmul_scratch_bytes<float>(m, n, k)
                                                           : kernels::matmul_scratch_bytes<double>(m, n, k));
  }

  /// The call of a function of whole tensors without its memory: sizes are extents of the graph.
  template <std::int32_t Node>
  static constexpr whole_call whole_of = [] {
    extend::node const& n = g.nodes[Node];
    whole_call call;
    auto const described = [](whole_tensor& t, extend::symbol s) {
      t.type = g.tensors[s].type;
      t.rank = g.shape(s).rank;
      for (int k = 0; k < t.rank; ++k) t.size[k] = g.shape(s).size[k];
    };
    for (int k = 0; k < n.operand_count; ++k) described(call.operand[k], g.operand(n, k));
    described(call.result, g.result(n));
    return call;
  }();
  /// The scratch bytes of nest K if it is a function of whole tensors, else 0; `value` gives the sizes.
  template <int K, class Value> static constexpr std::int64_t whole_scratch(Value value) {
    constexpr detail::nest N = P.nests.data[K];
    if constexpr (N.kind != detail::nest_kind::kernel) return 0;
    else if constexpr (g.nodes[N.node].op->kind != operation_kind::whole) return 0;
    else {
      whole_call call = whole_of<N.node>;
      for (whole_tensor* const t : {&call.operand[0], &call.operand[1], &call.operand[2], &call.operand[3], &call.result})
        for (int k = 0; k < t->rank; ++k) t->size[k] = value(t->size[k]);
      call.attribute = kernel<Stage, K, nest_context<K>>::attributes.of;
      return run::whole_scratch_bytes<detail::described_by<g.nodes[N.node].op>>(call);
    }
  }
  /// The scratch bytes of the loops and branches.
  template <class Value> static constexpr std::int64_t most_control_scratch(Value value, std::int64_t const* known) {
    std::int64_t most = 0;
    if constexpr (has_control)
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        static_cast<void>(std::initializer_list<int>{0, (nests::add_control_scratch<static_cast<int>(K)>(most, value, known), 0)...});
      }(std::make_index_sequence<static_cast<std::size_t>(count.nests)>{});
    return most;
  }
  template <int K, class Value>
  static constexpr void add_control_scratch(std::int64_t& most, Value value, std::int64_t const* known) {
    if constexpr (nests::is_control(K)) {
      std::int64_t const bytes = control<Stage, K, nest_context<K>>::scratch(value, known);
      if (bytes > most) most = bytes;
    }
  }
  static constexpr bool is_control(int k) {
    detail::nest const& n = P.nests.data[k];
    return n.kind == detail::nest_kind::kernel && g.nodes[n.node].op->kind == operation_kind::control;
  }
  static constexpr bool has_control = [] {
    for (int k = 0; k < count.nests; ++k)
      if (nests::is_control(k)) return true;
    return false;
  }();
  template <int K> static consteval bool control_has_names() {
    if constexpr (nests::is_control(K)) return !control<Stage, K, nest_context<K>>::is_static;
    else return false;
  }
  static consteval bool controls_have_names() {
    if constexpr (!has_control) return false;
    else
      return []<std::size_t... K>(std::index_sequence<K...>) {
        bool found = false;
        for (bool const one : {false, nests::control_has_names<static_cast<int>(K)>()...}) found = found || one;
        return found;
      }(std::make_index_sequence<static_cast<std::size_t>(count.nests)>{});
  }

  static constexpr bool has_whole = [] {
    for (std::int32_t i = 0; i < g.node_count; ++i)
      if (g.nodes[i].op->kind == operation_kind::whole) return true;
    return false;
  }();
  template <class Value> static constexpr std::int64_t most_whole_scratch(Value value) {
    std::int64_t most = 0;
    if constexpr (has_whole)
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        for (std::int64_t const bytes : {std::int64_t{0}, nests::whole_scratch<static_cast<int>(K)>(value)...})
          if (bytes > most) most = bytes;
      }(std::make_index_sequence<static_cast<std::size_t>(count.nests)>{});
    return most;
  }
  static constexpr bool whole_has_names(int k) {
    detail::nest const& n = P.nests.data[k];
    if (n.kind != detail::nest_kind::kernel || g.nodes[n.node].op->kind != operation_kind::whole) return false;
    extend::node const& of = g.nodes[n.node];
    for (int j = 0; j <= of.operand_count; ++j) {
      extend::dimensions const& d = g.shape(j < of.operand_count ? g.operand(of, j) : g.result(of));
      for (int a = 0; a < d.rank; ++a)
        if (d.size[a] < 0) return true;
    }
    return false;
  }

  /// True if all sizes are constants.
  static constexpr bool is_static = [] {
    for (int k = 0; k < count.slots; ++k)
      if (P.slots.data[k].count < 0) return false;
    for (int k = 0; k < count.nests; ++k)
      if ((nests::matmul_of(k) && nests::scratch_elements(k) < 0) || nests::whole_has_names(k)) return false;
    return !nests::controls_have_names();
  }();

  /// The bytes of the workspace if all sizes are constants.
  static constexpr std::size_t workspace_bytes = [] {
    if (!is_static) return std::size_t{0};
    std::int64_t bytes = detail::packing<Stage, simd::bytes>::value.bytes;
    constexpr auto same = [](extend::dimension d) { return d; };
    std::int64_t scratch = detail::larger(nests::most_whole_scratch(same), nests::most_control_scratch(same, nullptr));
    for (int k = 0; k < count.nests; ++k)
      if (nests::matmul_of(k) && nests::scratch_elements(k) > scratch) scratch = nests::scratch_elements(k);
    return static_cast<std::size_t>(detail::capped_sum(bytes, detail::whole_lines(scratch)));
  }();

  /// The bytes of the workspace for the sizes of a call: `known[k]` is the value of the graph's k-th symbolic
  /// extent.
  static std::size_t workspace_for(std::int64_t const* known) noexcept {
    context_type x;
    return set_up<false>(x, nullptr, known);
  }

  /// Runs with a 64-byte aligned `workspace` of the size given by the functions above.
  static status run(void* workspace, void const* const* inputs, void* const* outputs, std::int64_t const* known,
                    [[maybe_unused]] detail::tape_stack* tape = nullptr) noexcept {
    context_type x;
    if constexpr (grows) x.tape = tape;
    [[maybe_unused]] status found = status::ok;
    if constexpr (reports) x.found = &found;
    set_up<true>(x, static_cast<char*>(workspace), known);
    set_arguments(x, inputs, outputs);
    status const s = run_nests(x, std::make_index_sequence<static_cast<std::size_t>(count.nests)>{});
    copy_results(x, outputs);
    if constexpr (reports) return s == status::ok ? found : s;
    else return s;
  }

private:
  // Data read at run time is in tables of numbers. The plan itself names operations: a program with the plan
  // in its memory would compile all their rules.
  struct place {
    detail::residence where;
    std::int32_t index;
  };
  struct output {
    std::int32_t buffer;
    bool copied; // it is a copy of another result or of an argument
    extend::dimension count;
    std::int64_t bytes; // of an element
  };
  static constexpr bool is_packed = is_static && detail::packing<Stage, simd::bytes>::value.packed;
  struct run_tables {
    detail::pool<detail::derived_size, count.derived> derived;
    detail::pool<detail::slot, count.slots> slots;
    detail::pool<place, count.buffers> buffers;
    detail::pool<std::int64_t, count.buffers> offsets;
    detail::pool<output, count.results> outputs;
    detail::pool<product, count.nests> products;
    int product_count = 0;

    consteval run_tables() {
      detail::fill(derived, P.derived.data, count.derived);
      detail::fill(slots, P.slots.data, count.slots);
      if (is_packed) detail::fill(offsets, detail::packing<Stage, simd::bytes>::value.offsets.data, count.buffers);
      for (int k = 0; k < count.buffers; ++k) buffers.data[k] = {P.buffers.data[k].where, P.buffers.data[k].index};
      for (int k = 0; k < count.results; ++k) {
        std::int32_t const at = P.results.data[k];
        detail::buffer const& b = P.buffers.data[at];
        outputs.data[k] = {at, b.where != detail::residence::result || b.index != k, b.count, static_cast<std::int64_t>(size_of(b.type))};
      }
      for (int k = 0; k < count.nests; ++k)
        if (matmul_of(k)) products.data[product_count++] = product_of(k);
    }
  };
  static constexpr run_tables T{};

  /// Sets the addresses in the workspace if `Runs`, else returns its bytes.
  template <bool Runs>
  COTANGENT_INLINE static std::size_t set_up(context_type& x, [[maybe_unused]] char* workspace, std::int64_t const* known) noexcept {
    for (int k = 0; k < known_sizes; ++k) x.size[k] = known[k];
    for (int k = 0; k < count.derived; ++k) {
      detail::derived_size const& d = T.derived.data[k];
      std::int64_t const a = x.value(d.a), b = x.value(d.b);
      x.size[known_sizes + k] = d.product ? detail::capped_product(a, b) : detail::capped_sum(a, b);
    }
    std::int64_t offset = 0;
    if constexpr (is_packed) {
      offset = detail::packing<Stage, simd::bytes>::value.bytes;
      if constexpr (Runs)
        for (int k = 0; k < count.buffers; ++k) x.buffer[k] = T.offsets.data[k] < 0 ? nullptr : workspace + T.offsets.data[k];
    } else {
      char* first[count.slots > 0 ? count.slots : 1]{};
      for (int k = 0; k < count.slots; ++k) {
        detail::slot const& s = T.slots.data[k];
        if constexpr (Runs) first[k] = workspace + offset;
        offset = detail::capped_sum(offset, detail::whole_lines(detail::capped_product(x.value(s.count), s.bytes)));
      }
      for (int k = 0; Runs && k < count.buffers; ++k) {
        place const& b = T.buffers.data[k];
        x.buffer[k] = b.where == detail::residence::workspace && b.index != extend::none ? first[b.index] : nullptr;
      }
    }
    if constexpr (Runs) x.scratch = workspace + offset;
    if constexpr (Runs) return 0;
    else if constexpr (is_static) return workspace_bytes;
    else {
      auto const value = [&](extend::dimension d) { return x.value(d); };
      std::int64_t scratch = detail::larger(most_whole_scratch(value), most_control_scratch(value, known));
      for (int k = 0; k < T.product_count; ++k) {
        product const& s = T.products.data[k];
        std::int64_t const bytes = scratch_bytes(s.type, x.value(s.m), x.value(s.n), x.value(s.k));
        if (bytes > scratch) scratch = bytes;
      }
      return static_cast<std::size_t>(detail::capped_sum(offset, detail::whole_lines(scratch)));
    }
  }
  COTANGENT_INLINE static void set_arguments(context_type& x, void const* const* inputs, void* const* outputs) noexcept {
    // (In the body of a loop these addresses change in each iteration.)
#pragma GCC unroll 32
    for (int k = 0; k < count.buffers; ++k) {
      place const& b = T.buffers.data[k];
      if (b.where == detail::residence::argument) x.buffer[k] = static_cast<char*>(const_cast<void*>(inputs[b.index]));
      if (b.where == detail::residence::result) x.buffer[k] = static_cast<char*>(outputs[b.index]);
    }
  }

  template <int K> COTANGENT_INLINE static status run_code(nest_context<K> const& x) noexcept {
    if constexpr (P.nests.data[K].kind == detail::nest_kind::kernel) return kernel<Stage, K, nest_context<K>>::run(x);
    else {
      loops<Stage, K, nest_context<K>>::run(x);
      return status::ok;
    }
  }
  // A few nests are inlined, so that shared values stay in registers. Of many nests, each is a function, and
  // equal nests are the same function: otherwise compilers search all of them at every store. A long nest is
  // a function too: inlined, it would be optimized again at each level up to the program.
  // (Those of a body run in each iteration: there calls cost more.)
  static constexpr int most_inlined = requires { typename Stage::whole; } ? 24 : 6, longest_inlined = 160;

  template <int K>
  [[gnu::noinline]] static status call_nest(context_type const& x, std::int32_t const* buffers) noexcept {
    nest_context<K> own;
    for (int j = 0; j < C.first_buffer.data[K + 1] - C.first_buffer.data[K]; ++j) own.buffer[j] = x.buffer[buffers[j]];
    set_rest(own, x);
    return run_code<K>(own);
  }
  template <int K> COTANGENT_INLINE static status run_here(context_type const& x) noexcept {
    if constexpr (P.nests.data[K].instance_count > longest_inlined)
      return call_nest<K>(x, C.buffers.data + C.first_buffer.data[K]);
    else {
      nest_context<K> own;
      set_buffers<C.first_buffer.data[K]>(
          own, x, std::make_index_sequence<static_cast<std::size_t>(C.first_buffer.data[K + 1] - C.first_buffer.data[K])>{});
      set_rest(own, x);
      return run_code<K>(own);
    }
  }
  template <class Own> COTANGENT_INLINE static void set_rest(Own& own, context_type const& x) noexcept {
    if constexpr (sizes > 0)
      for (int k = 0; k < sizes; ++k) own.size[k] = x.size[k];
    own.scratch = x.scratch;
    if constexpr (grows) own.tape = x.tape;
    if constexpr (reports) own.found = x.found;
  }
  template <int From, class Own, std::size_t... J>
  COTANGENT_INLINE static void set_buffers(Own& own, context_type const& x, std::index_sequence<J...>) noexcept {
    static_cast<void>(std::initializer_list<int>{(own.buffer[J] = x.buffer[buffer_at(From + static_cast<int>(J))], 0)...});
  }
  static consteval int buffer_at(int k) { return C.buffers.data[k]; }
  using nest_call = status (*)(context_type const&, std::int32_t const*) noexcept;

  template <std::size_t... K>
  COTANGENT_INLINE static status run_nests(context_type const& x, std::index_sequence<K...>) noexcept {
    status s = status::ok;
    if constexpr (count.nests <= most_inlined) {
      status const found[]{run_here<static_cast<int>(K)>(x)..., status::ok};
      for (status const k : found)
        if (k != status::ok) s = k;
    } else {
      static constexpr nest_call code[]{&nests::template call_nest<C.like.data[K]>...};
      for (int k = 0; k < count.nests; ++k)
        if (status const found = code[k](x, C.buffers.data + C.first_buffer.data[k]); found != status::ok) s = found;
    }
    return s;
  }

  /// A buffer that is two outputs, or an argument as well, exists once: the other outputs are copies.
  static constexpr bool copies_results = [] {
    for (int k = 0; k < count.results; ++k)
      if (detail::buffer const& b = P.buffers.data[P.results.data[k]]; b.where != detail::residence::result || b.index != k) return true;
    return false;
  }();
  COTANGENT_INLINE static void copy_results(context_type const& x, void* const* outputs) noexcept {
    if constexpr (!copies_results) return; // a loop over tables would keep all addresses in memory
    for (int k = 0; k < count.results; ++k) {
      output const& o = T.outputs.data[k];
      if (!o.copied) continue;
      char const* const from = x.buffer[o.buffer];
      char* const to = static_cast<char*>(outputs[k]);
      if (from != to) __builtin_memcpy(to, from, static_cast<std::size_t>(x.value(o.count) * o.bytes));
    }
  }
};

/// The static program of the graph `Stage::view`: straight-line code if it is small, else loop nests.
template <class Stage> struct executor_of : std::conditional_t<detail::is_straight_line<Stage, simd::bytes>, straight<Stage>, nests<Stage>> {
  static constexpr bool is_straight = detail::is_straight_line<Stage, simd::bytes>;
};
template <class Stage> struct executor : executor_of<detail::planned_stage<Stage>> {};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
