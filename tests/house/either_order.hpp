// SPDX-License-Identifier: BSL-1.0
// Functions of headers that dynamic.hpp extends to run-time graphs. Both units that include this file have included all of
// these headers, one after dynamic.hpp, one before.
#include <sstream>
#include <vector>

static bool extended_to_graphs() {
  namespace ct = cotangent;
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {4});
  auto key = g.constant(std::int64_t{3});
  auto const halves = ct::split(ct::gelu(x), 2, 0);
  auto const noise = ct::dropout(ct::random_normal<double>(key, {2}), 0.5, key);
  auto const pooled = ct::max_pool2d(ct::reshape(x, {2, 2, 1}), {.window = 2});
  auto const lengths = ct::vmap([](auto r) { return ct::sum(r * r); })(ct::reshape(x, {2, 2}));
  auto const y = ct::sum(halves[0] * halves[1] + noise) + ct::sum(pooled) + ct::sum(lengths);
  std::ostringstream picture;
  ct::dot(picture, g, {{"y", y}});
#if __has_include(<nlohmann/json.hpp>)
  if (ct::archive::bytes_of(g, {}, {{"y", y}}).empty()) return false;
#endif
  auto p = g.compile({y});
  p.bind(x, std::vector<double>{1, 2, 3, 4});
  p.run();
  return !picture.str().empty() && ct::memory_profile(p).bytes > 0 && p.value(y) != 0;
}
