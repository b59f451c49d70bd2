// SPDX-License-Identifier: BSL-1.0
// The half of tests/executor.hpp that is compiled once.
#include "executor.hpp"

namespace executing {

results results_of(executable const& e, extend::graph_view const& sized, detail::array<values> const& inputs, std::int64_t const* known,
                   unsigned char fill, std::optional<status> expected) {
  std::size_t const bytes = e.is_static ? e.workspace_bytes : e.workspace_for(known);
  if (e.is_static) CHECK(e.workspace_for(known) == bytes);
  guarded workspace(bytes, 64, fill);
  std::vector<unsigned char*> in; // of exactly their size, so that sanitizers see reads beyond the end
  for (values const& v : inputs) {
    std::size_t const each = v.size() == 0 ? 1 : size_of(v[0].type);
    in.push_back(static_cast<unsigned char*>(std::malloc(each * static_cast<std::size_t>(v.size()) + (v.size() == 0 ? 1 : 0))));
    for (int k = 0; k < v.size(); ++k) put(in.back() + each * static_cast<std::size_t>(k), v[k]);
  }
  std::vector<guarded> out;
  std::vector<void*> to;
  for (int k = 0; k < sized.output_count(); ++k) {
    extend::symbol const y = sized.output(k);
    std::size_t const each = size_of(sized.tensors[y].type);
    out.emplace_back(each * static_cast<std::size_t>(reference::count(sized.shape(y))), each, fill);
  }
  for (guarded& g : out) to.push_back(g.data());
  std::vector<void const*> arguments(in.begin(), in.end());
  arguments.push_back(nullptr);
  to.push_back(nullptr);
  status const s = e.run(workspace.data(), arguments.data(), to.data(), known);
  if (expected) CHECK(s == *expected);
  CHECK(workspace.intact());
  results r;
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

namespace {
/// Compares an execution with the plain evaluation of `sized`.
void compare_execution(executable const& e, graph const& sized, detail::array<values> const& inputs, detail::array<values> const& wanted, double tolerance,
                       std::int64_t const* known, std::optional<status> expected) {
  auto const first = results_of(e, sized, inputs, known, 0xFF, expected);
  auto const second = results_of(e, sized, inputs, known, 0x5A, expected);
  if (!math::is_fast) CHECK(first == second); // (values that are not finite need not be written then)
  extend::graph_view const g = sized;
  for (auto const* bytes : {&first, &second})
    for (int k = 0; k < wanted.size(); ++k) {
      element const type = g.tensors[g.output(k)].type;
      auto const is = [&](int i) {
        return get((*bytes)[static_cast<std::size_t>(k)].data() + size_of(type) * static_cast<std::size_t>(i), type);
      };
      int wrong = 0;
      while (wrong < wanted[k].size() && close(is(wrong), wanted[k][wrong], tolerance)) ++wrong;
      if (wrong == wanted[k].size()) continue;
      INFO("output " << k << " at " << wrong << " is " << is(wrong).real << " " << is(wrong).integer << ", should be "
                     << wanted[k][wrong].real << " " << wanted[k][wrong].integer);
      CHECK(wrong == wanted[k].size());
    }
}

} // namespace

void compare(executables const& programs, extend::graph_view const& original, detail::array<values> const& inputs, double tolerance,
             std::int64_t const* known, std::optional<status> expected) {
  graph const sized = known == nullptr ? extend::builder(original).get() : reference::concrete(original, known);
  detail::array<values> const wanted = reference::evaluate(sized, inputs);
  {
    INFO("as loop nests");
    compare_execution(programs.nests, sized, inputs, wanted, tolerance, known, expected);
  }
  if (programs.straight.exists) {
    INFO("as straight code");
    compare_execution(programs.straight, sized, inputs, wanted, tolerance, known, expected);
  }
}

void compare_random(executables const& programs, extend::graph_view const& original, double low, double high, double tolerance,
                    std::optional<status> expected) {
  reference::dice d(7);
  compare(programs, original, reference::inputs_of(original, d, low, high), tolerance, nullptr, expected);
}

void check_seed(int seed, executables const& programs, extend::graph_view const& original) {
  CAPTURE(seed);
  reference::dice d(7);
  compare(programs, original, reference::inputs_of(original, d, -2, 3), 1e-11, nullptr, std::nullopt);
}

std::vector<std::int64_t> known_of(extend::graph_view const& g, std::int64_t n, std::int64_t m) {
  std::vector<std::int64_t> known;
  for (int k = 0; k < g.extent_count; ++k)
    known.push_back(detail::evaluate(g.extents[k], [&](char const* name, int) { return *name == 'n' ? n : m; }));
  known.push_back(0);
  return known;
}
void check_named(executable const& nests, extend::graph_view const& original, extend::graph_view const& simplified, std::int64_t n, std::int64_t m,
                 double low, double high, double tolerance) {
  CAPTURE(n, m);
  std::vector<std::int64_t> const known = known_of(original, n, m), later = known_of(simplified, n, m);
  graph const sized = reference::concrete(original, known.data());
  reference::dice d(7);
  detail::array<values> const in = reference::inputs_of(sized, d, low, high);
  auto const first = results_of(nests, sized, in, later.data(), 0xFF, std::nullopt);
  CHECK(first == results_of(nests, sized, in, later.data(), 0x00, std::nullopt));
  detail::array<values> const wanted = reference::evaluate(sized, in);
  for (int k = 0; k < wanted.size(); ++k)
    for (int i = 0; i < wanted[k].size(); ++i) {
      element const e = wanted[k][i].type;
      extend::scalar const is = get(first[static_cast<std::size_t>(k)].data() + size_of(e) * static_cast<std::size_t>(i), e);
      if (close(is, wanted[k][i], tolerance)) continue;
      INFO("output " << k << " at " << i << " is " << is.real << " " << is.integer << ", should be " << wanted[k][i].real << " "
                     << wanted[k][i].integer);
      FAIL_CHECK("a wrong value");
      break;
    }
}

} // namespace executing
