// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_RECORDER_HPP
#define COTANGENT_DYNAMIC_EAGER_RECORDER_HPP

#include <cotangent/dynamic/eager/variable.hpp>
#include <cotangent/dynamic/eager/write.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI {

/// The recorder of eager mode: operations on its variables run when they are written, and are recorded as far
/// as a gradient may need them.
///
///     ct::dynamic::eager e;
///     auto x = e.parameter(19.0);
///     auto f = x * ct::log(x) + 1.2 * x;
///     e.backward(f);
///     double const slope = x.grad().item();
///
/// Dead values are freed at once: a tensor with its last name, unless an adjoint will read it; a record with
/// the last tensor that depends on it. A recorder and its variables are used by one thread at a time.
/// Variables may outlive it: they keep their elements, but no operation accepts them.
///
/// Throws: `shape_error`, `graph_error` and the like, with the operation, the shapes and your source
/// location.
class eager {
  using held_state = detail::checked_pointer<detail::eager_state*, refusals::eager_moved_from>;
  held_state s_{new detail::eager_state};

public:
  template <class T> using variable = dynamic::variable<T>;

  eager() = default;
  eager(eager&& other) noexcept : s_(std::exchange(other.s_, held_state())) {}
  eager& operator=(eager&& other) noexcept {
    std::swap(s_, other.s_);
    return *this;
  }
  ~eager() {
    detail::eager_state* const s = s_.get();
    if (s == nullptr) return;
    s->open = false;
    s->storages.on_free({});
    if (s->values == 0) delete s;
  }

  // ---- tensors

  /// A variable with gradients; copies the elements.
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
  dynamic::variable<T> parameter(M const& elements, std::string_view name = {},
                                 std::source_location where = std::source_location::current()) {
    detail::memory_of const m = detail::memory_to_copy(elements);
    return make<T>(m, m.shape, name, true, where);
  }
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
  dynamic::variable<T> parameter(M const& elements, sizes const& shape, std::string_view name = {},
                                 std::source_location where = std::source_location::current()) {
    return make<T>(detail::memory_to_copy(elements), shape, name, true, where);
  }
  /// `{0, 3}` would be a name, too: a null pointer and a length.
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
  dynamic::variable<T> parameter(M const& elements, std::initializer_list<std::int64_t> shape, std::string_view name = {},
                                 std::source_location where = std::source_location::current()) {
    return parameter<M, T>(elements, sizes(shape), name, where);
  }
  /// A variable without gradients: operations on constants alone are not recorded.
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
  dynamic::variable<T> constant(M const& elements, std::source_location where = std::source_location::current()) {
    detail::memory_of const m = detail::memory_to_copy(elements);
    return make<T>(m, m.shape, {}, false, where);
  }
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
  dynamic::variable<T> constant(M const& elements, sizes const& shape, std::source_location where = std::source_location::current()) {
    return make<T>(detail::memory_to_copy(elements), shape, {}, false, where);
  }

  /// A tensor that is written in pieces, by `write`. Unwritten elements are zero.
  template <element_type T>
  dynamic::variable<T> tensor(sizes const& shape, std::string_view name = {},
                              std::source_location where = std::source_location::current()) {
    dynamic::variable<T> const made =
        make<T>({nullptr, nullptr, element_of<T>, shape}, shape, name, false, where);
    made.value_held()->written = new std::vector<bool>(
        static_cast<std::size_t>(made.value_held()->now.data->bytes) / size_of(element_of<T>));
    return made;
  }
  /// Writes a value to `to`: a tensor of `tensor()`, or a view of one. Each element is written at most once;
  /// all names and views see it. Earlier results keep their values and gradients. Returns `to`.
  template <class T, class V>
  dynamic::variable<T> write(dynamic::variable<T> const& to, V const& value,
                             std::source_location where = std::source_location::current()) {
    detail::request const r{"write", 5, nullptr, 0, where};
    dynamic::variable<T> given(value);
    detail::eager_value& at = detail::operand_value(*s_, to, r);
    if (given.is_number()) given = constant(given.item(), where);
    (void)detail::operand_value(*s_, given, r);
    if (given.shape() != to.shape())
      given = cotangent::convert<T>(
          dynamic::variable<T>::lift(where, detail::written_sizes_fn{{sizes(to.shape())}}, given), where);
    detail::write_elements(at, *given.value_held(), r);
    return to;
  }

  /// A window on a tensor or on a view, like `graph::view`: it shows the tensor's current elements, also
  /// after `set`.
  template <class T>
  dynamic::variable<T> view(dynamic::variable<T> const& x, window const& w,
                            std::source_location where = std::source_location::current()) {
    detail::request const r{"view", 4, nullptr, 0, where};
    detail::eager_value& v = detail::operand_value(*s_, x, r);
    detail::eager_value& base = v.view == nullptr ? v : *v.view->base;
    detail::eager_operand const operand{&base.now, base.name, 0, base.now.shape, base.now.type, false};
    detail::tensor_window made;
    auto const build = [&](extend::builder& b, extend::symbol const* t, std::vector<extend::symbol>& y) {
      extend::symbol of = t[0];
      if (v.view != nullptr) {
        detail::tensor_window const& outer = v.view->window;
        of = detail::strided_view(b, of, outer.offset, outer.stride, s_->dims(v.now.shape));
      }
      y.push_back(detail::view_symbol(b, of, w));
      if (b.failed().why == nullptr) made = detail::window_of(b.get(), y.back());
    };
    detail::eager_code& c = detail::code_by_content(*s_, &operand, 1, r, build);
    detail::held y;
    detail::apply_code(*s_, c, &operand, &y, where);
    detail::eager_value* const value = s_->new_value(static_cast<detail::held&&>(y));
    value->view = new detail::eager_view{&base, &c, made, base.version};
    ++base.users;
    ++c.counted();
    return dynamic::variable<T>(value);
  }

  // ---- gradients

  /// Sweeps backward from `y`, and adds to the gradients of the parameters it depends on (and of variables
  /// with `retain_grad`). The cotangent of a scalar is 1 by default.
  template <class T>
  void backward(dynamic::variable<T> const& y, dynamic::variable<T> const& seed = {},
                backward_options const& options = {},
                std::source_location where = std::source_location::current()) {
    any_variable const output = y, cotangent = seed.is_number() ? constant(seed.item()) : seed;
    backward(variables{output}, variables{cotangent}, options, where);
  }
  /// From several outputs; an empty seed is 1.
  void backward(variables const& outputs, variables const& seeds = {}, backward_options const& options = {},
                std::source_location where = std::source_location::current()) {
    detail::eager_walk walk(*s_, where);
    auto const from = values_of(outputs, "backward", where);
    if (!from.empty() &&
        std::all_of(from.begin(), from.end(), [](detail::eager_value* v) { return v->now.from == nullptr; }))
      detail::raise_about<refusals::eager_untracked>({from[0]}, {"backward", 8, nullptr, 0, where});
    for (detail::eager_value* const v : from) walk.collect(v->now.from);
    walk.want_all();
    for (detail::eager_record* const r : walk.order())
      if (r->owner != nullptr && r->owner->wanted != gradients::none) walk.want(r, r->owner->now.which);
    go(walk, from, seeds, options, where);
    for (detail::eager_record* const r : walk.order()) {
      detail::eager_value* const v = r->owner;
      if (v == nullptr || v->wanted == gradients::none) continue;
      detail::held d = walk.take_gradient(r, v->now.which);
      if (!d) continue;
      bool const adds = v->gradient != nullptr && v->wanted == gradients::sum;
      detail::recording_scope const q(*s_, options.record);
      detail::held sum =
          adds ? detail::sum_of(*s_, v->gradient->now, d, where) : static_cast<detail::held&&>(d);
      detail::eager_state::release(
          std::exchange(v->gradient, s_->new_value(detail::alone(*s_, static_cast<detail::held&&>(sum)))));
    }
    finish(walk, options);
  }

  /// The gradients with respect to each of `wrt`: zeros if no output depends on it.
  template <class T>
  std::vector<dynamic::variable<T>>
  grad(std::initializer_list<any_variable> outputs, std::initializer_list<dynamic::variable<T>> wrt,
           std::initializer_list<any_variable> seeds = {}, backward_options const& options = {},
           std::source_location where = std::source_location::current()) {
    return grad(variables(outputs), std::vector<dynamic::variable<T>>(wrt), variables(seeds), options, where);
  }
  /// Takes lists: vectors, arrays or spans of variables of one element type, or of any (`any_variable`).
  template <class T>
  std::vector<dynamic::variable<T>> grad(variables const& outputs, std::vector<dynamic::variable<T>> const& wrt,
                                             variables const& seeds = {}, backward_options const& options = {},
                                             std::source_location where = std::source_location::current()) {
    std::vector<dynamic::variable<T>> all;
    for (any_variable const& d : grad(outputs, variables(wrt), seeds, options, where)) all.push_back(d.as<T>(where));
    return all;
  }
  std::vector<any_variable> grad(variables const& outputs, variables const& wrt, variables const& seeds = {},
                                     backward_options const& options = {},
                                     std::source_location where = std::source_location::current()) {
    auto const from = values_of(outputs, "grad", where), to = values_of(wrt, "grad", where);
    for (detail::eager_value* const v : to)
      if (!is_floating(v->now.type))
        detail::raise_about<refusals::element_not_floating>({v}, {"grad", 4, nullptr, 0, where});
    detail::eager_walk walk(*s_, where);
    for (detail::eager_value* const v : from) walk.collect(v->now.from);
    std::vector<bool> reached;
    for (detail::eager_value* const v : to) {
      detail::held const& h = detail::root_of(*v).now;
      reached.push_back(walk.want(h.from, h.which));
      if (!reached.back() && options.policy == unreachable::error)
        detail::raise_about<refusals::unreachable_wrt>({v}, {"grad", 4, nullptr, 0, where});
    }
    go(walk, from, seeds, options, where);
    std::vector<any_variable> all;
    detail::recording_scope const q(*s_, options.record);
    for (std::size_t k = 0; k < to.size(); ++k) {
      detail::eager_value& v = *to[k];
      detail::held const& root = detail::root_of(v).now;
      detail::held d = reached[k] ? walk.gradient(root.from, root.which) : detail::held();
      if (!d) d = detail::filled(*s_, root.type, root.shape, 0, where);
      if (v.view != nullptr) {
        detail::eager_operand const x = detail::operand_of(d);
        detail::held part;
        detail::apply_code(*s_, *v.view->code, &x, &part, where);
        d = static_cast<detail::held&&>(part);
      }
      all.emplace_back(s_->new_value(static_cast<detail::held&&>(d)));
    }
    finish(walk, options);
    for (any_variable& d : all) d.value_held()->now = detail::alone(*s_, static_cast<detail::held&&>(d.value_held()->now));
    return all;
  }
  /// The gradient with respect to `wrt`, added to `sum`, which may be `wrt` itself; an empty `sum` receives
  /// it.
  template <class Y, class T>
  void accumulate(dynamic::variable<Y> const& y, dynamic::variable<T> const& wrt, dynamic::variable<T>& sum,
                  std::source_location where = std::source_location::current()) {
    dynamic::variable<T> const d = grad({y}, {wrt}, {}, {}, where).front();
    if (sum.empty()) {
      sum = d;
      return;
    }
    detail::recording_scope const q(*s_, false);
    detail::eager_value& to = detail::operand_value(*s_, sum, {"accumulate", 10, nullptr, 0, where});
    if (to.now.shape != d.value_held()->now.shape)
      detail::raise_about<refusals::eager_set_shape>({&to, d.value_held()},
                                                     {"accumulate", 10, nullptr, 0, where});
    sum.set(dynamic::variable<T>(s_->new_value(detail::sum_of(*s_, to.now, d.value_held()->now, where))),
            where);
  }

  // ---- the record

  /// Removes the history of a tensor: it and its results no longer depend on its operands.
  void detach(any_variable const& x, std::source_location where = std::source_location::current()) {
    detail::eager_value& v = detail::operand_value(*s_, x, {"detach", 6, nullptr, 0, where});
    detail::eager_record* const r = v.now.from;
    if (r == nullptr || (r->code == nullptr && !r->released)) return;
    if (r->result_count > 1) r->detached()[v.now.which] = true;
    else s_->cut(*r);
    r->released = false;
  }
  /// For each candidate: true if `y` depends on it.
  std::vector<bool> depends_on(any_variable const& y, variables const& candidates,
                               std::source_location where = std::source_location::current()) {
    detail::eager_walk walk(*s_, where);
    walk.collect(values_of({y}, "depends_on", where).front()->now.from);
    std::vector<bool> found;
    for (detail::eager_value const* const v : values_of(candidates, "depends_on", where))
      found.push_back(v->now.from != nullptr && walk.reached(v->now.from));
    return found;
  }
  /// While it lives, nothing is recorded.
  class no_grad {
    detail::eager_state* s_;

  public:
    explicit no_grad(eager& e) : s_(&*e.s_) {
      ++s_->recording.guards;
      ++s_->values;
    }
    no_grad(no_grad const&) = delete;
    no_grad& operator=(no_grad const&) = delete;
    ~no_grad() {
      --s_->recording.guards;
      s_->leave();
    }
  };
  /// Limits the bytes of elements, as far as possible. Recorded elements computed from now on, in tensors of
  /// at least `smallest` bytes, are evicted while still needed: first those that are cheap to recompute for
  /// their bytes and were not used for long. They are recomputed on demand, with the same bits. 0: no limit.
  ///
  /// Source: Kirisame et al., "Dynamic Tensor Rematerialization", ICLR 2021.
  void set_memory_limit(std::int64_t bytes, std::int64_t smallest = 4096,
                        std::source_location where = std::source_location::current()) {
    for (std::int64_t const given : {bytes, smallest})
      if (given < 0)
        detail::raise<refusals::eager_limit>(extend::builder(), {"set_memory_limit", 16, nullptr, 0, where},
                                             extent::of(given));
    s_->storages.set_limit(bytes, smallest);
  }
  /// Evicts the elements of a tensor; false if they cannot be recomputed, are evicted already, or were computed without a limit.
  bool evict(any_variable const& x, std::source_location where = std::source_location::current()) {
    return s_->storages.try_evict(detail::operand_value(*s_, x, {"evict", 5, nullptr, 0, where}).now.data);
  }
  /// The number of operations recomputed for evicted elements.
  std::int64_t recompute_count() const { return s_->storages.recompute_count(); }
  /// The live objects.
  detail::live_counts live() const { return s_->live(); }
  /// Calls `tell(bytes)` for each tensor whose memory is freed, until the recorder ends.
  void on_free(std::function<void(std::int64_t)> tell) {
    s_->storages.on_free(static_cast<std::function<void(std::int64_t)>&&>(tell));
  }

private:
  std::vector<detail::eager_value*> values_of(variables const& all, char const* name,
                                              std::source_location where) {
    std::vector<detail::eager_value*> values;
    for (any_variable const& x : all)
      values.push_back(&detail::operand_value(*s_, x, {name, detail::length_of(name), nullptr, 0, where}));
    return values;
  }

  void go(detail::eager_walk& walk, std::vector<detail::eager_value*> const& from,
          variables const& seeds, backward_options const& options,
          std::source_location where) {
    detail::request const r{"backward", 8, nullptr, 0, where};
    if (!seeds.empty() && seeds.size() != from.size())
      detail::raise<refusals::dynamic_seed_count>(extend::builder(), r,
                                                  extent::of(static_cast<std::int64_t>(seeds.size())),
                                                  extent::of(static_cast<std::int64_t>(from.size())));
    std::vector<detail::held> start;
    detail::recording_scope const q(*s_, options.record);
    for (std::size_t k = 0; k < from.size(); ++k) {
      detail::held const& y = from[k]->now;
      if (!is_floating(y.type)) detail::raise_about<refusals::element_not_floating>({from[k]}, r);
      if (seeds.empty() || seeds[k].empty()) {
        if (y.shape != 0) detail::raise_about<refusals::seed_missing>({from[k]}, r);
        start.push_back(detail::filled(*s_, y.type, y.shape, 1, where));
        continue;
      }
      detail::eager_value& d = detail::operand_value(*s_, seeds[k], r);
      if (d.now.type != y.type) detail::raise_about<refusals::elements_differ>({&d, from[k]}, r);
      if (d.now.shape != y.shape) detail::raise_about<refusals::seed_shape>({&d, from[k]}, r);
      start.push_back(d.now);
    }
    for (std::size_t k = 0; k < from.size(); ++k)
      walk.start(from[k]->now.from, from[k]->now.which, static_cast<detail::held&&>(start[k]));
    start.clear();
    walk.run();
  }
  void finish(detail::eager_walk& walk, backward_options const& options) {
    walk.forget();
    if (!options.release) return;
    for (detail::eager_record* const r : walk.order())
      if (r->code != nullptr) {
        r->released = true;
        s_->cut(*r);
      }
  }

  template <class T>
  dynamic::variable<T> make(detail::memory_of const& m, sizes const& shape, std::string_view name,
                            bool tracked, std::source_location where) {
    detail::request const r{tracked ? "parameter" : "constant", tracked ? 9 : 8, nullptr, 0, where};
    extend::builder b;
    b.place = where;
    std::int32_t const local = detail::shape_for(b, shape);
    if (detail::failure const f = b.failed(); f.why != nullptr) detail::raise(b, f, r);
    if (tracked && !is_floating(element_of<T>)) {
      extend::symbol const t = b.symbol_of(element_of<T>, local);
      detail::raise<refusals::element_not_floating>(b, {r.name, r.name_length, &t, 1, where});
    }
    std::int64_t given = 1;
    for (std::int64_t const n : m.shape) given *= n;
    detail::held h;
    h.s = s_.get();
    h.type = element_of<T>;
    h.shape = s_->shape_id(b.get().shapes[local]);
    detail::tensor_type const t = s_->type_of(h.type, h.shape);
    if (given != t.elements)
      detail::raise<refusals::dynamic_constant_count>(b, r, extent::of(given), extent::of(t.elements));
    h.data = s_->storages.new_storage(t.bytes());
    if (t.bytes() > 0 && m.data == nullptr)
      std::memset(h.data->data(), 0, static_cast<std::size_t>(t.bytes()));
    else if (t.bytes() > 0) std::memcpy(h.data->data(), m.data, static_cast<std::size_t>(t.bytes()));
    if (tracked) h.from = s_->new_record(0, 1);
    detail::eager_value* const v = s_->new_value(static_cast<detail::held&&>(h));
    if (!name.empty()) v->name = new std::string(name);
    if (tracked) v->wanted = gradients::sum;
    return dynamic::variable<T>(v);
  }
};

} // namespace cotangent::dynamic

#endif
