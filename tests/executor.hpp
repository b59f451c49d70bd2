// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_EXECUTOR_HPP
#define COTANGENT_TESTS_EXECUTOR_HPP

#include "catch.hpp"
#include "executor_graph.hpp"

#include <cotangent/run/program/executor.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

// Static programs against the plain evaluation: in memory of exactly the size they ask for, between guards, in
// workspaces full of rubbish.

namespace executing {

using namespace cotangent;
using reference::values;

/// The graph that `Make::make()` builds, unchanged and simplified.
template <class Make> struct plain {
  using F = frozen<Make>;
  static_assert(F::value.failed.why == nullptr, "the test's graph is refused");
  static constexpr graph_view view = F::view;
};
template <class Make> struct simple {
  struct made {
    static constexpr built make() { return {simplify(plain<Make>::view), {}}; }
  };
  using F = frozen<made, capacity::of(plain<Make>::view)>;
  static constexpr graph_view view = F::view;
};

/// Bytes between guards, at an address that is a multiple of `alignment` and of no higher power of two.
class guarded {
  static constexpr std::size_t guard = 192;
  std::vector<unsigned char> memory_;
  unsigned char* first_ = nullptr;
  std::size_t bytes_ = 0;

public:
  guarded(std::size_t bytes, std::size_t alignment, unsigned char fill) : memory_(bytes + 2 * guard + 2 * alignment, 0xC3), bytes_(bytes) {
    first_ = memory_.data() + guard;
    while (reinterpret_cast<std::uintptr_t>(first_) % (2 * alignment) != alignment) ++first_;
    std::memset(first_, fill, bytes);
  }
  unsigned char* data() { return first_; }
  std::size_t size() const { return bytes_; }
  bool intact() const {
    for (unsigned char const* p = memory_.data(); p != memory_.data() + memory_.size(); ++p)
      if ((p < first_ || p >= first_ + bytes_) && *p != 0xC3) return false;
    return true;
  }
};

inline void put(unsigned char* to, scalar const& s) {
  auto const as = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  switch (s.type) {
  case element::float32: return as(static_cast<float>(s.real));
  case element::float64: return as(s.real);
  case element::int32: return as(static_cast<std::int32_t>(s.integer));
  case element::int64: return as(s.integer);
  case element::boolean: return as(static_cast<unsigned char>(s.integer != 0));
  }
}
inline scalar get(unsigned char const* from, element e) {
  auto const as = [&](auto v) {
    std::memcpy(&v, from, sizeof v);
    return scalar::of(v);
  };
  switch (e) {
  case element::float32: return as(float{});
  case element::float64: return as(double{});
  case element::int32: return as(std::int32_t{});
  case element::int64: return as(std::int64_t{});
  case element::boolean: return {e, 0, *from};
  }
  return {};
}
inline bool close(scalar const& a, scalar const& b, double tolerance) {
  if (!is_floating(a.type)) return a.integer == b.integer;
  if (a.real == b.real || (math::is_nan(a.real) && math::is_nan(b.real))) return true;
  return std::fabs(a.real - b.real) <= (a.type == element::float32 ? 1e7 : 1) * tolerance * (1 + std::fabs(b.real));
}

/// Runs in a workspace full of `fill`; the bytes of every result.
template <class E>
std::vector<std::vector<unsigned char>> results_of(graph_view const& sized, array<values> const& inputs, std::int64_t const* known,
                                            unsigned char fill, std::optional<status> expected = status::ok) {
  std::size_t const bytes = E::is_static ? E::workspace_bytes : E::workspace_for(known);
  if (E::is_static) CHECK(E::workspace_for(known) == bytes);
  guarded workspace(bytes, 64, fill);
  std::vector<unsigned char*> in; // of exactly their size, so that sanitizers see reads beyond the end
  for (values const& v : inputs) {
    std::size_t const each = v.size() == 0 ? 1 : size_of(v[0].type);
    in.push_back(static_cast<unsigned char*>(std::malloc(each * static_cast<std::size_t>(v.size()) + (v.size() == 0 ? 1 : 0))));
    for (int k = 0; k < v.size(); ++k) put(in.back() + each * static_cast<std::size_t>(k), v[k]);
  }
  std::vector<guarded> out;
  std::vector<void*> results;
  for (int k = 0; k < sized.output_count(); ++k) {
    symbol const y = sized.output(k);
    std::size_t const each = size_of(sized.tensors[y].type);
    out.emplace_back(each * static_cast<std::size_t>(reference::count(sized.shape(y))), each, fill);
  }
  for (guarded& g : out) results.push_back(g.data());
  std::vector<void const*> arguments(in.begin(), in.end());
  arguments.push_back(nullptr);
  results.push_back(nullptr);
  status const s = E::run(workspace.data(), arguments.data(), results.data(), known);
  if (expected) CHECK(s == *expected);
  CHECK(workspace.intact());
  std::vector<std::vector<unsigned char>> r;
  for (guarded& g : out) {
    CHECK(g.intact());
    r.emplace_back(g.data(), g.data() + g.size());
  }
  for (int k = 0; k < inputs.size(); ++k) {
    bool untouched = true;
    for (int i = 0; i < inputs[k].size(); ++i)
      untouched = untouched && close(get(in[static_cast<std::size_t>(k)] + size_of(inputs[k][i].type) * static_cast<std::size_t>(i),
                                         inputs[k][i].type), inputs[k][i], 0);
    CHECK(untouched);
    std::free(in[static_cast<std::size_t>(k)]);
  }
  return r;
}

/// Compares an execution with the plain evaluation of `sized`.
template <class E>
void compare_execution(graph const& sized, array<values> const& inputs, array<values> const& wanted, double tolerance,
                       std::int64_t const* known, std::optional<status> expected) {
  auto const first = results_of<E>(sized, inputs, known, 0xFF, expected);
  auto const second = results_of<E>(sized, inputs, known, 0x5A, expected);
  if (!math::is_fast) CHECK(first == second); // (values that are not finite need not be written then)
  graph_view const g = sized;
  for (auto const* results : {&first, &second})
    for (int k = 0; k < wanted.size(); ++k) {
      element const e = g.tensors[g.output(k)].type;
      auto const is = [&](int i) {
        return get((*results)[static_cast<std::size_t>(k)].data() + size_of(e) * static_cast<std::size_t>(i), e);
      };
      int wrong = 0;
      while (wrong < wanted[k].size() && close(is(wrong), wanted[k][wrong], tolerance)) ++wrong;
      if (wrong == wanted[k].size()) continue;
      INFO("output " << k << " at " << wrong << " is " << is(wrong).real << " " << is(wrong).integer << ", should be "
                     << wanted[k][wrong].real << " " << wanted[k][wrong].integer);
      CHECK(wrong == wanted[k].size());
    }
}

/// Compares the program of a graph with the reference evaluation of `original`: always as loop nests, and as straight-line
/// code if it is small enough.
template <class Stage>
void compare(graph_view const& original, array<values> const& inputs, double tolerance = 1e-12,
             std::int64_t const* known = nullptr, std::optional<status> expected = status::ok) {
  graph const sized = known == nullptr ? builder(original).get() : reference::concrete(original, known);
  array<values> const wanted = reference::evaluate(sized, inputs);
  {
    INFO("as loop nests");
    compare_execution<run::nests<Stage>>(sized, inputs, wanted, tolerance, known, expected);
  }
  if constexpr (run::executor<Stage>::is_straight) {
    INFO("as straight code");
    compare_execution<run::straight<Stage>>(sized, inputs, wanted, tolerance, known, expected);
  }
}

/// The simplified graph of `Make`, compared with the original one.
template <class Make> void check(double low = -2, double high = 3, double tolerance = 1e-12, std::optional<status> expected = status::ok) {
  reference::dice d(7);
  compare<simple<Make>>(plain<Make>::view, reference::inputs_of(plain<Make>::view, d, low, high), tolerance, nullptr, expected);
}
/// The same without a rewrite.
template <class Make> void check_plain(double low = -2, double high = 3, double tolerance = 1e-12, std::optional<status> expected = status::ok) {
  reference::dice d(7);
  compare<plain<Make>>(plain<Make>::view, reference::inputs_of(plain<Make>::view, d, low, high), tolerance, nullptr, expected);
}

/// A graph from its inputs: `Of` is called with the builder and the inputs' terms, and returns its outputs.
struct outputs_of {
  array<symbol> ids;
  constexpr outputs_of(std::initializer_list<term> list) {
    for (term const& t : list) ids.push(t.id);
  }
};
struct argument {
  element type;
  dimensions shape;
};
template <class Of> struct graph_of {
  static constexpr built make() {
    builder b;
    array<term> x;
    array<symbol> in;
    for (argument const& a : Of::arguments(b)) {
      in.push(b.symbol_of(a.type, b.shape(a.shape)));
      x.push({&b, in.back()});
    }
    b.set_inputs(in.data(), in.size());
    outputs_of const out = Of::of(b, x.data());
    b.set_outputs(out.ids.data(), out.ids.size());
    return {b.get(), b.failed()};
  }
};

/// Random graph number `Seed` over axes of these sizes.
template <int Seed, bool Gradients, dimension... Sizes> struct random_of {
  static constexpr built make() {
    builder b;
    if constexpr (((Sizes < 0) || ...)) {
      (void)b.size(extent::named("n", 1));
      (void)b.size(extent::named("m", 1));
    }
    reference::dice d(Seed);
    reference::graph_options o;
    o.nodes = 10 + Seed % 9;
    o.gradients = Gradients;
    o.most = 4000;
    o.mixed = Seed % 3 != 0;
    int k = 0;
    static_cast<void>(std::initializer_list<int>{(o.sizes[k++] = Sizes, 0)...});
    reference::planned_graph made(b, d, o);
    return {b.get(), b.failed()};
  }
};
/// Graphs `Seed...`: every other one with gradients, half of them not simplified.
template <dimension P, dimension Q, dimension R, dimension S, int... Seed> void check_random(std::integer_sequence<int, Seed...>) {
  static_cast<void>(std::initializer_list<int>{([] {
    CAPTURE(Seed);
    using Make = random_of<Seed, Seed % 2 == 1, P, Q, R, S>;
    reference::dice d(7);
    array<values> const in = reference::inputs_of(plain<Make>::view, d, -2, 3);
    using Stage = std::conditional_t<Seed % 4 == 2, plain<Make>, simple<Make>>;
    compare<Stage>(plain<Make>::view, in, 1e-11, nullptr, std::nullopt);
  }(), 0)...});
}

/// The values of all extents of a graph where "n" and "m" are given.
inline std::vector<std::int64_t> known_of(graph_view const& g, std::int64_t n, std::int64_t m) {
  std::vector<std::int64_t> known;
  for (int k = 0; k < g.extent_count; ++k)
    known.push_back(evaluate(g.extents[k], [&](char const* name, int) { return *name == 'n' ? n : m; }));
  known.push_back(0);
  return known;
}
template <class Make> void check_named(std::int64_t n, std::int64_t m, double low = -2, double high = 3, double tolerance = 1e-12) {
  CAPTURE(n, m);
  std::vector<std::int64_t> const known = known_of(plain<Make>::view, n, m), later = known_of(simple<Make>::view, n, m);
  graph const sized = reference::concrete(plain<Make>::view, known.data());
  reference::dice d(7);
  array<values> const in = reference::inputs_of(sized, d, low, high);
  auto const first = results_of<run::nests<simple<Make>>>(sized, in, later.data(), 0xFF, std::nullopt);
  CHECK(first == results_of<run::nests<simple<Make>>>(sized, in, later.data(), 0x00, std::nullopt));
  array<values> const wanted = reference::evaluate(sized, in);
  for (int k = 0; k < wanted.size(); ++k)
    for (int i = 0; i < wanted[k].size(); ++i) {
      element const e = wanted[k][i].type;
      scalar const is = get(first[static_cast<std::size_t>(k)].data() + size_of(e) * static_cast<std::size_t>(i), e);
      if (close(is, wanted[k][i], tolerance)) continue;
      INFO("output " << k << " at " << i << " is " << is.real << " " << is.integer << ", should be " << wanted[k][i].real << " "
                     << wanted[k][i].integer);
      FAIL_CHECK("a wrong value");
      break;
    }
}

} // namespace executing

#endif
