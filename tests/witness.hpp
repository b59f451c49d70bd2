// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_WITNESS_HPP
#define COTANGENT_TESTS_WITNESS_HPP

#include "executor.hpp"
#include "functions.hpp"

#include <cotangent/transform/batch/batch.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// A list of functions (tests/functions.hpp) and its witnesses: the formula with its derivative, central differences,
// forward against reverse mode, the symmetry of second derivatives; and of its executions (static program, interpreter,
// constant evaluation) each against the others.

namespace witness {

using namespace cotangent;
using formula::dual;
using formula::grid;
using reference::values;

enum class domain { real, positive, position };

/// An argument of a group, and which numbers it holds.
template <class Expression, domain Domain = domain::real> struct drawn {
  using type = Expression;
  static constexpr domain numbers = Domain;
};

/// What the checks know of a function and its group: nothing is compiled for each of them that need not be.
struct subject {
  char const* name;
  bool smooth;
  int output;
  dual (*of_numbers)(dual const*); // one of these two
  grid (*of_arrays)(grid const*);
};
struct group_view {
  extend::graph_view traced;
  std::vector<domain> domains; // by argument
  std::vector<subject> subjects;
};

/// All functions of `Table` on these arguments, traced as one graph: outputs in the order of the table. `Pointwise`: the
/// formulas are of numbers, not of arrays.
template <auto const& Table, bool Pointwise, class... Argument> struct group {
  static constexpr int functions = std::tuple_size_v<std::remove_cvref_t<decltype(Table)>>;

  template <class X> static constexpr X input(extend::builder& b, detail::array<extend::symbol>& ids) {
    extend::dimensions d;
    for (int k = 0; k < X::rank; ++k) d.size[d.rank++] = b.size(X::extents[k]);
    ids.push(b.symbol_of(X::type, b.shape(d)));
    return X(b, ids.back());
  }
  static constexpr detail::built make() {
    extend::builder b;
    detail::array<extend::symbol> in, out;
    std::tuple<typename Argument::type...> const x{input<typename Argument::type>(b, in)...};
    b.set_inputs(in.data(), in.size());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_cast<void>(
          std::initializer_list<int>{(out.push(std::apply(std::get<I>(Table).traced, x).attach(b)), 0)...});
    }(std::make_index_sequence<functions>());
    b.set_outputs(out.data(), out.size());
    return {b.get(), b.failed()};
  }
  using traced = detail::frozen<group, detail::capacity{1024, 1024, 4096, 1024, 128, 32, 1, 64}>;
  static_assert(traced::value.failed.why == nullptr);

  template <int E> static subject subject_of() {
    constexpr auto const& f = std::get<E>(Table);
    subject s{f.name, f.smooth, E, nullptr, nullptr};
    if constexpr (Pointwise)
      s.of_numbers = [](dual const* x) {
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
          return std::get<E>(Table).formula(x[K]...);
        }(std::index_sequence_for<Argument...>{});
      };
    else
      s.of_arrays = [](grid const* x) {
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
          return std::get<E>(Table).formula(x[K]...);
        }(std::index_sequence_for<Argument...>{});
      };
    return s;
  }
  static group_view view() {
    return [&]<std::size_t... E>(std::index_sequence<E...>) {
      return group_view{traced::view, {Argument::numbers...}, {subject_of<static_cast<int>(E)>()...}};
    }(std::make_index_sequence<static_cast<std::size_t>(functions)>{});
  }
};

// ---- what a list is differentiated to

/// Appends the products with the Jacobian. Inputs: x, then for each floating x a tangent v, then for each shape of
/// floating outputs a cotangent w. Outputs: y; for those that depend on an x along v; for each floating x J' w, summed over
/// the outputs.
struct differentiated {
  extend::builder b;
  detail::array<extend::symbol> x, v, w, seed_of; // seed_of: by output, none where it has no derivative
  detail::array<extend::symbol> y, dy;            // dy: by output, none where it is zero
  detail::array<extend::symbol> dx;               // by floating x

  constexpr differentiated(extend::graph_view const& g, detail::array<extend::symbol> const& outputs) : b(g), y(outputs) {
    detail::array<extend::symbol> in;
    for (int k = 0; k < g.input_count(); ++k) {
      in.push(g.input(k));
      if (is_floating(g.tensors[g.input(k)].type)) x.push(g.input(k));
    }
    for (extend::symbol const s : x) in.push(v.push(b.symbol_of(b.tensor(s).type, b.tensor(s).shape)) >= 0 ? v.back() : extend::none);
    detail::array<extend::symbol> seeded, seeds;
    for (extend::symbol const s : y) {
      seed_of.push(extend::none);
      if (!is_floating(b.tensor(s).type)) continue;
      for (extend::symbol const have : w)
        if (b.tensor(have).shape == b.tensor(s).shape && b.tensor(have).type == b.tensor(s).type) seed_of.back() = have;
      if (seed_of.back() == extend::none) {
        seed_of.back() = b.symbol_of(b.tensor(s).type, b.tensor(s).shape);
        w.push(seed_of.back());
        in.push(seed_of.back());
      }
      seeded.push(s);
      seeds.push(seed_of.back());
    }
    b.set_inputs(in.data(), in.size());
    dy.assign(y.size(), extend::none);
    if (seeded.size() > 0) {
      detail::array<extend::symbol> moved(seeded.size(), extend::none);
      detail::tangents(b, x.data(), v.data(), x.size(), seeded.data(), seeded.size(), moved.data());
      for (int k = 0, j = 0; k < y.size(); ++k)
        if (seed_of[k] != extend::none) dy[k] = moved[j++];
      dx.assign(x.size(), extend::none);
      detail::gradient(b, {seeded.data(), seeds.data(), seeded.size(), x.data(), x.size()}, dx.data());
    }
    detail::array<extend::symbol> out = y;
    for (extend::symbol const s : dy)
      if (s != extend::none) out.push(s);
    for (extend::symbol const s : dx) out.push(s);
    b.set_outputs(out.data(), out.size());
  }
};

constexpr detail::array<extend::symbol> outputs_of(extend::graph_view const& g) {
  detail::array<extend::symbol> r;
  for (int k = 0; k < g.output_count(); ++k) r.push(g.output(k));
  return r;
}

/// What the interpreter, and what a constant evaluation gives. `known`: the values of named extents.
detail::array<values> interpreted(extend::graph_view const& g, std::int64_t const* known, detail::array<values> const& arguments);
detail::array<values> evaluated(extend::graph_view const& g, std::int64_t const* known, detail::array<values> const& arguments);
/// Two executions of one graph: bit by bit where no sum is reordered.
void check_same(char const* what, extend::graph_view const& g, detail::array<values> const& a, detail::array<values> const& b);

/// Every operation of a list that has a derivative is in one of the groups, or in the derivatives of its functions.
void check_covered(std::initializer_list<operation const*> list, std::span<group_view const> groups);
template <class... Ops> void check_covered(operations<Ops...>, std::span<group_view const> groups) {
  check_covered({info_of<Ops>()...}, groups);
}
template <class... Ops> void check_covered(operations<Ops...> list, std::initializer_list<group_view> groups) {
  check_covered(list, std::span(groups.begin(), groups.size()));
}

/// Every function of a group at these sizes of "n" and "m", by every witness that needs no compiler.
void check_functions(group_view const& g, std::int64_t n, std::int64_t m = 1);

/// All functions of a group with their derivatives, batched over three rows, against each row alone: with rows of all
/// arguments, and of some.
void check_rows(group_view const& g, std::int64_t n, std::int64_t m = 1);

// ---- the static program

/// All of a group, differentiated at once.
template <class Group> struct all_of {
  static constexpr detail::built make() {
    differentiated d(Group::traced::view, outputs_of(Group::traced::view));
    return {d.b.get(), d.b.failed()};
  }
  using made = detail::frozen<all_of, detail::capacity::of(Group::traced::view).grown(8)>;
  struct rewritten {
    static constexpr detail::built make() { return {simplify(made::view), {}}; }
  };
  using F = detail::frozen<rewritten, detail::capacity::of(made::view)>;
  static constexpr extend::graph_view view = F::view;
};

using static_run = std::vector<std::vector<unsigned char>> (*)(extend::graph_view const&, detail::array<values> const&,
                                                                std::int64_t const*, unsigned char,
                                                                std::optional<status>);
void check_program_of(group_view const&, extend::graph_view const& view, std::int64_t n, std::int64_t m, static_run run);

/// The static program of a group against the interpreter and a constant evaluation of the same graph, and against the
/// graph as it was traced (which `check_functions` holds against the formulas).
template <class Group> void check_program(std::int64_t n, std::int64_t m = 1) {
  using stage = all_of<Group>;
  check_program_of(Group::view(), stage::view, n, m, &executing::results_of<run::nests<stage>>);
  if constexpr (run::executor<stage>::is_straight)
    check_program_of(Group::view(), stage::view, n, m, &executing::results_of<run::straight<stage>>);
}

} // namespace witness

#endif
