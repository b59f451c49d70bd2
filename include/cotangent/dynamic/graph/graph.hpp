// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_GRAPH_HPP
#define COTANGENT_DYNAMIC_GRAPH_GRAPH_HPP

#include <cotangent/dynamic/expressions/functions.hpp>
#include <cotangent/dynamic/expressions/layout.hpp>
#include <cotangent/dynamic/symbolic/compiling.hpp>
#include <cotangent/dynamic/symbolic/symbolic.hpp>

#include <cotangent/transform/differentiate/backward.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

struct vjp_options; // dynamic/graph/vjp.hpp
class vjp_program;

/// A graph that is built at run time, by the functions and operators of traced functions.
///
///     ct::dynamic::graph g;
///     auto x = g.input<double>("x", {3});
///     auto y = ct::sum(ct::exp(x));
///     auto dx = g.gradient({y}, {x}).front();
///     auto p = g.compile({y, dx});
///
/// Equal operations on equal operands are one value. A graph is moved and copied as a value; expressions
/// belong to the graph that created them, also after it was moved.
///
/// Throws: `shape_error`, `graph_error` and the like, with the operation, the shapes and your source
/// location. After an error the graph is unchanged.
class graph {
  using held_state = detail::checked_pointer<std::unique_ptr<detail::graph_state>, refusals::graph_moved_from>;
  held_state s_{std::make_unique<detail::graph_state>()};
  friend struct detail::graph_access;
  friend class symbolic_graph;
  static graph of(std::unique_ptr<detail::graph_state> state, std::function<command(symbolic_exec, command const&)> const& substitution,
                  std::source_location where) {
    graph g;
    g.s_ = held_state(std::move(state));
    if (substitution) g.symbolic().substitute(substitution, where);
    return g;
  }

public:
  graph() = default;
  graph(graph&&) = default;
  graph& operator=(graph&&) = default;
  graph(graph const& other) : s_(other.s_->duplicate()) {}
  graph& operator=(graph const& other) {
    s_ = held_state(other.s_->duplicate());
    return *this;
  }

  /// A value that is given at every run.
  template <element_type T>
  expr<T> input(std::string_view name, sizes const& shape = {},
                std::source_location where = std::source_location::current()) {
    return expr<T>(declare(element_of<T>, name, shape, where));
  }
  /// An input that is listed by `parameters()`, for training.
  template <element_type T>
  expr<T> parameter(std::string_view name, sizes const& shape = {},
                    std::source_location where = std::source_location::current()) {
    expr<T> const x = input<T>(name, shape, where);
    s_->parameters.push_back(x.id());
    return x;
  }
  /// An input in the program's own memory, for `compile_options::updates`: initially zero, unless you bind
  /// it.
  template <element_type T>
  expr<T> state(std::string_view name, sizes const& shape = {},
                std::source_location where = std::source_location::current()) {
    expr<T> const x = input<T>(name, shape, where);
    s_->states.push_back(x.id());
    return x;
  }
  std::vector<any_expr> parameters() const {
    std::vector<any_expr> all;
    for (extend::symbol const t : s_->parameters) all.push_back(expression(t));
    return all;
  }

  /// A scalar constant.
  template <element_type T> expr<T> constant(T value,
                                             std::source_location where = std::source_location::current()) {
    extend::symbol const t =
        detail::scalar_symbol(*s_, element_of<T>, cotangent::detail::literal_bits<T>(value), where);
    detail::tell_made(*s_);
    return expr<T>(detail::standing(*s_, t));
  }
  /// One number in all elements.
  template <element_type T>
  expr<T> full(sizes const& shape, T value, std::source_location where = std::source_location::current()) {
    if constexpr (cotangent::detail::is_half_type<T>)
      return cotangent::convert<T>(full(shape, static_cast<float>(value), where), where);
    else return cotangent::broadcast_to(constant(value, where), shape, where);
  }
  /// A constant with the elements of a tensor, an array or a vector, which the graph copies.
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
    requires(!element_type<M>)
  expr<T> constant(M const& elements, std::source_location where = std::source_location::current()) {
    detail::memory_of const m = detail::memory_to_copy(elements);
    return constant_of<T>(m, m.shape, where);
  }
  template <class M, class T = typename cotangent::detail::memory_traits<M>::element>
  expr<T> constant(M const& elements, sizes const& shape,
                   std::source_location where = std::source_location::current()) {
    return constant_of<T>(detail::memory_to_copy(elements), shape, where);
  }

  /// A tensor that is written in pieces, by `write`. Unwritten elements are zero.
  template <element_type T>
  expr<T> tensor(std::string_view name, sizes const& shape,
                 std::source_location where = std::source_location::current()) {
    return expr<T>(declare(element_of<T>, name, shape, where, false));
  }

  /// A window on a tensor or on a view. It is read like any expression, and may be written once.
  template <class T>
  expr<T> view(expr<T> const& x, window const& w,
               std::source_location where = std::source_location::current()) {
    detail::request const r{"view", 4, nullptr, 0, where};
    extend::symbol const of = inside(x, r);
    detail::undo back(*s_);
    extend::symbol const v = detail::window_on(*s_, of, w, r);
    back.keep();
    detail::tell_made(*s_);
    return expr<T>(detail::standing(*s_, v));
  }

  /// Computes an expression at the location of `to`: a view, or a whole tensor of `tensor()`. Each element is
  /// written at most once. All readers see the written elements, in whatever order reads and writes appear in
  /// your source. The body of a loop or branch writes to its own tensors, which are new in each iteration.
  /// Returns `to`.
  template <class T, class V>
  expr<T> write(expr<T> const& to, V const& value,
                std::source_location where = std::source_location::current()) {
    extend::builder& b = s_->b;
    detail::request r{"write", 5, nullptr, 0, where};
    extend::symbol const at = known(to, r), root = b.tensor(at).base == extend::none ? at : b.tensor(at).base;
    extend::symbol both[]{at, at};
    r.operands = both;
    r.operand_count = 1;
    if (b.tensor(root).region != s_->region() ||
        (!s_->frames.empty() && b.tensor(root).producer == extend::none && !s_->is_piecewise(root)))
      detail::raise<refusals::dynamic_write_body>(b, r);
    detail::undo back(*s_);
    expr<T> const given(value);
    if (!given.attached() && !given.where_it_stands().is_number) detail::raise<refusals::dynamic_no_value>(b, r);
    extend::symbol const from = given.attached()
                            ? inside(expr<T>::lift(where, detail::written_sizes_fn{{sizes(to.shape())}}, given), r)
                            : constant_like(at, given.where_it_stands().payload, where);
    both[1] = from;
    r.operand_count = 2;
    auto& writers = s_->written[root];
    bool const own = at != root || s_->is_piecewise(at);
    if (!own || b.tensor(at).producer != extend::none || b.tensor(root).producer != extend::none) {
      if (!s_->is_piecewise(root)) detail::raise<refusals::dynamic_write_place>(b, r);
      detail::raise<refusals::dynamic_write_twice>(b, r);
    }
    if (repeats(detail::window_of(b.get(), at))) detail::raise<refusals::dynamic_write_twice>(b, r);
    if (writers.size() < detail::compared_at_once)
      for (extend::symbol const other : writers)
        if (detail::overlap(b.get(), at, other)) {
          extend::symbol const pair[]{at, other};
          r.operands = pair;
          detail::raise<refusals::dynamic_write_twice>(b, r);
        }
    (void)b.assign(info_of<op::identity>(), &from, 1, &at, 1, nullptr, 0, where);
    writers.push_back(at);
    back.keep();
    detail::tell_made(*s_);
    return to;
  }

  /// The gradients of the outputs with respect to each of `wrt`. `seeds` are the cotangents of the outputs;
  /// by default they are 1, which requires scalars.
  ///
  /// In the body of a loop or branch these are gradients of one iteration's values, also with respect to
  /// outer values. Paths through values carried from earlier iterations do not count.
  template <class T>
  std::vector<expr<T>> gradient(std::initializer_list<any_expr> outputs, std::initializer_list<expr<T>> wrt,
                                std::initializer_list<any_expr> seeds = {},
                                unreachable policy = unreachable::zeros,
                                std::source_location where = std::source_location::current()) {
    return gradient(outputs, wrt, seeds, gradient_options{policy, {}, {}}, where);
  }
  template <class T>
  std::vector<expr<T>> gradient(std::initializer_list<any_expr> outputs, std::initializer_list<expr<T>> wrt,
                                std::initializer_list<any_expr> seeds, gradient_options const& options,
                                std::source_location where = std::source_location::current()) {
    return gradient(expressions(outputs), std::vector<expr<T>>(wrt), expressions(seeds), options, where);
  }
  /// Takes lists: vectors, arrays or spans of expressions of one element type, or of any (`any_expr`).
  template <class T>
  std::vector<expr<T>> gradient(expressions const& outputs, std::vector<expr<T>> const& wrt,
                                expressions const& seeds = {}, unreachable policy = unreachable::zeros,
                                std::source_location where = std::source_location::current()) {
    return gradient(outputs, wrt, seeds, gradient_options{policy, {}, {}}, where);
  }
  template <class T>
  std::vector<expr<T>> gradient(expressions const& outputs, std::vector<expr<T>> const& wrt, expressions const& seeds,
                                gradient_options const& options,
                                std::source_location where = std::source_location::current()) {
    std::vector<expr<T>> all;
    for (any_expr const& d : gradient(outputs, expressions(wrt), seeds, options, where))
      all.push_back(d.template as<T>());
    return all;
  }
  std::vector<any_expr> gradient(expressions const& outputs, expressions const& wrt,
                                 expressions const& seeds = {}, unreachable policy = unreachable::zeros,
                                 std::source_location where = std::source_location::current()) {
    return gradient(outputs, wrt, seeds, gradient_options{policy, {}, {}}, where);
  }
  std::vector<any_expr> gradient(expressions const& outputs, expressions const& wrt, expressions const& seeds,
                                 gradient_options const& options,
                                 std::source_location where = std::source_location::current()) {
    detail::request r{"gradient", 8, nullptr, 0, where};
    std::vector<extend::symbol> y, dy, x;
    for (any_expr const& e : outputs) y.push_back(inside(e, r));
    for (any_expr const& e : seeds) dy.push_back(inside(e, r));
    for (any_expr const& e : wrt) x.push_back(known(e, r));
    std::vector<extend::symbol> const dx = detail::gradient_symbols(*s_, y, dy, x, options, r);
    std::vector<any_expr> all;
    for (std::size_t k = 0; k < x.size(); ++k) {
      s_->gradients_here()[x[k]] = dx[k];
      all.push_back(expression(dx[k]));
    }
    detail::tell_made(*s_);
    return all;
  }
  /// The result of the last `gradient` with respect to `x`. Throws: `graph_error` if there is none.
  template <class T> expr<T> gradient_of(expr<T> const& x,
                                         std::source_location where = std::source_location::current()) const {
    extend::symbol const t = known(x, {"gradient_of", 11, nullptr, 0, where});
    for (std::size_t k = s_->frames.size() + 1; k-- > 0;) {
      auto const& made = k == 0 ? s_->gradients : s_->frames[k - 1].gradients;
      if (auto const at = made.find(t); at != made.end()) return expression(at->second).template as<T>();
    }
    detail::raise<refusals::dynamic_no_gradient>(s_->b, {"gradient_of", 11, &t, 1, where});
  }

  /// The program that computes `outputs`. Other bound expressions must be inputs, or become outputs too.
  template <class P = program>
  P compile(expressions const& outputs, std::vector<binding> const& binds = {},
            compile_options const& options = {},
            std::source_location where = std::source_location::current()) const {
    detail::request const r{"compile", 7, nullptr, 0, where};
    std::vector<extend::symbol> ids, bound;
    for (any_expr const& e : outputs) ids.push_back(symbol_of(e, r));
    for (binding const& one : binds) bound.push_back(symbol_of(one.what, r));
    std::vector<std::pair<extend::symbol, extend::symbol>> updates;
    for (update const& u : options.updates) updates.emplace_back(symbol_of(u.of, r), symbol_of(u.to, r));
    return detail::compiled_as<P>(*s_, {.outputs = ids, .bound = bound, .updates = updates, .all = false},
                                  binds, options, r);
  }

  /// The program that computes `outputs` in two parts. A run saves the values that gradients with respect to
  /// `wrt` need, in the fewest bytes, and returns a `pullback` that owns them. In dynamic/graph/vjp.hpp.
  vjp_program vjp(expressions const& outputs, expressions const& wrt, vjp_options const& options,
                  std::source_location where = std::source_location::current()) const;
  vjp_program vjp(expressions const& outputs, expressions const& wrt,
                  std::source_location where = std::source_location::current()) const;

  /// The same graph as symbols: tensors, operations, edges, sub-graphs. It includes expressions, and
  /// `expression<T>(t)` is the expression of a tensor symbol.
  symbolic_graph symbolic() { return symbolic_graph(*s_); }
  template <class T>
  expr<T> expression(symbolic_tensor const& t, std::source_location where = std::source_location::current()) {
    return symbolic_graph(*s_).template expression<T>(t, where);
  }
  /// A separate, equal graph, with each command replaced by `substitution`. `d.symbolic().same(t)` finds a
  /// symbol of this graph in it.
  graph duplicate(std::function<command(symbolic_exec, command const&)> const& substitution = {},
                  std::source_location where = std::source_location::current()) const {
    return of(s_->duplicate(), substitution, where);
  }

  /// The step of an optimizer (`ct::adam{}`), as operations of the graph; `compile` takes its `updates`. The
  /// first overload descends the loss, the second along given gradients. In dynamic/graph/training.hpp.
  template <class Optimizer>
  training_step minimize(any_expr const& loss, Optimizer const& optimizer,
                         expressions const& parameters, gradient_options const& options = {},
                         std::source_location where = std::source_location::current());
  template <class Optimizer>
  training_step apply_gradients(Optimizer const& optimizer, expressions const& parameters,
                                expressions const& gradients,
                                std::source_location where = std::source_location::current());

  /// For symbolic graphs; parameters are tensors that no operation writes, and that are given.
  template <class Optimizer>
  symbolic_step minimize(symbolic_tensor const& loss, Optimizer const& optimizer,
                         std::vector<symbolic_tensor> const& parameters, gradient_options const& options = {},
                         std::source_location where = std::source_location::current());
  template <class Optimizer>
  symbolic_step apply_gradients(Optimizer const& optimizer, std::vector<symbolic_tensor> const& parameters,
                                std::vector<symbolic_tensor> const& gradients,
                                std::source_location where = std::source_location::current());

  /// The graph in the form that passes take.
  cotangent::graph const& get() const { return s_->b.get(); }

private:
  template <class Optimizer>
  training_step steps(Optimizer const& optimizer, expressions const& parameters,
                      expressions const& gradients, std::vector<bool> const& updatable,
                      std::source_location where);
  template <class Optimizer>
  symbolic_step steps(Optimizer const& optimizer, std::vector<symbolic_tensor> const& parameters,
                      std::vector<symbolic_tensor> const& gradients, std::source_location where);
  any_expr expression(extend::symbol t) const { return {detail::standing(*s_, t), s_->b.tensor(t).type}; }

  /// The symbol in its own region: of the graph, or of a body under construction.
  extend::symbol known(any_expr const& e, detail::request const& r) const {
    detail::standing const& at = e.where_it_stands();
    if (at.s == nullptr && !at.is_number) detail::raise<refusals::dynamic_no_value>(s_->b, r);
    if (at.s == nullptr) detail::raise<refusals::dynamic_detached>(s_->b, r);
    if (!at.is_in(*s_)) detail::raise<refusals::dynamic_other_graph>(s_->b, r);
    (void)s_->depth_of(at.id, r);
    return at.id;
  }
  /// The symbol in the body under construction.
  extend::symbol inside(any_expr const& e, detail::request const& r) const { return s_->inside(known(e, r), r); }
  /// A symbol of the graph itself; refused while a body is under construction.
  extend::symbol symbol_of(any_expr const& e, detail::request const& r) const {
    extend::symbol const t = known(e, r);
    if (!s_->frames.empty()) detail::raise<refusals::dynamic_in_body>(s_->b, r);
    return t;
  }

  extend::symbol constant_like(extend::symbol like, std::int64_t bits, std::source_location where) {
    extend::tensor_symbol const t = s_->b.tensor(like);
    return s_->b.push(info_of<op::constant>(), nullptr, 0, &bits, 1, t.type, t.shape, where);
  }

  detail::standing declare(element e, std::string_view name, sizes const& shape, std::source_location where,
                           bool is_input = true) {
    detail::request const r{"input", 5, nullptr, 0, where};
    detail::undo back(*s_);
    extend::builder& b = s_->b;
    b.place = where;
    std::int32_t const s = detail::shape_for(b, shape);
    back.check(r);
    std::int32_t const region = b.region;
    if (is_input) b.region = 0; // an input belongs to the graph, even while a body is under construction
    extend::symbol const t = b.symbol_of(e, s);
    b.region = region;
    detail::name_symbol(b, t, name);
    if (is_input) s_->inputs.push_back(t);
    else if (s_->frames.empty()) s_->piecewise.push_back(t);
    else s_->frames.back().pieces.push_back(t);
    back.keep();
    detail::tell_made(*s_);
    return {*s_, t};
  }

  template <class T> expr<T> constant_of(detail::memory_of const& m, sizes const& shape,
                                         std::source_location where) {
    detail::request const r{"constant", 8, nullptr, 0, where};
    detail::undo back(*s_);
    extend::builder& b = s_->b;
    std::int32_t const id = detail::shape_for(b, shape);
    back.check(r);
    std::int64_t given = 1;
    for (std::int64_t const n : m.shape) given *= n;
    extend::dimension const wanted = b.count(b.get().shapes[id]);
    if (given != wanted)
      detail::raise<refusals::dynamic_constant_count>(b, r, extent::of(given), extent::of(wanted));
    if (given == 1) // as a number, which can be constant-folded
      return back.keep(), full(shape, *static_cast<T const*>(m.data), where);
    detail::standing const at = declare(element_of<T>, "", shape, where);
    detail::held_constant held{at.id, {}, false};
    auto const* const bytes = static_cast<unsigned char const*>(m.data);
    if (given > 0) held.bytes.assign(bytes, bytes + given * static_cast<std::int64_t>(sizeof(T)));
    s_->constants.push_back(static_cast<detail::held_constant&&>(held));
    back.keep();
    return expr<T>(at);
  }
};

inline graph symbolic_graph::duplicate(std::function<command(symbolic_exec, command const&)> const& substitution,
                                       std::source_location where) const {
  return graph::of(scope_.s->duplicate(), substitution, where);
}

} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
