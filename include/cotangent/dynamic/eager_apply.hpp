// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_APPLY_HPP
#define COTANGENT_DYNAMIC_EAGER_APPLY_HPP

#include <cotangent/dynamic/eager_state.hpp>

#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

// How eager mode runs one operation, and records it.

namespace cotangent::dynamic::detail {
inline namespace COTANGENT_ABI {

/// What an operation is applied to: a value, or a number that is none yet.
struct eager_operand {
  held const* value = nullptr;
  std::string const* name = nullptr;
  std::int64_t bits = 0;
  std::int32_t shape = 0;
  element type = element::float64;
  bool constant = false; // part of the operation
};

/// Arrays of as many as most operations need.
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

/// Makes what is prepared of an operation. `build(b, x, y)` appends it to a builder: its operands are x, it adds its
/// results to y. Throws what it refuses. Nothing is made where `known(graph)` says so.
template <class Build, class Known>
std::unique_ptr<eager_code> new_code(eager_state& s, eager_operand const* x, int n, request r,
                                     Build const& build, Known const& known) {
  auto c = std::make_unique<eager_code>();
  builder b;
  b.place = r.where;
  std::vector<symbol> inputs, results;
  for (int k = 0; k < n; ++k) {
    inputs.push_back(b.symbol_of(x[k].type, b.shape(s.dims(x[k].shape))));
    c->operands.push_back(s.type_of(x[k].type, x[k].shape));
  }
  auto const check = [&](failure const& f) {
    if (f.why == nullptr) return;
    for (int k = 0; k < n; ++k)
      if (x[k].name != nullptr) {
        b.edit().tensors[inputs[static_cast<std::size_t>(k)]].name = b.get().names.size();
        for (char const letter : *x[k].name) b.edit().names.push(letter);
        b.edit().names.push('\0');
      }
    r.operands = inputs.data();
    r.operand_count = n;
    raise(b, f, r);
  };
  build(b, inputs.data(), results);
  check(b.failed());
  b.set_inputs(inputs.data(), n);
  b.set_outputs(results.data(), static_cast<int>(results.size()));
  for (symbol const y : results) c->results.push_back(s.type_of(b.tensor(y).type, s.shape_id(b.dims(y))));
  c->g = b.get();
  if (known(c->g)) return nullptr;
  check(prepare(*c));
  return c;
}

inline void run_code(eager_state& s, eager_code const& c, void const* const* in, void* const* out,
                     std::source_location where) {
  s.workspace.at_least(static_cast<std::size_t>(c.run.workspace_bytes()) + 1);
  if (status const is = c.run.run(in, out, s.workspace.data(), &s.own_tape); is != status::ok) {
    message text("cotangent: run: ");
    throw shape_error(text.put(text_of(is)).put(", at ").put(where.file_name()).put(":").put(where.line()));
  }
}

/// The same for one elementwise operation. (One element for all positions is a whole pack of it.)
inline void run_single(eager_code const& c, eager_operand const* x, void* y) {
  single_kernel const& k = c.single;
  alignas(64) char lines[single_kernel::most][64];
  void const* in[single_kernel::most];
  unsigned fixed = 0;
  std::int64_t const count = c.results[0].elements;
  for (int j = 0; j < k.arity; ++j) {
    eager_operand const& o = x[k.operand[j]];
    void const* const at = o.value != nullptr ? o.value->data->data() : &o.bits;
    if (!k.one_element[j] || (count == 1 && o.value != nullptr)) {
      in[j] = at;
      continue;
    }
    std::size_t const bytes = size_of(o.type);
    for (std::size_t place = 0; place < 64; place += bytes) std::memcpy(lines[j] + place, at, bytes);
    in[j] = lines[j];
    fixed |= 1u << j;
  }
  k.run(y, in, count, fixed, nullptr);
}

/// Notes how `y` came about, as far as somebody may ask for its gradient.
inline void note(eager_state& s, eager_code& c, eager_operand const* x, held* y) {
  int const n = static_cast<int>(c.operands.size()), m = static_cast<int>(c.results.size());
  chosen tracked, given;
  for (int k = 0; k < n; ++k)
    if (x[k].value != nullptr && x[k].value->from != nullptr) tracked.add(k);
  for (int k = 0; k < m; ++k)
    if (is_floating(c.results[static_cast<std::size_t>(k)].type)) given.add(k);
  if (!tracked.any() || !given.any()) return;
  adjoint_code& a = adjoint_of(c, tracked, given);
  bool const fails = a.failed.why != nullptr;
  if (!fails && !a.reached.any()) return;
  eager_record* const r = s.new_record(n, m);
  r->users = 0;
  r->code = &c;
  r->adjoint = &a;
  ++c.counted();
  ++s.live.operations;
  for (int k = 0; k < n; ++k)
    if (tracked[k] && (fails || a.reached[k])) {
      r->edges()[k] = {x[k].value->from, x[k].value->which};
      ++r->edges()[k].from->users;
    }
  for (int k = 0; k < m; ++k)
    if (given[k]) {
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
        kept = s.new_storage(8);
        std::memcpy(kept->data(), &x[k].bits, 8);
      }
    }
  for (int k = 0; k < m; ++k)
    if (a.reads[static_cast<std::size_t>(n + k)]) {
      r->kept()[n + k] = y[k].data;
      ++y[k].data->users;
    }
}

/// Computes elements that went, and what they are computed from as far as that went, too: each once, an operand staying
/// until the last of them has read it.
class recomputation {
  eager_state& s_;
  std::vector<storage*> order_; // operands before what is computed from them
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
    for (storage* const q : order_) each_operand(q, [&](storage* in) { s_.pin(in); });
  }

  void compute(storage* p) {
    eager_origin& o = *p->origin;
    eager_code& c = *o.code;
    int const n = o.operands();
    s_.make_place();
    s_.let_go_for(p->bytes);
    eager_state::taken body(s_.memory, p->bytes);
    if (c.single.run != nullptr) {
      few<held> values(n);
      few<eager_operand> x(n);
      for (int k = 0; k < n; ++k) {
        x[k].bits = o.numbers()[k];
        x[k].type = c.operands[static_cast<std::size_t>(k)].type;
        if (o.in()[k] == nullptr) continue;
        values[k].s = &s_;
        values[k].data = o.in()[k];
        ++o.in()[k]->users;
        x[k].value = &values[k];
      }
      run_single(c, x.data(), body.data());
    } else {
      few<void const*> in(n);
      for (int k = 0; k < n; ++k)
        in[k] = o.in()[k] != nullptr ? static_cast<void const*>(o.in()[k]->data()) : &o.numbers()[k];
      int const m = static_cast<int>(c.results.size());
      few<void*> out(m);
      std::vector<std::unique_ptr<eager_state::taken>> others; // that are there, or that nobody needs
      for (int k = 0; k < m; ++k) {
        if (k != o.which)
          others.push_back(std::make_unique<eager_state::taken>(s_.memory, c.results[static_cast<std::size_t>(k)].bytes()));
        out[k] = k == o.which ? body.data() : others.back()->data();
      }
      run_code(s_, c, in.data(), out.data(), where_);
    }
    s_.put(p, body.keep());
    s_.came(p);
    ++s_.computed_again;
  }

public:
  recomputation(eager_state& s, storage* p, std::source_location where) : s_(s), where_(where) { collect(p); }
  recomputation(recomputation const&) = delete;
  ~recomputation() {
    for (; done_ < order_.size(); ++done_) each_operand(order_[done_], [&](storage* in) { s_.unpin(in); });
  }

  /// That itself is pinned.
  void run() {
    for (; done_ < order_.size(); ++done_) {
      compute(order_[done_]);
      each_operand(order_[done_], [&](storage* in) { s_.unpin(in); });
    }
  }
};

/// The operands of an operation, while it runs: they are there.
class pinned {
  eager_state& s_;
  eager_operand const* x_;
  int n_;

public:
  pinned(eager_state& s, eager_operand const* x, int n) noexcept : s_(s), x_(x), n_(s.limit == 0 ? 0 : n) {
    for (int k = 0; k < n_; ++k)
      if (x_[k].value != nullptr && x_[k].value->data != nullptr) s_.pin(x_[k].value->data);
  }
  pinned(pinned const&) = delete;
  ~pinned() {
    for (int k = 0; k < n_; ++k)
      if (x_[k].value != nullptr && x_[k].value->data != nullptr) s_.unpin(x_[k].value->data);
  }
  void bring(std::source_location where) {
    for (int k = 0; k < n_; ++k)
      if (x_[k].value != nullptr && x_[k].value->data != nullptr && x_[k].value->data->at == nullptr)
        recomputation(s_, x_[k].value->data, where).run();
  }
};

/// The elements, computed again where they went; until the next operation, or with `stay` as long as somebody needs them.
inline void* elements_of(eager_state& s, storage* p, std::source_location where, bool stay = false) {
  if (p->at == nullptr) {
    s.pin(p);
    struct unpinned {
      storage* p;
      ~unpinned() { --p->pins; }
    } const after{p};
    recomputation(s, p, where).run();
  }
  if (stay) s.keep(p);
  return p->data();
}

/// Runs an operation and records it: its results are in `y`.
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
  } else if (c.single.run != nullptr) {
    y[0].data = s.result_storage(c.results[0].bytes());
    run_single(c, x, y[0].data->data());
  } else {
    few<void const*> in(n);
    few<void*> out(m);
    for (int k = 0; k < n; ++k)
      in[k] = x[k].value != nullptr && x[k].value->data != nullptr ? x[k].value->data->data() : &x[k].bits;
    for (int k = 0; k < m; ++k) {
      y[k].data = s.result_storage(c.results[static_cast<std::size_t>(k)].bytes());
      out[k] = y[k].data->data();
    }
    run_code(s, c, in.data(), out.data(), where);
  }
  if (!s.recording) return;
  note(s, c, x, y);
  for (int k = 0; k < m && computed && s.limit != 0; ++k)
    if (y[k].from != nullptr && y[k].data->body != nullptr)
      s.set_origin(y[k].data, c, k, [&](int j, storage*& in, std::int64_t& number) {
        number = x[j].bits;
        if (x[j].value != nullptr) in = x[j].value->data;
      });
}

/// The prepared operation with this key, which `build` makes where there is none.
template <class Build>
eager_code& code_for(eager_state& s, eager_key const& key, eager_operand const* x, int n, request const& r,
                     Build const& build) {
  std::uint64_t const hash = key.hash();
  if (eager_code* const c = s.find(key, hash)) return *c;
  std::unique_ptr<eager_code> made =
      new_code(s, x, n, r, build, [](cotangent::graph const&) { return false; });
  s.make_room();
  s.codes.push_back(std::move(made));
  s.add(key, hash, s.codes.back().get());
  return *s.codes.back();
}

/// What a graph is, as numbers: equal for graphs that were built alike.
inline std::vector<std::int64_t> words_of_graph(cotangent::graph const& g) {
  std::vector<std::int64_t> words;
  graph_view const v = g;
  auto const put_type = [&](symbol t) {
    words.push_back(static_cast<std::int64_t>(v.tensors[t].type));
    words.push_back(v.shape(t).rank);
    for (int k = 0; k < v.shape(t).rank; ++k) words.push_back(v.shape(t).size[k]);
    words.push_back(v.tensors[t].base);
    if (v.tensors[t].base != none)
      for (int k = 0; k <= v.shape(t).rank; ++k) words.push_back(v.numbers[v.tensors[t].window + k]);
  };
  for (int k = 0; k < v.input_count(); ++k) put_type(v.input(k));
  for (int k = 0; k < v.output_count(); ++k) words.push_back(v.output(k));
  for (std::int32_t t = 0; t < v.tensor_count; ++t) put_type(t);
  for (std::int32_t i = 0; i < v.node_count; ++i) {
    node const& n = v.nodes[i];
    words.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(n.op)));
    words.push_back(n.operand_count);
    words.push_back(n.result_count);
    words.push_back(n.region);
    for (int k = 0; k < n.operand_count + n.result_count; ++k) words.push_back(v.ids[n.first + k]);
    for (int k = 0; k < n.attribute_count; ++k) words.push_back(v.attribute(n, k));
  }
  return words;
}

/// The same for a function whose state nobody knows: it is built each time, and found by what was built.
template <class Build>
eager_code& code_by_content(eager_state& s, eager_operand const* x, int n, request const& r,
                            Build const& build) {
  std::vector<std::int64_t> words;
  auto at = s.described.end();
  std::unique_ptr<eager_code> made = new_code(s, x, n, r, build, [&](cotangent::graph const& g) {
    words = words_of_graph(g);
    at = s.described.find(words);
    return at != s.described.end();
  });
  if (made == nullptr) return *at->second;
  s.make_room();
  s.codes.push_back(std::move(made));
  s.described.emplace(std::move(words), s.codes.back().get());
  return *s.codes.back();
}

} // namespace COTANGENT_ABI
} // namespace cotangent::dynamic::detail

#endif
