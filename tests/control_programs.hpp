// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_CONTROL_PROGRAMS_HPP
#define COTANGENT_TESTS_CONTROL_PROGRAMS_HPP

#include "control_cases.hpp"
#include "executor.hpp"
#include "random_nest.hpp"

#include <cotangent/trace/program/stages.hpp>

// Loops and branches of static programs against the reference evaluation.

namespace control_programs {

using namespace cotangent;

inline constexpr double place[4]{.3, -.7, .9, .2};
template <std::uint64_t Seed, int Depth, int Orders, bool Bounds> struct drawn {
  static constexpr detail::built make() {
    reference::nest<reference::nest_in_graph> const n(Seed, Depth, 1, element::float64, place, Orders, {}, reference::few_codes, 0, Bounds);
    return {n.b.get(), n.b.failed()};
  }
};

/// Compares the program of a graph whose inputs and outputs are doubles with the reference evaluation, twice, in memory full
/// of different bytes.
template <class Stage> void compare_doubles(double const* at) {
  using program = run::executor<Stage>;
  constexpr extend::graph_view g = Stage::view;
  static_assert(program::is_static);
  double wanted[64]{}, found[64]{};
  void const* inputs[16]{};
  double const* in[16]{};
  void* outputs[64]{};
  double* out[64]{};
  int count = 0;
  for (int k = 0; k < g.input_count(); ++k) {
    inputs[k] = in[k] = at + count;
    count += detail::elements_of(g, g.input(k));
  }
  count = 0;
  for (int k = 0; k < g.output_count(); ++k) {
    outputs[k] = found + count;
    out[k] = wanted + count;
    count += detail::elements_of(g, g.output(k));
  }
  REQUIRE(count <= 64);
  REQUIRE(detail::evaluate(g, in, out).ok());
  for (int const byte : {0xFF, 0x5A}) {
    auto const fill = static_cast<unsigned char>(byte);
    executing::guarded workspace(program::workspace_bytes, 64, fill);
    std::memset(found, fill, sizeof found);
    detail::tape_stack tape;
    if constexpr (program::grows) CHECK(program::run(workspace.data(), inputs, outputs, nullptr, &tape) == status::ok);
    else CHECK(program::run(workspace.data(), inputs, outputs, nullptr) == status::ok);
    CHECK(workspace.intact());
    for (int k = 0; k < count; ++k) {
      CAPTURE(k, found[k], wanted[k]);
      CHECK(std::fabs(found[k] - wanted[k]) <= 1e-11 * (1 + std::fabs(wanted[k])));
    }
  }
}

template <class Make> using programmed = detail::pipelined<detail::frozen<Make>, true>;

/// `Bounds`: the conditions of loops bound their iterations; otherwise loops record on a tape.
template <std::uint64_t Seed, int Depth, int Orders, bool Bounds = true> void check_nest() {
  using stage = programmed<drawn<Seed, Depth, Orders, Bounds>>;
  CAPTURE(Seed, Depth, Orders);
  CHECK(run::executor<stage>::grows == !Bounds);
  compare_doubles<stage>(place);
}
template <int Depth, int Orders, std::uint64_t... Seed> void check_nests(std::integer_sequence<std::uint64_t, Seed...>) {
  (check_nest<Seed, Depth, Orders>(), ...);
}

} // namespace control_programs

#endif
