// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_PULLBACK_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_PULLBACK_HPP

#include <cotangent/core/narrow.hpp>
#include <cotangent/trace/program/program.hpp>
#include <cotangent/trace/transformations/vjp_stages.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cotangent {

/// Placeholder for an absent cotangent, which counts as zeros: `back(std::tuple(dy, ct::absent))`.
struct absent_t {
  explicit absent_t() = default;
};
inline constexpr absent_t absent{};

namespace detail {
inline namespace COTANGENT_ABI {

/// True if a tree of cotangents matches the results leaf by leaf; leaves of integers must be absent.
template <class Tree> constexpr bool cotangents_fit(leaf_kind const* expected, int count, int& at) {
  if constexpr (is_inner<Tree>)
    return []<class... Part>(parts<Part...>, leaf_kind const* e, int n, int& p) {
      return (true && ... && cotangents_fit<Part>(e, n, p));
    }(typename parts_of<Tree>::type{}, expected, count, at);
  else if constexpr (std::is_same_v<Tree, absent_t>) return at++ < count;
  else if constexpr (tree_kind_of<Tree> != tree_kind::memory && tree_kind_of<Tree> != tree_kind::expression)
    return false;
  else {
    if (at >= count) return false;
    leaf_kind const& wanted = expected[at++];
    leaf_kind given;
    note_leaves<Tree>::into(&given);
    if (!is_floating(wanted.type) || given.type != wanted.type || given.extents.rank != wanted.extents.rank)
      return false;
    for (int a = 0; a < wanted.extents.rank; ++a)
      if (wanted.extents[a].is_number() && given.extents[a].is_number() &&
          wanted.extents[a].number != given.extents[a].number)
        return false;
    return true;
  }
}
template <class Expressions, class Tree> consteval bool are_cotangents() {
  kinds_of_leaves<Expressions> const expected{};
  int at = 0;
  return cotangents_fit<Tree>(expected.of, expected.count, at) && at == expected.count;
}
template <class Expressions> consteval bool all_are_numbers() {
  kinds_of_leaves<Expressions> const expected{};
  for (int k = 0; k < expected.count; ++k)
    if (is_floating(expected.of[k].type) && expected.of[k].extents.rank != 0) return false;
  return true;
}

/// A saved value: as a tensor, or narrow.
template <class Leaf> struct kept_narrow {
  static constexpr std::int64_t bytes = Leaf::count < 0 ? -1 : Leaf::what.bytes(Leaf::count);
  static constexpr bool is_inline = bytes >= 0 && bytes <= static_cast<std::int64_t>(inline_bytes);
  std::conditional_t<is_inline, inline_storage<unsigned char, is_inline ? bytes : 1>,
                     heap_storage<unsigned char>>
      of;

  template <class Value>
  constexpr kept_narrow(Value const& from, std::int64_t count)
      : of(uninitialized, narrow_bytes(count, Leaf::what.bits)) {
    put_narrow(data_of_leaf(from), count, Leaf::what.bits, of.data());
  }
};
template <class Leaf> struct kept_whole {
  typename Leaf::value_type of;
  constexpr kept_whole(typename Leaf::value_type& from, std::int64_t) : of(std::move(from)) {}
};
template <class Leaf>
using kept_value = std::conditional_t<Leaf::is_narrow, kept_narrow<Leaf>, kept_whole<Leaf>>;

template <int N> struct kept_sizes {
  std::int64_t of[N]{};
  constexpr std::int64_t const* get() const noexcept { return of; }
  constexpr std::int64_t* get() noexcept { return of; }
};
template <> struct kept_sizes<0> {
  static constexpr std::int64_t const* get() noexcept { return nullptr; }
};

/// The sum of the saved values' bytes, if all sizes are numbers.
template <class Stages, class Indices> struct saved_size;
template <class Stages, std::size_t... K> struct saved_size<Stages, std::index_sequence<K...>> {
  static constexpr bool is_static = (true && ... && (saved_leaf<Stages, static_cast<int>(K)>::count >= 0));
  static constexpr std::int64_t bytes =
      (std::int64_t{0} + ... +
       saved_leaf<Stages, static_cast<int>(K)>::what.bytes(saved_leaf<Stages, static_cast<int>(K)>::count));
};
template <class Size, bool IsStatic = Size::is_static> struct with_saved_bytes {};
template <class Size> struct with_saved_bytes<Size, true> {
  /// The bytes saved: a constant if all extents are numbers.
  static constexpr std::int64_t saved_bytes = Size::bytes;
};

template <class Stages, class Indices> class pullback_of;

/// The pullback returned by `ct::vjp(f)(x...)`: maps cotangents of the value to gradients, any number of
/// times. It owns the saved values and nothing else.
template <class Stages, std::size_t... K>
class pullback_of<Stages, std::index_sequence<K...>>
    : public with_saved_bytes<saved_size<Stages, std::index_sequence<K...>>> {
  using executor = run::executor<typename Stages::backward>;
  using expressions = typename Stages::expressions;
  template <std::size_t J> using leaf = saved_leaf<Stages, static_cast<int>(J)>;
  static constexpr graph_view const& g = Stages::backward::view;
  static constexpr int saved_count = Stages::saved.count, cotangent_count = Stages::cotangents;
  static constexpr int given_count = leaf_count<expressions>;

  std::tuple<kept_value<leaf<K>>...> kept_;
  [[no_unique_address]] kept_sizes<g.extent_count> sizes_;

  // Tables read at run time; the graph itself names operations.
  struct tables {
    dimensions saved[saved_count + 1]{}, cotangents[cotangent_count + 1]{}, results[g.output_count() + 1]{};
    element types[cotangent_count + 1]{};
    int cotangent_of[given_count + 1]{}; // by leaf of the value: -1 for integers
    constexpr tables() {
      for (int k = 0; k < saved_count; ++k) saved[k] = g.shape(g.input(k));
      for (int k = 0; k < cotangent_count; ++k) {
        cotangents[k] = g.shape(g.input(saved_count + k));
        types[k] = g.tensors[g.input(saved_count + k)].type;
      }
      for (int k = 0; k < g.output_count(); ++k) results[k] = g.shape(g.output(k));
      kinds_of_leaves<expressions> const kinds{};
      for (int k = 0, c = 0; k < given_count; ++k) cotangent_of[k] = is_floating(kinds.of[k].type) ? c++ : -1;
    }
  };
  static constexpr tables table{};

  constexpr std::int64_t size(dimension d) const noexcept {
    if constexpr (g.extent_count == 0) return d;
    else return d >= 0 ? d : sizes_.get()[-1 - d];
  }
  constexpr std::int64_t count(dimensions const& d) const noexcept {
    std::int64_t n = 1;
    for (int a = 0; a < d.rank; ++a) n *= size(d.size[a]);
    return n;
  }

  /// The addresses of the cotangents: null if absent.
  struct collected {
    pullback_of const& p;
    void const* at[cotangent_count + 1]{};
    elements_in elements[cotangent_count + 1]{};
    bool present[cotangent_count + 1]{};
    int next = 0;
    char* room = nullptr; // for copies of cotangents that have strides
    constexpr explicit collected(pullback_of const& of) : p(of) {}
    template <class X> constexpr void operator()(X const& x) {
      int const c = table.cotangent_of[next++];
      if constexpr (!std::is_same_v<X, absent_t>) {
        std::int64_t given[max_rank]{};
        memory_traits<X>::sizes(x, given);
        for (int a = 0; a < table.cotangents[c].rank; ++a)
          if (std::int64_t const wanted = p.size(table.cotangents[c].size[a]); given[a] != wanted)
            report(c, a, given[a], wanted);
        if (is_of_nothing(x)) report(status::null_argument);
        present[c] = true;
        if constexpr (strided_memory<X>) {
          strided_leaf const leaf = strided_leaf_of(x);
          copy_strided<true>(leaf, room);
          at[c] = room;
          room += whole_lines(leaf.count() * leaf.element_bytes);
        } else if (std::is_constant_evaluated()) elements[c] = elements_in(data_of_leaf(x));
        else at[c] = static_cast<void const*>(data_of_leaf(x));
      }
    }
  };

public:
  using gradients = typename Stages::gradients;
  /// The saved values; `of` is a symbol of `joint`.
  static constexpr auto const& saved = Stages::saved;
  static constexpr graph_view const& joint = Stages::simplified::view;
  static constexpr graph_view const& forward = Stages::forward::view;
  static constexpr graph_view const& backward = Stages::backward::view;

  // (Created by `vjp` only.)
  template <class Tree>
  constexpr pullback_of(Tree& values, kept_sizes<g.extent_count> const& sizes)
      : kept_(kept_value<leaf<K>>(std::get<K>(values), pullback_of::count_with(sizes, leaf<K>::sizes))...),
        sizes_(sizes) {}

  /// The bytes saved.
  constexpr std::int64_t bytes() const noexcept {
    return (std::int64_t{0} + ... + leaf<K>::what.bytes(count(leaf<K>::sizes)));
  }

  /// The gradients for a cotangent of the value: a tree like the value, with `ct::absent` for absent ones.
  template <class Cotangent> COTANGENT_CHECKED_CALL gradients operator()(Cotangent const& dy) const {
    if constexpr (!are_cotangents<expressions, Cotangent>()) {
      refusals::pulled_of_kind::report<Cotangent>();
      leaf_results make{table.results, sizes_.get()};
      return build_tree<gradients>(make);
    } else if constexpr (has_strided<Cotangent>) return pull_strided(dy);
    else {
      collected from(*this);
      visit_leaves(dy, from);
      return pull(from);
    }
  }
  /// The gradients for the cotangent 1, which requires that all results are scalars.
  COTANGENT_CHECKED_CALL gradients operator()() const {
    if constexpr (!all_are_numbers<expressions>()) {
      refusals::pulled_of_kind::report<gradients>();
      leaf_results make{table.results, sizes_.get()};
      return build_tree<gradients>(make);
    } else {
      collected from(*this);
      for (int k = 0; k < cotangent_count; ++k) {
        from.present[k] = true;
        from.elements[k] = with_element(table.types[k], [](auto t) { return elements_in(&one<decltype(t)>); });
        from.at[k] = one_at(table.types[k]);
      }
      return pull(from);
    }
  }

private:
  template <class Cotangent> gradients pull_strided(Cotangent const& dy) const {
    strided_bytes bytes;
    visit_leaves(dy, bytes);
    growing_memory copies; // (the pullback takes the thread's)
    collected from(*this);
    from.room = static_cast<char*>(copies.at_least(bytes.sum));
    if (from.room == nullptr && bytes.sum != 0) report(status::out_of_memory);
    visit_leaves(dy, from);
    return pull(from);
  }

  /// Visits a number of this floating element type.
  template <class Visit> static constexpr auto with_element(element type, Visit visit) {
    switch (type) {
    case element::float16: return visit(float16());
    case element::bfloat16: return visit(bfloat16());
    case element::float32: return visit(float());
    default: return visit(double());
    }
  }
  template <class T> static constexpr T one = static_cast<T>(1.f);
  /// The address of the number 1. (A separate function: without exceptions calls are consteval.)
  static constexpr void const* one_at(element type) {
    if (std::is_constant_evaluated()) return nullptr;
    return with_element(type, [](auto t) { return static_cast<void const*>(&one<decltype(t)>); });
  }

  static constexpr std::int64_t count_with(kept_sizes<g.extent_count> const& sizes, dimensions const& d) {
    std::int64_t n = 1;
    for (int a = 0; a < d.rank; ++a) n *= d.size[a] >= 0 ? d.size[a] : sizes.get()[-1 - d.size[a]];
    return n;
  }
  static constexpr void report(int output, int axis, std::int64_t given, std::int64_t wanted) {
    if constexpr (requires { Stages::takes_tangents; }) {
      message text("cotangent: linearize: the size ");
      text.put(given).put(" of axis ").put(axis).put(" of tangent ").put(output);
      return raise_if_offered<shape_error>(text.put(" must equal the argument's, which is ").put(wanted));
    }
    message text("cotangent: vjp: the size ");
    text.put(given).put(" of axis ").put(axis).put(" of the cotangent of output ").put(output);
    raise_if_offered<shape_error>(text.put(" must equal the output's, which is ").put(wanted));
  }
  static void report(status s) {
    message text("cotangent: vjp: ");
    raise_status(s, put_status<typename Stages::backward>(text, s));
  }

  constexpr gradients pull(collected const& from) const {
    leaf_results make{table.results, sizes_.get()};
    gradients r = build_tree<gradients>(make);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wc++23-extensions" // (as in `program_of::call`)
    if consteval {
      evaluate_now(from, r);
    } else {
      run_now(from, r);
    }
#pragma GCC diagnostic pop
    return r;
  }

  constexpr void evaluate_now(collected const& from, gradients& r) const {
    std::tuple<array<typename leaf<K>::element_type>...> wide;
    elements_in in[saved_count + cotangent_count + 1]{};
    ((in[K] = elements_of<K>(std::get<K>(wide))), ...);
    int most = 1;
    for (int k = 0; k < cotangent_count; ++k)
      if (int const n = static_cast<int>(count(table.cotangents[k])); n > most) most = n;
    std::tuple<array<float>, array<double>, array<float16>, array<bfloat16>> zeros;
    for (int k = 0; k < cotangent_count; ++k)
      in[saved_count + k] = from.present[k] ? from.elements[k] : with_element(table.types[k], [&](auto t) {
        auto& of_type = std::get<array<decltype(t)>>(zeros);
        of_type.resize(most);
        return elements_in(static_cast<array<decltype(t)> const&>(of_type).data());
      });
    elements_out out[g.output_count() + 1]{};
    if constexpr (has_strided<gradients>) a_constant_evaluation_needs_memory_without_strides();
    leaf_elements_out note{out};
    visit_leaves(r, note);
    evaluated const e = evaluate(g, sizes_.get(), in, out);
    if (e.state == status::singular_matrix) a_constant_evaluation_found_a_singular_matrix();
    else if (!e.ok()) a_constant_evaluation_found_an_index_out_of_range();
  }
  static void a_constant_evaluation_found_an_index_out_of_range() {}
  static void a_constant_evaluation_found_a_singular_matrix() {}
  static void a_constant_evaluation_needs_memory_without_strides() {}
  template <std::size_t J>
  constexpr elements_in elements_of([[maybe_unused]] array<typename leaf<J>::element_type>& wide) const {
    if constexpr (leaf<J>::is_narrow) {
      std::int64_t const n = count(leaf<J>::sizes);
      wide.resize(static_cast<int>(n) + 1);
      take_narrow(std::get<J>(kept_).of.data(), n, leaf<J>::what.bits, wide.data());
      return elements_in(static_cast<array<typename leaf<J>::element_type> const&>(wide).data());
    } else return elements_in(data_of_leaf(std::get<J>(kept_).of));
  }

  static constexpr std::size_t lines(std::int64_t bytes) noexcept {
    return static_cast<std::size_t>(detail::whole_lines(bytes));
  }
  template <std::size_t J> constexpr std::size_t wide_bytes() const noexcept {
    using element = typename leaf<J>::element_type;
    return leaf<J>::is_narrow ? lines(count(leaf<J>::sizes) * static_cast<std::int64_t>(sizeof(element))) : 0;
  }
  template <std::size_t J> void const* place_of([[maybe_unused]] unsigned char*& free) const noexcept {
    if constexpr (leaf<J>::is_narrow) {
      using element = typename leaf<J>::element_type;
      auto* const wide = reinterpret_cast<element*>(free);
      take_narrow(std::get<J>(kept_).of.data(), count(leaf<J>::sizes), leaf<J>::what.bits, wide);
      free += wide_bytes<J>();
      return wide;
    } else return data_of_leaf(std::get<J>(kept_).of);
  }

  status run_with([[maybe_unused]] call_workspace& of_call, void* workspace, void const* const* inputs, void* const* outputs) const {
    if constexpr (executor::grows) return run_on_tape<executor>(of_call.get(), workspace, inputs, outputs, sizes_.get());
    else return executor::run(workspace, inputs, outputs, sizes_.get());
  }
  /// True if value J was moved from.
  template <std::size_t J> bool is_gone() const noexcept {
    if (count(leaf<J>::sizes) == 0) return false;
    if constexpr (leaf<J>::is_narrow) return std::get<J>(kept_).of.data() == nullptr;
    else return data_of_leaf(std::get<J>(kept_).of) == nullptr;
  }
  void run_now(collected const& from, gradients& r) const {
    if ((false || ... || is_gone<K>())) report(status::null_argument);
    std::size_t const workspace =
        executor::is_static ? executor::workspace_bytes : executor::workspace_for(sizes_.get());
    strided_bytes copies; // of gradients that have strides
    if constexpr (has_strided<gradients>) visit_leaves(r, copies);
    std::size_t zeros = 0;
    for (int k = 0; k < cotangent_count; ++k)
      if (std::size_t const n =
              lines(count(table.cotangents[k]) * static_cast<std::int64_t>(size_of(table.types[k])));
          !from.present[k] && n > zeros)
        zeros = n;
    std::size_t const needed =
        lines(static_cast<std::int64_t>(workspace)) + zeros + (copies.sum + ... + wide_bytes<K>());
    constexpr std::size_t on_stack = 4096;
    alignas(64) unsigned char small[on_stack];
    call_workspace of_call;
    auto* const first = needed <= on_stack ? small : static_cast<unsigned char*>(of_call.at_least(needed));
    unsigned char* free = first + lines(static_cast<std::int64_t>(workspace));
    unsigned char* const zero = free;
    for (std::size_t k = 0; k < zeros; ++k) zero[k] = 0;
    free += zeros;
    void const* inputs[saved_count + cotangent_count + 1]{place_of<K>(free)...};
    for (int k = 0; k < cotangent_count; ++k) inputs[saved_count + k] = from.present[k] ? from.at[k] : zero;
    void* outputs[g.output_count() + 1]{};
    leaf_outputs out{outputs};
    visit_leaves(r, out);
    if constexpr (has_strided<gradients>) {
      staging<0, g.output_count()> const staged(std::tuple<>(), r);
      staged.enter(reinterpret_cast<char*>(free), nullptr, outputs);
      if (status const s = run_with(of_call, first, inputs, outputs); s != status::ok) report(s);
      staged.leave(outputs);
    } else if (status const s = run_with(of_call, first, inputs, outputs); s != status::ok) report(s);
  }
};

template <class Stages>
using pullback = pullback_of<Stages, std::make_index_sequence<static_cast<std::size_t>(Stages::saved.count)>>;

} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent

#endif
