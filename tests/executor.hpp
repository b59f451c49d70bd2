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
  using F = detail::frozen<Make>;
  static_assert(F::value.failed.why == nullptr, "the test's graph is refused");
  static constexpr extend::graph_view view = F::view;
};
template <class Make> struct simple {
  struct made {
    static constexpr detail::built make() { return {detail::simplify(plain<Make>::view), {}}; }
  };
  using F = detail::frozen<made, detail::capacity::of(plain<Make>::view)>;
  static constexpr extend::graph_view view = F::view;
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

inline void put(unsigned char* to, extend::scalar const& s) {
  auto const as = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  switch (s.type) {
  case element::float32: return as(static_cast<float>(s.real));
  case element::float64: return as(s.real);
  case element::int32: return as(static_cast<std::int32_t>(s.integer));
  case element::int64: return as(s.integer);
  case element::boolean: return as(static_cast<unsigned char>(s.integer != 0));
  case element::float16: return as(s.as<float16>());
  case element::bfloat16: return as(s.as<bfloat16>());
  }
}
inline extend::scalar get(unsigned char const* from, element e) {
  auto const as = [&](auto v) {
    std::memcpy(&v, from, sizeof v);
    return extend::scalar::of(v);
  };
  switch (e) {
  case element::float32: return as(float{});
  case element::float64: return as(double{});
  case element::int32: return as(std::int32_t{});
  case element::int64: return as(std::int64_t{});
  case element::boolean: return {e, 0, *from};
  case element::float16: return as(float16{});
  case element::bfloat16: return as(bfloat16{});
  }
  return {};
}
inline bool close(extend::scalar const& a, extend::scalar const& b, double tolerance) {
  if (!is_floating(a.type)) return a.integer == b.integer;
  if (a.real == b.real || (math::is_nan(a.real) && math::is_nan(b.real))) return true;
  return std::fabs(a.real - b.real) <= (a.type == element::float32 ? 1e7 : 1) * tolerance * (1 + std::fabs(b.real));
}

/// A static program, for checks that are compiled once (tests/executor.cpp).
struct executable {
  bool exists = false, is_static = false;
  std::size_t workspace_bytes = 0;
  std::size_t (*workspace_for)(std::int64_t const* known) = nullptr;
  status (*run)(void* workspace, void const* const* inputs, void* const* outputs, std::int64_t const* known) = nullptr;
};
template <class E> executable executable_of() {
  return {true, E::is_static, E::workspace_bytes, [](std::int64_t const* known) -> std::size_t { return E::workspace_for(known); },
          [](void* w, void const* const* in, void* const* out, std::int64_t const* known) -> status { return E::run(w, in, out, known); }};
}
/// A stage as loop nests, and as straight-line code if it is small enough.
struct executables {
  executable nests, straight;
};
template <class Stage> executables executables_of() {
  executables e{executable_of<run::nests<Stage>>(), {}};
  if constexpr (run::executor<Stage>::is_straight) e.straight = executable_of<run::straight<Stage>>();
  return e;
}

using results = std::vector<std::vector<unsigned char>>;

/// Runs in a workspace full of `fill`; the bytes of every result.
results results_of(executable const& e, extend::graph_view const& sized, detail::array<values> const& inputs, std::int64_t const* known,
                   unsigned char fill, std::optional<status> expected = status::ok);
template <class E>
results results_of(extend::graph_view const& sized, detail::array<values> const& inputs, std::int64_t const* known, unsigned char fill,
                   std::optional<status> expected = status::ok) {
  return results_of(executable_of<E>(), sized, inputs, known, fill, expected);
}

/// Compares a program with the reference evaluation of `original`: as loop nests, and as straight-line code.
void compare(executables const& programs, extend::graph_view const& original, detail::array<values> const& inputs, double tolerance = 1e-12,
             std::int64_t const* known = nullptr, std::optional<status> expected = status::ok);
template <class Stage>
void compare(extend::graph_view const& original, detail::array<values> const& inputs, double tolerance = 1e-12,
             std::int64_t const* known = nullptr, std::optional<status> expected = status::ok) {
  compare(executables_of<Stage>(), original, inputs, tolerance, known, expected);
}

/// The same with random inputs between `low` and `high`.
void compare_random(executables const& programs, extend::graph_view const& original, double low, double high, double tolerance,
                    std::optional<status> expected);

/// The simplified graph of `Make`, compared with the original one.
template <class Make> void check(double low = -2, double high = 3, double tolerance = 1e-12, std::optional<status> expected = status::ok) {
  compare_random(executables_of<simple<Make>>(), plain<Make>::view, low, high, tolerance, expected);
}
/// The same without a rewrite.
template <class Make> void check_plain(double low = -2, double high = 3, double tolerance = 1e-12, std::optional<status> expected = status::ok) {
  compare_random(executables_of<plain<Make>>(), plain<Make>::view, low, high, tolerance, expected);
}

/// A graph from its inputs: `Of` is called with the builder and the inputs' terms, and returns its outputs.
struct outputs_of {
  detail::array<extend::symbol> ids;
  constexpr outputs_of(std::initializer_list<term> list) {
    for (term const& t : list) ids.push(t.id);
  }
};
struct argument {
  element type;
  extend::dimensions shape;
};
template <class Of> struct graph_of {
  static constexpr detail::built make() {
    extend::builder b;
    detail::array<term> x;
    detail::array<extend::symbol> in;
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
template <int Seed, bool Gradients, extend::dimension... Sizes> struct random_of {
  static constexpr detail::built make() {
    extend::builder b;
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
void check_seed(int seed, executables const& programs, extend::graph_view const& original);
/// Graphs `Seed...`: every other one with gradients, half of them not simplified.
template <extend::dimension P, extend::dimension Q, extend::dimension R, extend::dimension S, int... Seed> void check_random(std::integer_sequence<int, Seed...>) {
  static_cast<void>(std::initializer_list<int>{([] {
    using Make = random_of<Seed, Seed % 2 == 1, P, Q, R, S>;
    using Stage = std::conditional_t<Seed % 4 == 2, plain<Make>, simple<Make>>;
    check_seed(Seed, executables_of<Stage>(), plain<Make>::view);
  }(), 0)...});
}

/// The values of all extents of a graph where "n" and "m" are given.
std::vector<std::int64_t> known_of(extend::graph_view const& g, std::int64_t n, std::int64_t m);
void check_named(executable const& nests, extend::graph_view const& original, extend::graph_view const& simplified, std::int64_t n, std::int64_t m,
                 double low, double high, double tolerance);
template <class Make> void check_named(std::int64_t n, std::int64_t m, double low = -2, double high = 3, double tolerance = 1e-12) {
  check_named(executable_of<run::nests<simple<Make>>>(), plain<Make>::view, simple<Make>::view, n, m, low, high, tolerance);
}

} // namespace executing

#endif
