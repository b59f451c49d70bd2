// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_PROGRAM_PROGRAM_HPP
#define COTANGENT_DYNAMIC_PROGRAM_PROGRAM_HPP

#include <cotangent/dynamic/program/program_memory.hpp>
#include <cotangent/dynamic/state/symbolic_store.hpp>

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

namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {
struct program_access;
} // namespace detail

/// The result of `ct::dynamic::graph::compile`: the steps that compute some expressions from the graph's
/// inputs, with memory of its own.
///
///     p.bind(x, data);  // `data` is read in place at every run
///     p.run();
///     p.value(y);       // valid until the next run; of an input: its bound memory
///
/// Every result has memory of its own, which each run writes, even if two results are one value or an input.
/// If an expression is listed n times as a result, n consecutive bindings go to its locations in order;
/// `value` reads the first.
///
/// A copy shares the steps and has its own memory and bindings: one for each thread.
///
/// Cost: a run allocates nothing after the first.
/// Throws: `shape_error` if memory does not fit; `graph_error` for expressions that are neither input nor
/// result, for inputs without memory, and for results that would share memory.
class program {
  friend detail::program_access;
  detail::checked_pointer<std::shared_ptr<detail::compiled_code const>, refusals::program_empty> code_;
  std::vector<detail::port_memory> in_, out_;
  std::vector<void const*> from_;
  std::vector<void*> to_;
  detail::block workspace_;
  detail::tape tape_;
  struct readiness { // of pointers; a copy has to check its own
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

  /// From the next run on, reads an input from `memory`, or writes a result there. A temporary is copied.
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
      detail::refuse_strides<plain>();
      constexpr bool temporary =
          !std::is_lvalue_reference_v<M> && cotangent::detail::memory_traits<plain>::owns;
      detail::memory_of const m = detail::memory_in(memory);
      if constexpr (temporary) cotangent::detail::check_for_memory(memory);
      bind_memory(x, m, temporary, where);
    }
  }
  template <class T>
  void bind(expr<T> const& x, std::initializer_list<T> elements,
            std::source_location where = std::source_location::current()) {
    detail::memory_of m{elements.begin(), nullptr, element_of<T>, {}};
    m.shape.push(static_cast<std::int64_t>(elements.size()));
    bind_memory(x, m, true, where);
  }
  /// For one of a list of expressions of any element: it is compared with the memory's. A number is converted.
  template <class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>> || std::is_arithmetic_v<std::remove_cvref_t<M>>)
  void bind(any_expr const& x, M&& memory, std::source_location where = std::source_location::current()) {
    using plain = std::remove_cvref_t<M>;
    if constexpr (std::is_arithmetic_v<plain> && !std::is_lvalue_reference_v<M>)
      detail::with_element(x.type(), [&]<class T>(std::type_identity<T>) { bind(x.template as<T>(where), static_cast<T>(memory), where); });
    else
      bind(x.template as<typename cotangent::detail::memory_traits<plain>::element>(where), static_cast<M&&>(memory), where);
  }
  /// For a tensor symbol: its element type is compared with the memory's. A number is converted.
  template <class M>
    requires(cotangent::detail::takes_memory<std::remove_cvref_t<M>> || std::is_arithmetic_v<std::remove_cvref_t<M>>)
  void bind(symbolic_tensor const& t, M&& memory, std::source_location where = std::source_location::current()) {
    using plain = std::remove_cvref_t<M>;
    extend::symbol const x = own_symbol(t, "bind", where);
    if constexpr (std::is_arithmetic_v<plain> && !std::is_lvalue_reference_v<M>)
      detail::with_element(type_of(x), [&]<class T>(std::type_identity<T>) {
        T const number = static_cast<T>(memory);
        bind_symbol(x, detail::memory_in(number), true, where);
      });
    else {
      detail::refuse_strides<plain>();
      constexpr bool temporary =
          !std::is_lvalue_reference_v<M> && cotangent::detail::memory_traits<plain>::owns;
      detail::memory_of const m = detail::memory_in(memory);
      if constexpr (temporary) cotangent::detail::check_for_memory(memory);
      bind_symbol(x, m, temporary, where);
    }
  }
  template <element_type T>
  void bind(symbolic_tensor const& t, std::initializer_list<T> elements,
            std::source_location where = std::source_location::current()) {
    detail::memory_of m{elements.begin(), nullptr, element_of<T>, {}};
    m.shape.push(static_cast<std::int64_t>(elements.size()));
    bind_symbol(own_symbol(t, "bind", where), m, true, where);
  }
  template <element_type T>
  values<T> value(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    extend::symbol const y = own_symbol(t, "value", where);
    if (type_of(y) != element_of<T>) throw graph_error(detail::located<refusals::value_element>(named(y), where));
    return value_of<T>(y, where);
  }
  void bind_memory(any_expr const& x, detail::memory_of const& m, bool copied, std::source_location where) {
    bind_symbol(own_symbol(x.where_it_stands(), "bind", where), m, copied, where);
  }

  /// Computes the results. Throws: `graph_error` if an input has no memory, or results share memory;
  /// `shape_error` if an index was out of range; `numeric_error` if a matrix was singular.
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
    detail::message text("cotangent: run: ");
    cotangent::detail::raise_status(s, code_->code.put(text, s).put(", at ").put(where.file_name()).put(":").put(where.line()));
  }

  /// The elements of a result, or of the memory bound to an input. Throws: `graph_error` for a symbol that
  /// the program does not keep.
  template <class T>
  values<T> value(expr<T> const& y, std::source_location where = std::source_location::current()) const {
    extend::symbol const t = own_symbol(y.where_it_stands(), "value", where);
    return value_of<T>(t, where);
  }
  /// By the name of a symbol of the graph: the first of that name.
  template <element_type T>
  values<T> value(std::string_view name, std::source_location where = std::source_location::current()) const {
    detail::port const* p = nullptr;
    auto const look = [&](std::vector<detail::port> const& ports) {
      for (detail::port const& q : ports)
        if (q.name == name && (p == nullptr || q.id < p->id)) p = &q;
    };
    look(code_->inputs);
    look(code_->outputs);
    if (p != nullptr && p->type != element_of<T>)
      throw graph_error(detail::located<refusals::value_element>(*p, where));
    values<T> found;
    if (p != nullptr && !name.empty() && find_value(p->id, found, where)) return found;
    detail::port asked;
    asked.name = name;
    throw graph_error(detail::located<refusals::value_expression>(asked, where));
  }
  /// The elements of an input or a result in the program's own memory, if it was compiled with `own_memory`
  /// and this is not bound. The input must be written there before each run; a run may overwrite it with a
  /// result.
  template <class T>
  std::span<T> memory(expr<T> const& x, std::source_location where = std::source_location::current()) {
    extend::symbol const t = own_symbol(x.where_it_stands(), "memory", where);
    std::int64_t at = -1;
    detail::port const* p = nullptr;
    auto const find = [&](std::unordered_map<extend::symbol, int> const& m, std::vector<detail::port_memory> const& places,
                          std::vector<detail::port> const& ports) {
      auto const first = m.find(t);
      for (int k = first == m.end() ? -1 : first->second; k >= 0 && at < 0; k = p->next) {
        at = places[static_cast<std::size_t>(k)].arena;
        p = &ports[static_cast<std::size_t>(k)];
      }
    };
    // first: an input may be a result too, which is then a copy of it
    find(code_->input_of, in_, code_->inputs);
    find(code_->output_of, out_, code_->outputs);
    if (at < 0)
      throw graph_error(detail::located<refusals::memory_expression>(named(t), where));
    workspace_.at_least(static_cast<std::size_t>(code_->code.workspace_bytes()));
    return {static_cast<T*>(in_arena(at)), static_cast<std::size_t>(p->shape.size().number)};
  }

  /// The memory for intermediate values, and with `own_memory` for inputs and results.
  std::int64_t workspace_bytes() const { return code_->code.workspace_bytes(); }
  /// The bytes used by the records of loops in the runs so far.
  std::int64_t tape_bytes() const noexcept { return tape_.bytes(); }
  /// The part of it for values that outlive their step; the rest is scratch memory of steps.
  std::int64_t value_bytes() const { return code_->code.value_bytes(); }
  /// The predicted cost of a run, by the model of `compile_options::memory_budget`; without a budget only the
  /// bytes.
  detail::run_prediction const& predicted() const { return code_->predicted; }
  /// The number of steps of a run: fused operations count once.
  int step_count() const { return code_->code.step_count(); }

private:
  template <class Refusal> [[noreturn]] static void refuse(char const* name, std::source_location where) {
    static extend::builder const nothing;
    detail::raise_graph<Refusal>(nothing, detail::request_of_words(name, where));
  }
  /// The symbol of an expression of the program's graph.
  extend::symbol own_symbol(detail::standing const& x, char const* name, std::source_location where) const {
    if (x.graph != code_->graph->number) refuse<refusals::program_other_graph>(name, where);
    return x.id;
  }
  extend::symbol own_symbol(symbolic_tensor const& t, char const* name, std::source_location where) const {
    if (!t.present()) refuse<refusals::symbolic_absent>(name, where);
    if (t.graph != code_->graph->number) refuse<refusals::program_other_graph>(name, where);
    if (detail::graph_state const* const s = code_->graph->state; s != nullptr)
      if (detail::tensor_record const& at = detail::look(*s, t.id); at.dead || at.generation != t.generation)
        refuse<refusals::symbolic_dead>(name, where);
    return t.id;
  }
  element type_of(extend::symbol t) const {
    if (auto const at = code_->output_of.find(t); at != code_->output_of.end())
      return code_->outputs[static_cast<std::size_t>(at->second)].type;
    if (auto const at = code_->input_of.find(t); at != code_->input_of.end())
      return code_->inputs[static_cast<std::size_t>(at->second)].type;
    return named(t).type;
  }
  void bind_symbol(extend::symbol t, detail::memory_of const& m, bool copied, std::source_location where) {
    detail::compiled_code const& c = *code_;
    if (int const in = c.input_to_bind(t); in >= 0) {
      auto const k = static_cast<std::size_t>(in);
      detail::check_fit(c.inputs[k], m, where);
      if (!copied) detail::check_alignment(c.inputs[k], m, where);
      in_[k].set(m, copied, c.inputs[k].bytes);
    } else if (auto const out = c.output_of.find(t); out != c.output_of.end()) {
      // of its locations, the first one that was bound least often
      auto k = static_cast<std::size_t>(out->second);
      for (int next = c.outputs[k].next; next >= 0; next = c.outputs[static_cast<std::size_t>(next)].next)
        if (out_[static_cast<std::size_t>(next)].bound < out_[k].bound) k = static_cast<std::size_t>(next);
      detail::check_fit(c.outputs[k], m, where);
      if ((m.to == nullptr && c.outputs[k].bytes != 0) || copied) // (an empty vector may have no memory)
        throw graph_error(detail::located<refusals::bind_result>(c.outputs[k], where));
      detail::check_alignment(c.outputs[k], m, where);
      out_[k].set(m, false, 0);
      ++out_[k].bound;
    } else
      throw graph_error(detail::located<refusals::bind_expression>(named(t), where));
    ready_.now = false;
  }
  /// The elements of a result or an input; false if the symbol is neither, or an input without memory.
  template <class T> bool find_value(extend::symbol t, values<T>& to, std::source_location where) const {
    if (auto const out = code_->output_of.find(t); out != code_->output_of.end()) {
      auto const k = static_cast<std::size_t>(out->second);
      void const* const at = out_[k].is_own ? out_[k].own.data()
                             : out_[k].data == nullptr && out_[k].arena >= 0 && workspace_.bytes() != 0
                                 ? in_arena(out_[k].arena)
                                 : out_[k].data;
      if (at == nullptr && code_->outputs[k].bytes != 0)
        throw graph_error(detail::located<refusals::value_before_run>(code_->outputs[k], where));
      to = {static_cast<T const*>(at), code_->outputs[k].shape};
      return true;
    }
    auto const in = code_->input_of.find(t);
    if (in == code_->input_of.end()) return false;
    auto const k = static_cast<std::size_t>(in->second);
    if (!in_[k].is_own && in_[k].data == nullptr) return false;
    to = {static_cast<T const*>(in_[k].is_own ? in_[k].own.data() : in_[k].data), code_->inputs[k].shape};
    return true;
  }
  template <class T> values<T> value_of(extend::symbol t, std::source_location where) const {
    values<T> found;
    if (find_value(t, found, where)) return found;
    detail::graph_state const* const s = code_->graph->state;
    if (s != nullptr && s->b.tensor(t).region != 0)
      throw graph_error(detail::located<refusals::value_in_body>(named(t), where));
    throw graph_error(detail::located<refusals::value_expression>(named(t), where));
  }
  /// The port of a symbol of the graph; empty if the graph has ended.
  detail::port named(extend::symbol t) const {
    detail::graph_state const* const s = code_->graph->state;
    return s == nullptr ? detail::port{} : detail::port_of(s->b, t);
  }
  void prepare(std::source_location where) {
    static constexpr char nothing[64]{};
    detail::compiled_code const& c = *code_;
    from_.assign(c.inputs.size(), nothing);
    to_.resize(c.outputs.size());
    for (std::size_t k = 0; k < in_.size(); ++k) {
      detail::port const& p = c.inputs[k];
      if (in_[k].is_own) in_[k].data = in_[k].to = in_[k].own.data(); // in a copy of the program
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
            detail::located<refusals::run_updated>(p,
                    where));
      if (in_[k].data != nullptr) from_[k] = in_[k].data;
      else if ((p.read || p.partner >= 0) && p.bytes != 0 && in_[k].arena < 0)
        throw graph_error(
            detail::located<refusals::run_unbound>(p, where));
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
    detail::check_overlaps(*code_, in_, out_, from_, to_, where);
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

};

namespace detail {
/// Access to programs for profiles and pullbacks.
struct program_access {
  static compiled_code const& code(program const& p) { return *p.code_; }
  static tape& record(program& p) { return p.tape_; }
  static void bind(program& p, symbol t, memory_of const& m, std::source_location where) {
    p.bind_symbol(t, m, false, where);
  }
  /// Precondition: the result is listed once.
  static void release(program& p, symbol t) {
    p.out_[static_cast<std::size_t>(p.code_->output_of.find(t)->second)].release();
    p.ready_.now = false;
  }
  static symbol symbol_of(program const& p, any_expr const& x, char const* name, std::source_location where) {
    return p.own_symbol(x.where_it_stands(), name, where);
  }
  template <class T> static values<T> result(program const& p, expr<T> const& x, std::source_location where) {
    symbol const t = p.own_symbol(x.where_it_stands(), "value", where);
    if (auto const& of = p.code_->output_of; of.find(t) != of.end()) return p.value_of<T>(t, where);
    throw graph_error(located<refusals::value_gradient>(p.named(t), where));
  }
};
} // namespace detail
} // namespace cotangent::dynamic

#endif
