// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/run/reference/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

// A label that chooses no position is reported by every execution, wherever it stands.

namespace ct = cotangent;

namespace {
inline constexpr auto loss = [](auto z, auto labels) { return ct::sum(ct::cross_entropy(z, labels)); };
inline constexpr auto reshaped = [](auto z, auto labels) {
  return ct::sum(ct::cross_entropy(ct::reshape<"n", 5>(z), ct::reshape<"n">(labels)));
};

struct workspace_bytes {
  std::vector<unsigned char> memory;
  unsigned char* first;
  explicit workspace_bytes(std::size_t bytes) : memory(bytes + 64), first(memory.data()) {
    while (reinterpret_cast<std::uintptr_t>(first) % 64 != 0) ++first;
  }
};

template <class T, class Z, class L, auto const& Loss> void check_every_place(Z const& like, L const& like_labels, std::int64_t n) {
  Z z = like, dz = like;
  L labels = like_labels;
  using P = ct::program<decltype(ct::value_and_grad(Loss)), Z, L>;
  z.fill(0.5f);
  labels.fill(0);
  float value = 0;
  workspace_bytes own(P::workspace_for(z, labels));
  std::int64_t sizes[8]{};
  for (int k = 0; k < P::graph.extent_count; ++k) sizes[k] = P::graph.extents[k] == ct::extent("n") ? n : 5;
  ct::interpreter const p(P::graph, sizes);
  REQUIRE(p.failed().why == nullptr);
  workspace_bytes interpreters(static_cast<std::size_t>(p.workspace_bytes()));
  void const* const in[]{z.data(), labels.data()};
  void* const out[]{&value, dz.data()};
  ct::detail::elements_in const typed_in[]{ct::detail::elements_in(static_cast<float const*>(z.data())),
                                   ct::detail::elements_in(static_cast<T const*>(labels.data()))};
  ct::detail::elements_out const typed_out[]{ct::detail::elements_out(&value), ct::detail::elements_out(dz.data())};
  for (std::int64_t at = -1; at < n; ++at) // -1: nowhere
    for (T const bad : {T(5), T(-1), T(0x7fffffff)}) {
      CAPTURE(n, at, bad);
      for (std::int64_t k = 0; k < n; ++k) labels.data()[k] = k == at ? bad : static_cast<T>(k % 5);
      ct::status const expected = at < 0 ? ct::status::ok : ct::status::index_out_of_range;
      CHECK(P::run(static_cast<void*>(own.first), std::tie(z, labels), std::tie(value, dz)) == expected);
      CHECK(p.run(in, out, interpreters.first) == expected);
      CHECK(ct::detail::evaluate(P::graph, sizes, typed_in, typed_out).state == expected);
    }
}
} // namespace

TEST_CASE("a label out of range is reported, at every position") {
  for (std::int64_t const n : {0, 1, 2, 7, 17, 64}) {
    using named = ct::tensor<float, "n", "k">;
    check_every_place<std::int32_t, named, ct::tensor<std::int32_t, "n">, loss>(named(n, 5), ct::tensor<std::int32_t, "n">(n), n);
  }
}
TEST_CASE("labels of 64 bits, in small programs, and of another shape are checked") {
  check_every_place<std::int64_t, ct::tensor<float, 3, 5>, ct::tensor<std::int64_t, 3>, loss>({}, {}, 3);
  using rows = ct::tensor<float, "n", 1, 5>;
  using column = ct::tensor<std::int64_t, 1, "n">;
  check_every_place<std::int64_t, rows, column, reshaped>(rows(9), column(9), 9);
}
TEST_CASE("labels of a function that is only differentiated are checked") {
  using P = ct::program<decltype(ct::grad(loss)), ct::tensor<float, 2, 3>, ct::tensor<int, 2>>;
  ct::tensor<float, 2, 3> z, dz;
  ct::tensor<int, 2> labels{1, 3};
  P::workspace memory;
  CHECK(P::run(memory, std::tie(z, labels), dz) == ct::status::index_out_of_range);
  labels(1) = 2;
  CHECK(P::run(memory, std::tie(z, labels), dz) == ct::status::ok);
}
