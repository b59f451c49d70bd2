// SPDX-License-Identifier: BSL-1.0
// 100,000 files with graphs, changed by dice so that the checksum fits: each is refused, or holds a sound graph. To be run in
// the variant with sanitizers too.
#include "../archive_cases.hpp"
#include "../archive_mutations.hpp"

#include "catch.hpp"

#include <string>
#include <vector>

namespace {

namespace ct = cotangent;

/// Gathers, slices, joins, integers, a sequence that another loop takes apart.
std::string movement() {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {3, 4});
  auto const i = g.input<std::int32_t>("i", {2});
  auto const rows = ct::gather(x, i);
  auto const joined = ct::concatenate<0>(rows, x(ct::dynamic::between(0, 2)));
  auto const y = ct::sum(ct::softmax(ct::matmul(joined, ct::transpose(joined)), 1), {0}, ct::keep);
  auto const z = ct::for_loop(4, [&](auto k, auto s) { return ct::tanh(s * ct::convert<float>(k)) + s; }, y);
  auto const loss = ct::max(z) + ct::sum(ct::select(x > 0.5f, x, ct::reshape(x, {3, 4}) * 2.f));
  (void)g.gradient({loss}, {x});
  std::vector<std::int32_t> const at{1, 2};
  return ct::archive::bytes_of(g, {{i, at}}, {{"loss", loss}});
}

/// Made by symbols: what was freed, edges by hand, names.
std::string symbols() {
  using ct::dynamic::command;
  ct::dynamic::graph g;
  auto const s = g.symbolic();
  auto const x = s.tensor<double>({2}, "x"), y = s.tensor<double>({2}, "y"), z = s.tensor<double>({2}, "z"),
             gone = s.tensor<double>({3}, "gone");
  auto const a = s.exec(command::of<ct::op::exp>(), {x}, {y}, "a"),
             b = s.exec(command::of<ct::op::sin>(), {x}, {z}, "b");
  s.concat(b, a);
  s.free(gone);
  s.set_flags(a, {.keep = true, .exact = true});
  s.concat(s.exec(ct::dynamic::noop, {}, {}, "wait"), b);
  auto const w = s.tensor<double>({1}), v = s.tensor<double>({1});
  s.exec(command::of<ct::op::exp>(), {s.alias(x, {.shape = {1}})}, {w}); // two aliases: their gradients are joined by a noop
  s.exec(command::of<ct::op::add>(), {w, s.alias(x, {.offset = {1}, .shape = {1}})}, {v});
  (void)s.backward({y, v}, {x}, {z, w});
  return ct::archive::bytes_of(g, {}, {{"y", s.expression<double>(y)}});
}

/// Loops that were moved into others.
std::string recomputed() {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::for_loop(900, [&](auto, auto z) { return ct::sin(z) * z; }, x);
  auto const d = g.gradient({y}, {x}, {}, {.tape = {.limit = 4096}}).front();
  return ct::archive::bytes_of(g, {}, {{"d", d}});
}

} // namespace

TEST_CASE("100,000 mutated files are either refused or read as valid graphs") {
  archive_cases::everything everything;
  std::vector<std::string> const seeds{everything.bytes(), movement(), symbols(), recomputed()};
  for (std::string const& seed : seeds) (void)ct::archive::load_bytes(seed);
  archive_mutations::counts const n = archive_mutations::run(seeds, 100000, 20261121);
  WARN(n.fine << " sound, " << n.refused << " refused");
  INFO(n.other);
  CHECK(n.other.empty());
  CHECK(n.fine + n.refused == 100000);
  CHECK(n.fine > 1000);
  CHECK(n.refused > 50000);
}
