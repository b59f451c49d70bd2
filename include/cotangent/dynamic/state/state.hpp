// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_STATE_HPP
#define COTANGENT_DYNAMIC_STATE_STATE_HPP

#include <cotangent/dynamic/state/refusals.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cotangent/dynamic/state/symbolic_record.hpp>

#include <cotangent/core/error.hpp>
#include <cotangent/ops/control/builder.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/interpreter/execute/kernels.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <string>
#include <unordered_map>
#include <vector>

// The state of a graph under construction besides the graph, and the conversion of failures to exceptions.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

namespace interpret = cotangent::detail::interpret;
namespace refusals = cotangent::refusals;

/// The requested operation, for the message of a failure.
struct request {
  char const* name = nullptr; // of the operation
  int name_length = 0;
  symbol const* operands = nullptr;
  int operand_count = 0;
  std::source_location where{};
};

inline shape shape_of(builder const& b, symbol t) {
  shape s;
  dimensions const& d = b.dims(t);
  for (int k = 0; k < d.rank; ++k) s.push(b.extent_of(d.size[k]));
  return s;
}

template <class = void> message words_of(builder const& b, failure const& f, request const& r) {
  message text(f.why->text);
  auto const put_type = [&](symbol t) { text.put(name_of(b.tensor(t).type)).put(" ").put(shape_of(b, t)); };
  if (f.types[0] != none) {
    text.put(" (");
    put_type(f.types[0]);
    text.put(" and ");
    put_type(f.types[1]);
    text.put(")");
  } else if (!(f.left == extent{}) || !(f.right == extent{})) {
    text.put(" (").put(f.left);
    if (!(f.right == extent{})) text.put(" and ").put(f.right);
    text.put(")");
  }
  if (f.why == why<cotangent::refusals::not_differentiable>() && f.node >= 0 && f.node < b.get().nodes.size())
    text.put("; it is ").put(b.get().nodes[f.node].op->name);
  if (r.name != nullptr) text.put("; in ").put(r.name, r.name_length);
  else if (f.node >= 0 && f.node < b.get().nodes.size())
    text.put("; in ").put(b.get().nodes[f.node].op->name);
  for (int k = 0; k < r.operand_count; ++k) {
    symbol const t = r.operands[k];
    text.put(k == 0 ? " of " : k + 1 == r.operand_count ? " and " : ", ");
    if (std::int32_t const name = b.tensor(t).name; name != none)
      text.put(b.get().names.data() + name).put(" ");
    put_type(t);
  }
  std::source_location const where = f.where.line() != 0 ? f.where : r.where;
  if (where.line() != 0) text.put(", at ").put(where.file_name()).put(":").put(where.line());
  return text;
}

/// Throws the failure with its message.
[[noreturn]] inline void raise(builder const& b, failure const& f, request const& r) {
  message const text = words_of(b, f, r);
  if (f.why == why<refusals::unreachable_wrt>()) throw unreachable_error(text);
  if (f.why == why<refusals::not_differentiable>()) throw not_differentiable_error(text);
  for (refusal const* const about_graph :
       {why<refusals::elements_differ>(), why<refusals::element_not_floating>(),
        why<refusals::element_not_numeric>(), why<refusals::element_not_integer>(), why<refusals::element_not_boolean>(),
        why<refusals::index_not_integer>(), why<refusals::dynamic_other_graph>(),
        why<refusals::dynamic_left_body>(), why<refusals::dynamic_detached>(), why<refusals::dynamic_no_value>(), why<refusals::dynamic_no_parts>(),
        why<refusals::dynamic_element>(), why<refusals::dynamic_no_gradient>(), why<refusals::dynamic_sum_alone>(),
        why<refusals::dynamic_write_place>(), why<refusals::dynamic_write_twice>(), why<refusals::dynamic_write_body>(),
        why<refusals::dynamic_in_body>(),
        why<refusals::dynamic_update_input>(), why<refusals::dynamic_update_twice>(), why<refusals::dynamic_no_parameters>(),
        why<refusals::eager_no_value>(), why<refusals::eager_other_recorder>(), why<refusals::eager_ended>(),
        why<refusals::eager_no_gradient>(), why<refusals::eager_untracked>(), why<refusals::eager_set>(),
        why<refusals::order_cycle>(), why<refusals::budget_too_small>(), why<refusals::linear_map_in_body>()})
    if (f.why == about_graph) throw graph_error(text);
  throw shape_error(text);
}

template <class Refusal>
[[noreturn]] inline void raise(builder const& b, request const& r, extent const& left = {},
                               extent const& right = {}) {
  raise(b, {why<Refusal>(), left, right, none, {}}, r);
}
template <class Refusal> [[noreturn]] void refuse_call(char const* name, std::source_location where) {
  raise<Refusal>(builder(), {name, static_cast<int>(std::char_traits<char>::length(name)), nullptr, 0, where});
}

using control_maker = cotangent::detail::control_builder;

/// The body of a loop or a branch under construction.
struct frame {
  std::int32_t region = 0;
  control_maker* maker = nullptr; // null: nothing can be captured
  std::vector<symbol> pieces = {};                   // tensors of the body that are written in pieces
  std::unordered_map<symbol, symbol> gradients = {}; // of `graph_state::gradients`, requested in the body
};

/// Up to this number of writers, each new writer of a tensor is compared with all others.
inline constexpr std::size_t compared_at_once = 64;

/// Elements held by the graph, for an input that represents a constant tensor.
struct held_constant {
  symbol id = none;
  std::vector<unsigned char> bytes;
  bool is_default = false; // memory may be bound in its place
};

struct graph_access; // dynamic/graph/graph_access.hpp
struct graph_state;

/// The identity of a graph, shared by copies for passes. Programs keep it, so that they recognize the
/// expressions of their graph, also after the graph has ended and another one has its address.
struct graph_identity {
  graph_state const* state = nullptr; // null: the graph has ended
  std::uint64_t number = next();      // unique in the process

  static std::uint64_t next() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
};

/// A graph that was duplicated, and the numbers of its symbols at that time.
struct graph_origin {
  std::uint64_t number; // of its identity
  std::int32_t tensors, execs;
};

struct graph_state {
  std::shared_ptr<graph_identity> identity = std::make_shared<graph_identity>();
  std::vector<graph_origin> origins; // the graph that this one is a duplicate of last, and its origins before
  builder b;
  std::vector<symbol> inputs; // of the graph, in the order of creation
  std::vector<symbol> parameters;
  std::vector<symbol> states; // inputs in the program's own memory, initially zero
  std::vector<symbol> piecewise;                           // tensors that are written in pieces
  std::unordered_map<symbol, std::vector<symbol>> written; // by tensor: the views that nodes write
  std::unordered_map<symbol, symbol> gradients;            // by the symbol they are with respect to
  std::vector<held_constant> constants;
  std::vector<frame> frames; // of bodies under construction, the innermost last
  interpret::kernel_list kernels; // of the users' operations in it
  symbolic_record symbolic;

  graph_state() {
    identity->state = this;
    b.owner = this;
  }
  graph_state(graph_state const&) = default; // the same graph, for a pass
  graph_state& operator=(graph_state const&) = delete;
  ~graph_state() {
    if (identity->state == this) identity->state = nullptr;
  }
  /// A copy that is a separate graph.
  std::unique_ptr<graph_state> duplicate() const; // in dynamic/state/symbolic_store.hpp

  /// True for a tensor of the region under construction that is written in pieces.
  bool is_piecewise(symbol t) const {
    for (symbol const p : frames.empty() ? piecewise : frames.back().pieces)
      if (p == t) return true;
    return false;
  }
  std::int32_t region() const noexcept { return frames.empty() ? 0 : frames.back().region; }

  /// The number of bodies under construction around `t`: 0 for the graph itself.
  std::size_t depth_of(symbol t, request const& r) const {
    std::int32_t const home = b.tensor(t).region;
    if (home == 0) return 0;
    std::size_t depth = 0;
    while (depth < frames.size() && frames[depth].region != home) ++depth;
    if (depth == frames.size()) raise<refusals::dynamic_left_body>(b, r);
    return depth + 1;
  }
  /// The symbol of `t` in the region under construction: itself, or the input that captures it.
  symbol inside(symbol t, request const& r) {
    if (b.tensor(t).region == region()) return t;
    if (!frames.empty() && frames.back().maker == nullptr) {
      if (!b.is_source(t)) raise<refusals::dynamic_sum_alone>(b, r);
      return b.computed_again(t, region());
    }
    symbol const y = frames.empty() ? none : b.taken(t, frames.back().maker->body());
    if (y == none) raise<refusals::dynamic_left_body>(b, r);
    return y;
  }
  /// The table of gradients of the region under construction.
  std::unordered_map<symbol, symbol>& gradients_here() noexcept {
    return frames.empty() ? gradients : frames.back().gradients;
  }
  /// Removes the symbols from `first` on, after the builder has rolled back.
  void forget(symbol first) {
    auto const newer = [&](auto const& pair) { return pair.first >= first || pair.second >= first; };
    std::erase_if(gradients, newer);
    std::erase_if(piecewise, [&](symbol t) { return t >= first; });
    std::erase_if(written, [&](auto const& of) { return of.first >= first; });
    for (auto& of : written) std::erase_if(of.second, [&](symbol t) { return t >= first; });
    for (frame& f : frames) {
      std::erase_if(f.gradients, newer);
      std::erase_if(f.pieces, [&](symbol t) { return t >= first; });
      if (f.maker != nullptr && f.maker->body() != nullptr) f.maker->body()->forget(first);
    }
  }
};

/// Rolls back additions to the graph, unless `keep` is called.
class undo {
  graph_state* s_;
  builder* before_;
  builder::mark mark_;
  std::size_t inputs_, parameters_, states_, constants_;

public:
  /// `before`: the former graph, if nodes are changed, not only added.
  explicit undo(graph_state& s, builder* before = nullptr)
      : s_(&s), before_(before), mark_(s.b.here()), inputs_(s.inputs.size()),
        parameters_(s.parameters.size()), states_(s.states.size()), constants_(s.constants.size()) {}
  explicit undo(void* graph) : undo(*static_cast<graph_state*>(graph)) {} // of `expr::graph_held`
  undo(undo const&) = delete;
  undo& operator=(undo const&) = delete;
  ~undo() {
    if (s_ == nullptr) return;
    auto const gone = [&](symbol t) { return t >= mark_.tensors; };
    std::erase_if(s_->written, [&](auto const& p) { return gone(p.first); });
    for (auto& [root, writers] : s_->written)
      std::erase_if(writers, [&](symbol t) { return gone(t) || s_->b.tensor(t).producer >= mark_.nodes; });
    if (before_ != nullptr) s_->b = static_cast<builder&&>(*before_);
    else s_->b.take_back(mark_);
    if (s_->symbolic.used) s_->symbolic.take_back(mark_.tensors, mark_.nodes, mark_.regions);
    s_->inputs.resize(inputs_);
    s_->parameters.resize(parameters_);
    s_->states.resize(states_);
    s_->constants.resize(constants_);
    s_->forget(mark_.tensors);
  }
  void keep() noexcept { s_ = nullptr; }
  /// Throws the failure of the builder, if there is one.
  void check(request const& r) {
    if (failure const f = s_->b.failed(); f.why != nullptr) raise(s_->b, f, r);
  }
};

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template message words_of(builder const&, failure const&, request const&);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
