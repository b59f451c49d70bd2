// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_APPLY_HPP
#define COTANGENT_DYNAMIC_EAGER_APPLY_HPP

#include <cotangent/dynamic/eager/run.hpp>

#include <cstdint>
#include <cstring>
#include <source_location>

// Runs and records one operation of eager mode.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

inline bool is_tracked(eager_operand const* x, int n) noexcept {
  for (int k = 0; k < n; ++k)
    if (x[k].value != nullptr && x[k].value->from != nullptr) return true;
  return false;
}

/// Records the operation that computed `y`, as far as a gradient may need it.
inline void note(eager_state& s, eager_code& c, eager_operand const* x, held* y) {
  int const n = static_cast<int>(c.operands.size()), m = static_cast<int>(c.results.size());
  chosen tracked;
  for (int k = 0; k < n; ++k)
    if (x[k].value != nullptr && x[k].value->from != nullptr) tracked.add(k);
  if (!c.floating.any()) return;
  adjoint_code& a = adjoint_of(c, tracked, c.floating, {}, s.kernels);
  bool const fails = a.failed.why != nullptr;
  if (!fails && !a.reached.any()) return;
  eager_record* const r = s.new_record(n, m);
  r->users = 0;
  r->code = &c;
  r->adjoint = &a;
  ++c.counted();
  ++s.operations;
  for (int k = 0; k < n; ++k)
    if (tracked[k] && (fails || a.reached[k])) {
      r->edges()[k] = {x[k].value->from, x[k].value->which};
      ++r->edges()[k].from->users;
    }
  for (int k = 0; k < m; ++k)
    if (c.floating[k]) {
      y[k].from = r;
      y[k].which = k;
      ++r->users;
    }
  if (fails) return;
  for (int k = 0; k < n; ++k)
    if (a.reads[static_cast<std::size_t>(k)]) {
      storage*& kept = r->kept()[k];
      if (x[k].value != nullptr) {
        kept = x[k].value->data;
        ++kept->users;
      } else {
        kept = s.storages.new_storage(8);
        std::memcpy(kept->data(), &x[k].bits, 8);
      }
    }
  for (int k = 0; k < m; ++k)
    if (a.reads[static_cast<std::size_t>(n + k)]) {
      r->kept()[n + k] = y[k].data;
      ++y[k].data->users;
    }
}

/// Runs an operation and records it; its results are in `y`.
inline void apply_code(eager_state& s, eager_code& c, eager_operand const* x, held* y,
                       std::source_location where) {
  int const n = static_cast<int>(c.operands.size()), m = static_cast<int>(c.results.size());
  for (int k = 0; k < m; ++k) {
    tensor_type const& t = c.results[static_cast<std::size_t>(k)];
    y[k].s = &s;
    y[k].type = t.type;
    y[k].shape = t.shape;
  }
  pinned here(s, x, n);
  here.bring(where);
  bool computed = true;
  std::int32_t const same = m == 1 ? c.same_as[0] : none;
  if (same >= 0 && x[same].value != nullptr && x[same].value->data != nullptr) {
    y[0].data = x[same].value->data;
    ++y[0].data->users;
    computed = false;
  } else {
    for (int k = 0; k < m; ++k) y[k].data = s.storages.result_storage(c.results[static_cast<std::size_t>(k)].bytes());
    run_on(s, c, [&](int k) { return place_of(x[k]); }, [&](int k) { return y[k].data->data(); }, where);
  }
  if (!s.recording || !is_tracked(x, n)) return;
  note(s, c, x, y);
  for (int k = 0; k < m && computed && s.storages.is_limited(); ++k)
    if (y[k].from != nullptr && y[k].data->body != nullptr)
      s.storages.set_origin(y[k].data, c, k, [&](int j, storage*& in, std::int64_t& number) {
        number = x[j].bits;
        if (x[j].value != nullptr) in = x[j].value->data;
      });
}

} // namespace cotangent::dynamic::detail

#endif
