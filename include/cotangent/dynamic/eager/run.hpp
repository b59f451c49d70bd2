// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_RUN_HPP
#define COTANGENT_DYNAMIC_EAGER_RUN_HPP

#include <cotangent/dynamic/eager/prepare.hpp>

#include <cstdint>
#include <cstring>
#include <source_location>
#include <vector>

// Runs prepared operations, and recomputes evicted elements.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// An array with inline room for the usual number of elements.
template <class T> class few {
  static constexpr int most = 12;
  T here_[most]{};
  std::vector<T> more_;
  T* at_ = here_;

public:
  explicit few(int n) {
    if (n <= most) return;
    more_.resize(static_cast<std::size_t>(n));
    at_ = more_.data();
  }
  few(few const&) = delete;
  few& operator=(few const&) = delete;
  T& operator[](int k) noexcept { return at_[k]; }
  T* data() noexcept { return at_; }
};

/// Runs the program of an operation.
inline void run_code(eager_state& s, eager_code const& c, void const* const* in, void* const* out,
                     std::source_location where) {
  s.workspace.at_least(static_cast<std::size_t>(c.run.workspace_bytes()) + 1);
  if (status const is = c.run.run(in, out, s.workspace.data(), &s.own_tape); is != status::ok) {
    message text("cotangent: run: ");
    cotangent::detail::raise_status(is, c.run.put(text, is).put(", at ").put(where.file_name()).put(":").put(where.line()));
  }
}

/// The location of an operand. A tensor is padded to whole lines, which kernels read; a number is not.
struct eager_place {
  void const* at = nullptr;
  bool tensor = true;
};
inline eager_place place_of(eager_operand const& x) noexcept {
  if (x.value != nullptr && x.value->data != nullptr) return {x.value->data->data(), true};
  return {&x.bits, false};
}

/// Runs one elementwise operation: `place(k)` is the location of operand k. (A single element is repeated
/// over a pack.)
template <class Place> void run_single(eager_code const& c, Place const& place, void* y) {
  single_kernel const& k = c.single;
  alignas(64) char lines[single_kernel::most][64];
  void const* in[single_kernel::most];
  unsigned fixed = 0;
  std::int64_t const count = c.results[0].elements;
  for (int j = 0; j < k.arity; ++j) {
    eager_place const from = place(k.operand[j]);
    if (!k.one_element[j] || (count == 1 && from.tensor)) {
      in[j] = from.at;
      continue;
    }
    interpret::repeat_element(lines[j], from.at, static_cast<std::int64_t>(size_of(c.operands[static_cast<std::size_t>(k.operand[j])].type)), 64 / simd::bytes);
    in[j] = lines[j];
    fixed |= 1u << j;
  }
  k.run(y, in, count, fixed, nullptr);
}

/// Runs the kernel or the program; `result(k)` is the address of result k.
template <class Place, class Result>
void run_on(eager_state& s, eager_code const& c, Place const& place, Result const& result,
            std::source_location where) {
  if (c.single.run != nullptr) return run_single(c, place, result(0));
  int const n = static_cast<int>(c.operands.size()), m = static_cast<int>(c.results.size());
  few<void const*> in(n);
  few<void*> out(m);
  for (int k = 0; k < n; ++k) in[k] = place(k).at;
  for (int k = 0; k < m; ++k) out[k] = result(k);
  run_code(s, c, in.data(), out.data(), where);
}

/// Recomputes evicted elements, and evicted operands that they need: each once. An operand stays until its
/// last reader has run.
class rematerialization {
  eager_state& s_;
  std::vector<storage*> order_; // operands before their readers
  std::size_t done_ = 0;
  std::source_location where_;

  template <class F> static void each_operand(storage* p, F f) {
    for (int k = 0; k < p->origin->operands(); ++k)
      if (storage* const in = p->origin->in()[k]) f(in);
  }

  void collect(storage* p) {
    struct visit {
      storage* of;
      int next;
    };
    std::vector<visit> path;
    std::uint64_t const now = ++s_.recomputations;
    auto const enter = [&](storage* q) {
      path.push_back({q, 0});
      q->origin->seen = now;
    };
    enter(p);
    while (!path.empty()) {
      visit& at = path.back();
      if (at.next == at.of->origin->operands()) {
        order_.push_back(at.of);
        path.pop_back();
      } else if (storage* const in = at.of->origin->in()[at.next++];
                 in != nullptr && in->at == nullptr && in->origin->seen != now)
        enter(in);
    }
    for (storage* const q : order_) each_operand(q, [&](storage* in) { s_.storages.pin(in); });
  }

  void compute(storage* p) {
    eager_origin& o = *p->origin;
    eager_code& c = *o.code;
    eager_storages::taken body = s_.storages.room_for(p);
    std::vector<eager_storages::taken> others; // results that are present, or not needed
    auto const result = [&](int k) {
      if (k == o.which) return body.data();
      others.push_back(s_.storages.room(c.results[static_cast<std::size_t>(k)].bytes()));
      return others.back().data();
    };
    auto const place = [&](int k) -> eager_place {
      if (o.in()[k] != nullptr) return {o.in()[k]->data(), true};
      return {&o.numbers()[k], false};
    };
    run_on(s_, c, place, result, where_);
    s_.storages.restore(p, body);
  }

public:
  rematerialization(eager_state& s, storage* p, std::source_location where) : s_(s), where_(where) { collect(p); }
  rematerialization(rematerialization const&) = delete;
  ~rematerialization() {
    for (; done_ < order_.size(); ++done_) each_operand(order_[done_], [&](storage* in) { s_.storages.unpin(in); });
  }

  /// `p` itself stays pinned.
  void run() {
    for (; done_ < order_.size(); ++done_) {
      compute(order_[done_]);
      each_operand(order_[done_], [&](storage* in) { s_.storages.unpin(in); });
    }
  }
};

/// Pins the operands of an operation while it runs.
class pinned {
  eager_state& s_;
  eager_operand const* x_;
  int n_;

public:
  pinned(eager_state& s, eager_operand const* x, int n) noexcept : s_(s), x_(x), n_(s.storages.is_limited() ? n : 0) {
    for (int k = 0; k < n_; ++k)
      if (x_[k].value != nullptr && x_[k].value->data != nullptr) s_.storages.pin(x_[k].value->data);
  }
  pinned(pinned const&) = delete;
  ~pinned() {
    for (int k = 0; k < n_; ++k)
      if (x_[k].value != nullptr && x_[k].value->data != nullptr) s_.storages.unpin(x_[k].value->data);
  }
  void bring(std::source_location where) {
    for (int k = 0; k < n_; ++k)
      if (x_[k].value != nullptr && x_[k].value->data != nullptr && x_[k].value->data->at == nullptr)
        rematerialization(s_, x_[k].value->data, where).run();
  }
};

/// The elements, recomputed if evicted. They are valid until the next operation, or with `stay` as long as
/// they are needed.
inline void* elements_of(eager_state& s, storage* p, std::source_location where, bool stay = false) {
  if (p->at == nullptr) {
    s.storages.pin(p);
    struct unpinned {
      storage* p;
      ~unpinned() { --p->pins; }
    } const after{p};
    rematerialization(s, p, where).run();
  }
  if (stay) s.storages.keep(p);
  return p->data();
}

} // namespace cotangent::dynamic::detail

#endif
