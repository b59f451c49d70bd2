// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_WALK_HPP
#define COTANGENT_DYNAMIC_EAGER_WALK_HPP

#include <cotangent/dynamic/eager/apply.hpp>

#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/transform/differentiate/views/view_terms.hpp>

#include <cstdint>
#include <source_location>
#include <vector>

// The reverse sweep over the record, from outputs to the variables whose gradients are requested.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// The tensor of a view; any other tensor itself.
inline eager_value& root_of(eager_value& v) noexcept { return v.view == nullptr ? v : *v.view->base; }

/// A value with memory of its own: two gradients never share memory.
inline held alone(eager_state& s, held h) {
  if (h.data->users == 1) return h;
  storage* const own = s.storages.result_storage(h.data->bytes);
  if (h.data->bytes > 0)
    std::memcpy(own->data(), elements_of(s, h.data, {}), static_cast<std::size_t>(h.data->bytes));
  s.storages.release(std::exchange(h.data, own));
  return h;
}

template <class Fn> struct function_tag {
  static constexpr char here = 0;
};

inline eager_operand operand_of(held const& h) { return {&h, nullptr, 0, h.shape, h.type, false}; }

inline eager_code& sum_code(eager_state& s, held const& a, eager_operand const* x,
                            std::source_location where) {
  eager_key key{&function_tag<op::add>::here, {}, 0};
  key.put(a.shape * 8 + static_cast<int>(a.type));
  return code_for(s, key, x, 2, {"+", 1, nullptr, 0, where},
                  [](builder& to, symbol const* t, std::vector<symbol>& y) {
                    y.push_back(cotangent::detail::cotangent_sum(to, t[0], t[1]));
                  });
}
/// The sum of two values of one type.
inline held sum_of(eager_state& s, held const& a, held const& b, std::source_location where) {
  eager_operand const x[]{operand_of(a), operand_of(b)};
  held y;
  apply_code(s, sum_code(s, a, x, where), x, &y, where);
  return y;
}
/// Adds to the first value, in place if it has no other owner.
inline void add_to(eager_state& s, held& sum, held const& d, std::source_location where) {
  eager_operand const x[]{operand_of(sum), operand_of(d)};
  eager_code& c = sum_code(s, sum, x, where);
  if (!s.recording && sum.data->users == 1 && c.single.run != nullptr && !s.storages.is_limited())
    run_single(c, [&](int k) { return place_of(x[k]); }, sum.data->data());
  else sum = sum_of(s, sum, d, where);
}
/// A tensor with one number in all elements.
inline held filled(eager_state& s, element e, std::int32_t shape, double value, std::source_location where) {
  eager_key key{&function_tag<op::constant>::here, {}, 0};
  key.put(shape * 8 + static_cast<int>(e));
  key.put(cotangent::detail::bits_of(e, value));
  eager_code& c = code_for(s, key, nullptr, 0, {"constant", 8, nullptr, 0, where},
                           [&](builder& to, symbol const*, std::vector<symbol>& y) {
                             y.push_back(extend::constant(to, e, to.shape(s.dims(shape)), value).id);
                           });
  held y;
  apply_code(s, c, nullptr, &y, where);
  return y;
}

/// The gradient of a value so far. With a mask (booleans) it is 0 where that is false, whatever the value is: a pole that
/// `select` did not choose must not reach it.
struct eager_cotangent {
  held value, mask;
};
inline held plain(eager_state& s, eager_cotangent& d, std::source_location where) {
  if (!d.mask) return d.value;
  eager_operand const x[]{operand_of(d.mask), operand_of(d.value)};
  eager_key key{&function_tag<op::select>::here, {}, 0};
  key.put(d.value.shape * 8 + static_cast<int>(d.value.type));
  held y;
  apply_code(s, code_for(s, key, x, 2, {"select", 8, nullptr, 0, where}, [](builder& to, symbol const* t, std::vector<symbol>& r) {
    term const value{&to, t[1]};
    r.push_back(extend::select(term{&to, t[0]}, value, extend::constant_like(value, 0)).id);
  }), x, &y, where);
  d = {y, {}};
  return y;
}

/// True where one of two masks is.
inline held either(eager_state& s, held const& a, held const& b, std::source_location where) {
  eager_operand const x[]{operand_of(a), operand_of(b)};
  eager_key key{&function_tag<op::logical_or>::here, {}, 0};
  key.put(a.shape * 8 + static_cast<int>(a.type));
  held y;
  apply_code(s, code_for(s, key, x, 2, {"select", 8, nullptr, 0, where}, [](builder& to, symbol const* t, std::vector<symbol>& r) {
    r.push_back((term{&to, t[0]} || term{&to, t[1]}).id);
  }), x, &y, where);
  return y;
}

class eager_walk {
  eager_state& s_;
  std::vector<eager_record*> order_; // operands before the results
  std::vector<eager_cotangent> cotangents_; // by slot
  std::vector<char> wanted_;         // by slot: its gradient is requested
  std::source_location where_;
  std::uint64_t oldest_ = UINT64_MAX; // of the requested values

public:
  eager_walk(eager_state& s, std::source_location where) : s_(s), where_(where) { ++s_.walks; }
  eager_walk(eager_walk const&) = delete;

  bool reached(eager_record const* r) const noexcept { return r->walk == s_.walks; }
  std::vector<eager_record*> const& order() const noexcept { return order_; }

  /// Collects the history of an output.
  void collect(eager_record* from) {
    if (from == nullptr || reached(from)) return;
    struct visit {
      eager_record* r;
      int next;
    };
    std::vector<visit> path;
    auto const enter = [&](eager_record* r) {
      r->walk = s_.walks;
      r->needed = false;
      path.push_back({r, 0});
    };
    enter(from);
    while (!path.empty()) {
      visit& at = path.back();
      if (at.next == at.r->operand_count) {
        at.r->slot = static_cast<std::int64_t>(wanted_.size());
        wanted_.resize(wanted_.size() + static_cast<std::size_t>(at.r->result_count));
        order_.push_back(at.r);
        path.pop_back();
      } else if (edge const e = at.r->edges()[at.next++];
                 e.from != nullptr && !reached(e.from) && !e.from->detached()[e.which])
        enter(e.from);
    }
  }
  /// Requests the gradient of a value; false if no output depends on it.
  bool want(eager_record* r, int which) {
    if (r == nullptr) return false;
    if (r->born < oldest_) oldest_ = r->born;
    if (!reached(r)) return false;
    wanted_[slot(r, which)] = r->needed = true;
    return true;
  }
  /// Also reports requests behind released records.
  void want_all() noexcept { oldest_ = 0; }
  void start(eager_record* r, int which, held seed) {
    if (r == nullptr) return;
    cotangents_.resize(wanted_.size());
    add(r, which, {static_cast<held&&>(seed), {}});
  }
  /// The gradient, if any contribution arrived.
  held gradient(eager_record* r, int which) {
    if (r == nullptr || !reached(r) || cotangents_.size() != wanted_.size()) return {};
    return plain(s_, cotangents_[slot(r, which)], where_);
  }
  /// The gradient, moved out.
  held take_gradient(eager_record* r, int which) {
    if (cotangents_.size() != wanted_.size()) return {};
    held const d = plain(s_, cotangents_[slot(r, which)], where_);
    cotangents_[slot(r, which)] = {};
    return d;
  }

  /// Frees the cotangents.
  void forget() noexcept { cotangents_.clear(); }

  /// In reverse order.
  void run() {
    cotangents_.resize(wanted_.size());
    for (eager_record* const r : order_) {
      r->needed = r->needed || is_missed(*r);
      for (int k = 0; k < r->operand_count && !r->needed; ++k)
        if (eager_record* const from = r->edges()[k].from) r->needed = reached(from) && from->needed;
    }
    for (std::size_t at = order_.size(); at-- > 0;) {
      eager_record& r = *order_[at];
      if (!r.needed || (r.code == nullptr && !is_missed(r))) continue;
      step(r);
      for (int k = 0; k < r.result_count; ++k)
        if (!wanted_[slot(&r, k)]) cotangents_[slot(&r, k)] = {};
    }
  }

private:
  /// True if its history was released, but may be requested.
  bool is_missed(eager_record const& r) const noexcept { return r.released && oldest_ < r.born; }

  static std::size_t slot(eager_record const* r, int which) noexcept {
    return static_cast<std::size_t>(r->slot + which);
  }
  void add(eager_record* r, int which, eager_cotangent d) {
    eager_cotangent& sum = cotangents_[slot(r, which)];
    if (!sum.value) {
      sum = static_cast<eager_cotangent&&>(d);
      return;
    }
    bool const alike = sum.mask.data == d.mask.data; // or none
    held const mask = alike ? sum.mask : sum.mask && d.mask ? either(s_, sum.mask, d.mask, where_) : held();
    held const value = alike ? d.value : plain(s_, d, where_);
    if (!alike) (void)plain(s_, sum, where_);
    d = {};
    add_to(s_, sum.value, value, where_);
    sum.mask = mask;
  }

  /// True if the values that the adjoint reads are alive: `a` may be another adjoint than the prepared one.
  static bool is_kept(eager_record& r, adjoint_code const& a) {
    if (a.failed.why != nullptr) return false;
    for (int k = 0; k < r.operand_count + r.result_count; ++k)
      if (a.reads[static_cast<std::size_t>(k)] && r.kept()[k] == nullptr) return false;
    return true;
  }

  void step(eager_record& r) {
    int const n = r.operand_count, m = r.result_count;
    chosen wanted, given, masked;
    bool all_given = true, all_wanted = true;
    for (int k = 0; k < m; ++k)
      if (eager_cotangent const& d = cotangents_[slot(&r, k)]; d.value && !r.detached()[k]) {
        given.add(k);
        if (d.mask) masked.add(k);
      }
    if (!given.any()) return;
    if (is_missed(r))
      throw graph_error(
          message("cotangent: backward: a released record must not be visited again, at ")
              .put(where_.file_name())
              .put(":")
              .put(where_.line()));
    if (r.writes) return pass(r);
    for (int k = 0; k < n; ++k)
      if (eager_record* const from = r.edges()[k].from; from != nullptr && reached(from) && from->needed)
        wanted.add(k);
      else if (r.adjoint->reached[k]) all_wanted = false;
    for (int k = 0; k < m; ++k) all_given = all_given && (given[k] || !r.adjoint->given[k]);
    if (r.adjoint->failed.why != nullptr) fail(r);
    adjoint_code* a = r.adjoint;
    if (!all_given || !all_wanted || masked.any()) {
      adjoint_code& less = adjoint_of(*r.code, wanted, given, masked, s_.kernels);
      if (is_kept(r, less)) a = &less;
    }
    int const cotangent_count = static_cast<int>(a->code.operands.size()) - n - m; // and masks
    few<eager_operand> x(n + m + cotangent_count);
    std::vector<held> values;
    values.reserve(static_cast<std::size_t>(n + m + cotangent_count));
    auto const put = [&](int at, held h) {
      values.push_back(static_cast<held&&>(h));
      x[at] = operand_of(values.back());
    };
    for (int k = 0; k < n + m; ++k) {
      tensor_type const& t = a->code.operands[static_cast<std::size_t>(k)];
      if (!a->reads[static_cast<std::size_t>(k)]) {
        x[k] = {nullptr, nullptr, 0, t.shape, t.type, false};
        continue;
      }
      held h;
      h.s = &s_;
      h.data = r.kept()[k];
      ++h.data->users;
      edge const e = k < n ? r.edges()[k] : edge{&r, k - n};
      h.from = k < n || !r.detached()[k - n] ? e.from : nullptr;
      h.which = e.which;
      if (h.from != nullptr) ++h.from->users;
      h.shape = t.shape;
      h.type = t.type;
      put(k, static_cast<held&&>(h));
    }
    int next = n + m;
    for (int k = 0; k < m; ++k)
      if (a->given[k]) {
        tensor_type const& t = a->code.operands[static_cast<std::size_t>(next)];
        eager_cotangent& d = cotangents_[slot(&r, k)];
        if (!d.value || r.detached()[k]) put(next++, filled(s_, t.type, t.shape, 0, where_));
        else put(next++, a->masked[k] ? d.value : plain(s_, d, where_));
      }
    for (int k = 0; k < m; ++k)
      if (a->masked[k]) put(next++, cotangents_[slot(&r, k)].mask);
    few<held> dx(static_cast<int>(a->code.results.size()));
    if (!a->code.results.empty()) apply_code(s_, a->code, x.data(), dx.data(), where_);
    for (int k = 0, at = 0; k < n; ++k)
      if (a->reached[k]) {
        auto const [operand, result] = a->masks[static_cast<std::size_t>(at)];
        held const mask = operand != none ? *x[operand].value : result != none ? dx[result] : held();
        if (wanted[k]) add(r.edges()[k].from, r.edges()[k].which, {static_cast<held&&>(dx[at]), mask});
        ++at;
      }
  }

  /// Passes the cotangent of a tensor to its state before a piece was written, and to the piece.
  void pass(eager_record& r) {
    held const d = plain(s_, cotangents_[slot(&r, 0)], where_);
    edge const before = r.edges()[0], piece = r.edges()[1];
    auto const asks = [&](edge const& e) { return e.from != nullptr && reached(e.from) && e.from->needed; };
    if (asks(piece)) {
      eager_operand const x = operand_of(d);
      held part;
      apply_code(s_, *r.code, &x, &part, where_);
      add(piece.from, piece.which, {static_cast<held&&>(part), {}});
    }
    if (asks(before)) add(before.from, before.which, {d, {}});
  }

  [[noreturn]] void fail(eager_record& r) {
    builder b{graph_view(r.code->g)};
    graph_view const v = r.code->g;
    std::vector<symbol> x;
    for (int k = 0; k < v.input_count(); ++k) x.push_back(v.input(k));
    request q{nullptr, 0, x.data(), static_cast<int>(x.size()), where_};
    failure f = r.adjoint->failed;
    f.where = where_;
    raise(b, f, q);
  }
};

} // namespace cotangent::dynamic::detail

#endif
