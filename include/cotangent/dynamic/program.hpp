// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_PROGRAM_HPP
#define COTANGENT_DYNAMIC_PROGRAM_HPP

#include <cotangent/dynamic/compiled_code.hpp>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cotangent::dynamic {
namespace detail {
inline namespace COTANGENT_ABI {
struct program_access;
} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// What `ct::dynamic::graph::compile` makes: the steps that compute some expressions from the graph's inputs, and memory of
/// its own for them.
///
///     p.bind(x, data);  // `data` is read at every run, from where it lies
///     p.run();
///     p.value(y);       // valid until the next run, or the end of the program; of an input, what it is bound to
///
/// A copy shares the steps and has its own memory and bindings: one for each thread.
///
/// Cost: a run allocates nothing after the first.
/// Throws: `shape_error` where memory does not fit; `graph_error` for what is neither input nor result, for inputs without
/// memory, and for results that would share memory.
class program {
  friend detail::program_access;
  struct place {
    void const* data = nullptr;
    void* to = nullptr;
    detail::block own;
    bool is_own = false;
    bool is_input = false; // a result that is computed elsewhere and copied, since it lies where an input is still read
    std::int64_t arena = -1; // where it is in the workspace
  };
  std::shared_ptr<detail::compiled_code const> code_;
  std::vector<place> in_, out_;
  std::vector<void const*> from_;
  std::vector<void*> to_;
  detail::block workspace_;
  tape tape_;
  struct readiness { // of pointers, which a copy has to find again
    bool now = false;
    readiness() = default;
    readiness(readiness const&) noexcept {}
    readiness& operator=(readiness const&) noexcept { return now = false, *this; }
  } ready_;

  void* in_arena(std::int64_t at) const noexcept { return static_cast<char*>(workspace_.data()) + at; }

public:
  program() = default;
  explicit program(std::shared_ptr<detail::compiled_code const> code) : code_(std::move(code)) {
    in_.resize(code_->inputs.size());
    out_.resize(code_->outputs.size());
    for (std::size_t k = 0; k < in_.size(); ++k) in_[k].arena = code_->code.input_place(static_cast<int>(k));
    for (std::size_t k = 0; k < out_.size(); ++k)
      out_[k].arena = code_->code.output_place(static_cast<int>(k));
  }

  /// Lets the program read an input from `memory`, or write a result there, from the next run on. Memory that is a
  /// temporary is copied.
  template <class T, class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>> || std::is_arithmetic_v<M>)
  void bind(expr<T> const& x, M&& memory, std::source_location where = std::source_location::current()) {
    using plain = std::remove_cvref_t<M>;
    if constexpr (std::is_arithmetic_v<M> &&
                  !std::is_same_v<M, T>) { // a number of another type, not a variable
      bind(x, static_cast<T>(memory), where);
    } else {
      static_assert(std::is_same_v<T, typename cotangent::detail::memory_traits<plain>::element>,
                    "cotangent: bind: the elements of the memory must be those of the expression");
      constexpr bool temporary =
          !std::is_lvalue_reference_v<M> && cotangent::detail::memory_traits<plain>::owns;
      bind_memory(x, detail::memory_in(memory), temporary, where);
    }
  }
  template <class T>
  void bind(expr<T> const& x, std::initializer_list<T> elements,
            std::source_location where = std::source_location::current()) {
    detail::memory_of m{elements.begin(), nullptr, element_of<T>, {}};
    m.shape.push(static_cast<std::int64_t>(elements.size()));
    bind_memory(x, m, true, where);
  }
  /// The same for a tensor symbol: its elements are compared with the memory's. A number is converted.
  template <class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>> || std::is_arithmetic_v<std::remove_cvref_t<M>>)
  void bind(symbolic_tensor const& t, M&& memory, std::source_location where = std::source_location::current()) {
    using plain = std::remove_cvref_t<M>;
    any_expr const x = expression_of(t);
    if constexpr (std::is_arithmetic_v<plain> && !std::is_lvalue_reference_v<M>)
      with_element(x.type(), [&]<class T>(std::type_identity<T>) {
        T const number = static_cast<T>(memory);
        bind_memory(x, detail::memory_in(number), true, where);
      });
    else {
      constexpr bool temporary =
          !std::is_lvalue_reference_v<M> && cotangent::detail::memory_traits<plain>::owns;
      bind_memory(x, detail::memory_in(memory), temporary, where);
    }
  }
  template <element_type T>
  void bind(symbolic_tensor const& t, std::initializer_list<T> elements,
            std::source_location where = std::source_location::current()) {
    detail::memory_of m{elements.begin(), nullptr, element_of<T>, {}};
    m.shape.push(static_cast<std::int64_t>(elements.size()));
    bind_memory(expression_of(t), m, true, where);
  }
  template <element_type T>
  values<T> value(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return value(expression_of(t).template as<T>(where), where);
  }
  void bind_memory(any_expr const& x, detail::memory_of const& m, bool copied, std::source_location where) {
    bool const result = has(code_->output_of, x.id()) && (m.to != nullptr || !has(code_->input_of, x.id()));
    if (has(code_->input_of, x.id())) {
      int const k = code_->input_of.at(x.id());
      check_fit(code_->inputs[static_cast<std::size_t>(k)], m, where);
      set(in_[static_cast<std::size_t>(k)], m, copied, code_->inputs[static_cast<std::size_t>(k)].bytes);
    } else if (result) {
      int const k = code_->output_of.at(x.id());
      check_fit(code_->outputs[static_cast<std::size_t>(k)], m, where);
      if (m.to == nullptr || copied)
        throw graph_error(
            located("cotangent: bind: the memory of a result must be writable and outlive the program",
                    code_->outputs[static_cast<std::size_t>(k)], where));
      set(out_[static_cast<std::size_t>(k)], m, false, 0);
    } else
      throw graph_error(located("cotangent: bind: an expression must be an input or a result of the program; "
                                "name results in compile",
                                named(x), where));
    ready_.now = false;
  }

  /// Computes the results. Throws: `graph_error` where an input has no memory or results share some; `shape_error` where an
  /// index was out of range (it was clamped).
  void run(std::source_location where = std::source_location::current()) {
    if (!ready_.now) prepare(where);
    for (std::size_t k = 0; k < in_.size(); ++k)
      if (in_[k].arena >= 0 && in_[k].data != nullptr && code_->inputs[k].bytes > 0)
        std::memcpy(in_arena(in_[k].arena), in_[k].data, static_cast<std::size_t>(code_->inputs[k].bytes));
    status const s = code_->code.run(from_.data(), to_.data(), workspace_.data(), &tape_);
    for (std::size_t k = 0; k < out_.size(); ++k)
      if (out_[k].is_input)
        std::memcpy(out_[k].to, to_[k], static_cast<std::size_t>(code_->outputs[k].bytes));
      else if (out_[k].arena >= 0 && out_[k].to != nullptr && code_->outputs[k].bytes > 0)
        std::memcpy(out_[k].to, in_arena(out_[k].arena), static_cast<std::size_t>(code_->outputs[k].bytes));
    if (s == status::ok) return;
    message text("cotangent: run: ");
    throw shape_error(text.put(text_of(s)).put(", at ").put(where.file_name()).put(":").put(where.line()));
  }

  /// The elements of a result, or of what an input is bound to. Throws: `graph_error` for a symbol that the program does not
  /// keep.
  template <class T>
  values<T> value(expr<T> const& y, std::source_location where = std::source_location::current()) const {
    values<T> found;
    if (find_value(y.id(), found, where)) return found;
    detail::graph_state const* const s = y.where_it_stands().s;
    throw graph_error(
        located(s != nullptr && s->b.tensor(y.id()).region != 0
                    ? "cotangent: value: a symbol of a loop or branch must not be asked for, since it has a value in each iteration; return it from there and name that in compile"
                    : not_kept,
                named(y), where));
  }
  /// The same by the name of a symbol of the graph: the first of that name.
  template <element_type T>
  values<T> value(std::string_view name, std::source_location where = std::source_location::current()) const {
    detail::port const* p = nullptr;
    auto const look = [&](std::vector<detail::port> const& ports) {
      for (detail::port const& q : ports)
        if (q.name == name && (p == nullptr || q.id < p->id)) p = &q;
    };
    if (code_ != nullptr && !name.empty()) {
      look(code_->inputs);
      look(code_->outputs);
    }
    if (p != nullptr && p->type != element_of<T>)
      throw graph_error(located("cotangent: value: the element type that is asked for must be that of the symbol", *p, where));
    values<T> found;
    if (p != nullptr && find_value(p->id, found, where)) return found;
    message text(not_kept);
    text.put("; it is ").put(name.data(), static_cast<int>(name.size()));
    throw graph_error(text.put(", at ").put(where.file_name()).put(":").put(where.line()));
  }
  /// The elements of an input or a result in the program's own memory, if it was compiled with `own_memory` and this is
  /// not bound. An input has to be written there before each run; a run may leave a result in its place.
  template <class T>
  std::span<T> memory(expr<T> const& x, std::source_location where = std::source_location::current()) {
    std::int64_t at = -1;
    detail::port const* p = nullptr;
    auto const find = [&](std::unordered_map<symbol, int> const& m, std::vector<place> const& places,
                          std::vector<detail::port> const& ports) {
      auto const k = m.find(x.id());
      if (k == m.end() || at >= 0) return;
      at = places[static_cast<std::size_t>(k->second)].arena;
      p = &ports[static_cast<std::size_t>(k->second)];
    };
    if (code_ != nullptr) {
      find(code_->input_of, in_, code_->inputs); // first: an input may be a result too, which is a copy of it
      find(code_->output_of, out_, code_->outputs);
    }
    if (at < 0)
      throw graph_error(located("cotangent: memory: an expression must be an input or a result that is not "
                                "bound, of a program compiled "
                                "with own_memory",
                                named(x), where));
    workspace_.at_least(static_cast<std::size_t>(code_->code.workspace_bytes()));
    return {static_cast<T*>(in_arena(at)), static_cast<std::size_t>(p->shape.size().number)};
  }

  /// The memory for what is computed on the way; results and inputs are in it where the program was compiled with
  /// `own_memory`.
  std::int64_t workspace_bytes() const noexcept { return code_->code.workspace_bytes(); }
  /// What loops took for their records in the runs so far.
  std::int64_t tape_bytes() const noexcept { return tape_.bytes(); }
  /// The part of it for values that wait for a later step; the rest is what steps need while they run.
  std::int64_t value_bytes() const noexcept { return code_->code.value_bytes(); }
  /// What a run takes, by the model that `compile_options::fit` chooses with; without it only the bytes.
  run_prediction const& predicted() const noexcept { return code_->predicted; }
  /// How many steps a run takes: what runs in one loop counts once.
  int step_count() const noexcept { return code_->code.step_count(); }

private:
  static constexpr char const* not_kept =
      "cotangent: value: an expression must be a result of the program; name it in compile, or compile with keep_all";
  /// The elements of a result or an input; false where the symbol is neither, or an input without memory.
  template <class T> bool find_value(symbol t, values<T>& to, std::source_location where) const {
    if (code_ != nullptr && has(code_->output_of, t)) {
      auto const k = static_cast<std::size_t>(code_->output_of.at(t));
      void const* const at = out_[k].is_own ? out_[k].own.data()
                             : out_[k].data == nullptr && out_[k].arena >= 0 && workspace_.bytes() != 0
                                 ? in_arena(out_[k].arena)
                                 : out_[k].data;
      if (at == nullptr && code_->outputs[k].bytes != 0)
        throw graph_error(located("cotangent: value: the program must have run before it has values",
                                  code_->outputs[k], where));
      to = {static_cast<T const*>(at), code_->outputs[k].shape};
      return true;
    }
    if (code_ == nullptr || !has(code_->input_of, t)) return false;
    auto const k = static_cast<std::size_t>(code_->input_of.at(t));
    if (!in_[k].is_own && in_[k].data == nullptr) return false;
    to = {static_cast<T const*>(in_[k].is_own ? in_[k].own.data() : in_[k].data), code_->inputs[k].shape};
    return true;
  }
  static any_expr expression_of(symbolic_tensor const& t) {
    return {detail::standing{t.s, t.id, 0}, t.present() ? t.s->b.tensor(t.id).type : element::float64};
  }
  template <class F> static void with_element(element e, F f) {
    switch (e) {
    case element::float32: return f(std::type_identity<float>{});
    case element::float64: return f(std::type_identity<double>{});
    case element::int32: return f(std::type_identity<std::int32_t>{});
    case element::int64: return f(std::type_identity<std::int64_t>{});
    case element::boolean: return f(std::type_identity<bool>{});
    }
  }
  static bool has(std::unordered_map<symbol, int> const& m, symbol t) { return m.find(t) != m.end(); }
  static detail::port named(any_expr const& x) {
    detail::graph_state const* const s = x.where_it_stands().s;
    return s == nullptr ? detail::port{} : detail::port_of(s->b, x.id());
  }
  static message located(char const* words, detail::port const& p, std::source_location where) {
    message text(words);
    text.put("; it is ");
    if (!p.name.empty()) text.put(p.name.c_str()).put(" ");
    text.put(name_of(p.type)).put(" ").put(p.shape);
    if (where.line() != 0) text.put(", at ").put(where.file_name()).put(":").put(where.line());
    return text;
  }
  static void check_fit(detail::port const& p, detail::memory_of const& m, std::source_location where) {
    bool const row = m.shape.rank() == 1 && m.shape[0] == p.shape.size().number; // all elements, row by row
    if (m.type != p.type)
      throw graph_error(
          located("cotangent: bind: the elements of the memory must be those of the expression", p, where));
    if (row || sizes(p.shape) == m.shape) return;
    cotangent::shape given;
    for (std::int64_t const n : m.shape) given.push(extent::of(n));
    message text("cotangent: bind: memory of shape ");
    text.put(given).put(" must have the shape ").put(p.shape);
    if (!p.name.empty()) text.put(" of ").put(p.name.c_str());
    throw shape_error(text.put(", at ").put(where.file_name()).put(":").put(where.line()));
  }
  static void set(place& at, detail::memory_of const& m, bool copied, std::int64_t bytes) {
    at.is_own = copied;
    if (copied) {
      at.own.at_least(static_cast<std::size_t>(bytes > 0 ? bytes : 1));
      if (bytes > 0) std::memcpy(at.own.data(), m.data, static_cast<std::size_t>(bytes));
      at.data = at.to = at.own.data();
    } else {
      at.data = m.data;
      at.to = m.to;
    }
  }

  void prepare(std::source_location where) {
    static constexpr char nothing[64]{};
    detail::compiled_code const& c = *code_;
    from_.assign(c.inputs.size(), nothing);
    to_.resize(c.outputs.size());
    for (std::size_t k = 0; k < in_.size(); ++k) {
      detail::port const& p = c.inputs[k];
      if (in_[k].is_own) in_[k].data = in_[k].to = in_[k].own.data(); // of a copy of the program
      if (in_[k].data == nullptr && p.constant >= 0)
        in_[k].data = c.constants[static_cast<std::size_t>(p.constant)].bytes.data();
      if (in_[k].data == nullptr && p.state) {
        in_[k].own.at_least(static_cast<std::size_t>(p.bytes > 0 ? p.bytes : 1));
        std::memset(in_[k].own.data(), 0, static_cast<std::size_t>(p.bytes));
        in_[k].is_own = true;
        in_[k].data = in_[k].to = in_[k].own.data();
      }
      if (p.partner >= 0 && p.bytes != 0 && in_[k].data != nullptr && in_[k].to == nullptr)
        throw graph_error(
            located("cotangent: run: an input that is updated must be bound to memory that can be written", p,
                    where));
      if (in_[k].data != nullptr) from_[k] = in_[k].data;
      else if ((p.read || p.partner >= 0) && p.bytes != 0 && in_[k].arena < 0)
        throw graph_error(
            located("cotangent: run: every input that is read must be bound to memory", p, where));
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      detail::port const& p = c.outputs[k];
      if (p.partner >= 0) {
        out_[k].data = out_[k].to = in_[static_cast<std::size_t>(p.partner)].to;
      } else if (out_[k].arena < 0 && (out_[k].is_own || out_[k].data == nullptr)) {
        out_[k].own.at_least(static_cast<std::size_t>(p.bytes > 0 ? p.bytes : 1));
        out_[k].is_own = true;
        out_[k].data = out_[k].to = out_[k].own.data();
      }
      to_[k] = out_[k].to;
    }
    check_overlaps(where);
    for (std::size_t k = 0; k < out_.size(); ++k) {
      out_[k].is_input = false;
      bool const elsewhere = out_[k].is_own || out_[k].arena >= 0 || c.outputs[k].bytes == 0;
      for (std::size_t j = 0; j < in_.size() && !elsewhere; ++j)
        if (in_[j].data == out_[k].to && !c.code.may_replace(static_cast<int>(k), static_cast<int>(j)))
          out_[k].is_input = true;
      if (!out_[k].is_input) continue;
      out_[k].own.at_least(static_cast<std::size_t>(code_->outputs[k].bytes));
      to_[k] = out_[k].own.data();
    }
    workspace_.at_least(static_cast<std::size_t>(c.code.workspace_bytes()));
    ready_.now = true;
  }

  /// Results lie apart, and over no input unless they are that input exactly.
  void check_overlaps(std::source_location where) const {
    auto const overlap = [](void const* a, std::int64_t n, void const* b, std::int64_t m) {
      auto const p = reinterpret_cast<std::uintptr_t>(a), q = reinterpret_cast<std::uintptr_t>(b);
      return n > 0 && m > 0 && p < q + static_cast<std::uintptr_t>(m) &&
             q < p + static_cast<std::uintptr_t>(n);
    };
    for (std::size_t k = 0; k < to_.size(); ++k) {
      if (out_[k].is_own || to_[k] == nullptr) continue;
      detail::port const& y = code_->outputs[k];
      for (std::size_t j = 0; j < to_.size(); ++j)
        if (j != k && overlap(to_[k], y.bytes, to_[j], code_->outputs[j].bytes))
          throw graph_error(located("cotangent: bind: results must not share memory", y, where));
      for (std::size_t j = 0; j < from_.size(); ++j)
        if (in_[j].data != nullptr && overlap(to_[k], y.bytes, from_[j], code_->inputs[j].bytes) &&
            (to_[k] != from_[j] || y.bytes != code_->inputs[j].bytes))
          throw graph_error(located(
              "cotangent: bind: a result must not overlap an input, unless it is that input", y, where));
    }
  }
};

} // namespace COTANGENT_ABI

namespace detail {
inline namespace COTANGENT_ABI {
/// What profiles and pullbacks see of a program.
struct program_access {
  static compiled_code const& code(program const& p) { return *p.code_; }
  static tape& record(program& p) { return p.tape_; }
};
} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent::dynamic

#endif
