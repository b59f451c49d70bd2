// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_CHECKPOINT_SEQUENCE_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_CHECKPOINT_SEQUENCE_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/trace/transformations/checkpoint.hpp>
#include <cotangent/transform/differentiate/checkpoint_schedule.hpp>

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>

// Sequences of layers in checkpointed blocks.

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL_OF(sequence_blocks, allowed, "cotangent: checkpoint_sequence: segments and slots must be at least 0, which leaves the number to the library")
} // namespace refusals

/// Options that divide a sequence of layers into blocks.
struct sequence_options {
  int segments = 0; // the number of blocks; 0: about the square root of the number of layers
  bool recursive =
      false; // instead: each half is a block, divided in the same way
  // Instead: the number of values between layers that are stored at one time, the first included; as few
  // layers run again as possible. 0: `segments` or `recursive` decides.
  int slots = 0;

  constexpr bool is_negative() const { return segments < 0 || slots < 0; }
};

namespace detail {

/// The blocks that begin and end before each layer.
class sequence_blocks {
  struct level {
    int end = 0, chain_end = 0, slots = 0;
    std::int32_t outer = 0;
  };
  builder* b_;
  int total_, length_, chain_end_, slots_;
  array<level> open_;

  /// Opens a block with the slots of the enclosing one, which keeps one slot less for the layers after the
  /// block.
  constexpr void open(int end) {
    open_.push({end, chain_end_, slots_ > 1 ? slots_ - 1 : slots_, b_->open_block()});
    chain_end_ = end;
  }
  constexpr int ahead(int layers) const {
    return slots_ == 0 ? layers / 2 : static_cast<int>(units_ahead(layers, slots_));
  }

public:
  constexpr sequence_blocks(builder* b, int total, sequence_options const& o)
      : b_(b), total_(total), length_(0), chain_end_(total), slots_(o.slots < 0 ? 0 : o.slots) {
    if (b != nullptr && o.is_negative()) b->refuse<refusals::sequence_blocks>(0, 0, b->place);
    if (o.recursive || slots_ > 0 || total == 0) return;
    int segments = o.segments;
    if (segments <= 0)
      for (segments = 1; segments * segments < total;) ++segments;
    length_ = (total + segments - 1) / segments;
  }
  constexpr sequence_blocks(sequence_blocks const&) = delete;

  constexpr void before(int layer) {
    if (b_ == nullptr) return;
    while (!open_.empty() && open_.back().end == layer) {
      level const closed = open_.pop();
      b_->flags.block = closed.outer;
      chain_end_ = closed.chain_end;
      slots_ = closed.slots;
    }
    if (length_ > 0) {
      if (layer % length_ == 0) open(layer + length_ < total_ ? layer + length_ : total_);
    } else
      while (chain_end_ - layer > 1) open(layer + ahead(chain_end_ - layer));
  }
};

inline namespace COTANGENT_ABI {

template <class F> struct sequence_function {
  [[no_unique_address]] F f;
  sequence_options options;

  template <class X, class Layers>
  constexpr auto operator()(X const& x, Layers const& layers,
                            std::source_location where = std::source_location::current()) const {
    static_assert(tuple_sized<Layers> || holds_values<Layers>,
                  "cotangent: checkpoint_sequence: the layers must be an array, a tuple or a container");
    if constexpr (find_open<X>()) {
      using leaf = open_leaf<X>;
      if (options.is_negative()) leaf::template refuse<refusals::sequence_blocks>("checkpoint_sequence", where);
      open_builder found;
      visit_leaves(x, found);
      if (found.b == nullptr) return layer_by_layer(nullptr, x, layers);
      return all_or_nothing<leaf>(found, [&] {
        found.b->place = where;
        return layer_by_layer(found.b, x, layers);
      });
    } else {
      found_builder found;
      visit_leaves(x, found);
      if (found.b == nullptr) return layer_by_layer(nullptr, x, layers);
      builder_scope const outer(*found.b);
      found.b->place = where;
      return layer_by_layer(found.b, x, layers);
    }
  }

private:
  template <class X, class Layers>
  constexpr auto layer_by_layer(builder* b, X const& x, Layers const& layers) const {
    if constexpr (tuple_sized<Layers>) {
      sequence_blocks blocks(b, static_cast<int>(std::tuple_size<Layers>::value), options);
      return from<0>(blocks, x, layers);
    } else {
      sequence_blocks blocks(b, static_cast<int>(layers.size()), options);
      return each(blocks, x, layers);
    }
  }
  template <std::size_t I, class X, class Layers>
  constexpr auto from(sequence_blocks& blocks, X const& x, Layers const& layers) const {
    if constexpr (I == std::tuple_size<Layers>::value) return x;
    else {
      using std::get;
      blocks.before(static_cast<int>(I));
      return from<I + 1>(blocks, f(x, get<I>(layers)), layers);
    }
  }
  template <class X, class Layers>
  constexpr X each(sequence_blocks& blocks, X const& x, Layers const& layers) const {
    X y = x;
    int layer = 0;
    for (auto const& one : layers) {
      blocks.before(layer++);
      y = f(y, one);
    }
    return y;
  }
};

struct called_layer {
  template <class X, class Layer> constexpr auto operator()(X const& x, Layer const& layer) const {
    return layer(x);
  }
};
template <class... F> struct layers_function {
  std::tuple<F...> layers;
  sequence_options options;

  template <class X>
  constexpr auto operator()(X const& x, std::source_location where = std::source_location::current()) const {
    return sequence_function<called_layer>{{}, options}(x, layers, where);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// Applies f to x and to the parameters of each layer (an array, a tuple or a container): f(... f(f(x,
/// first), second) ...). Its blocks are rematerialized for the gradient, as by `ct::checkpoint`.
///
/// Value: the same bits as without blocks.
/// Cost: for L equal layers, the memory of about √L layers and of one block, and at most one more run.
/// Recursive: the memory of log L layers, and at most log L more runs. With s `slots`: s values between
/// layers, and the fewest reruns possible; C(s + r, s) layers if each may rerun r times. The parameters of
/// the layers and their gradients come on top.
/// Refuses: layers that are not an array, tuple or container; negative segments and slots.
/// Source: `slots`: A. Griewank, A. Walther, Algorithm 799: revolve, ACM TOMS 26 (2000), section 2.
/// Checked: tests/static/checkpoint.cpp, tests/runtime/checkpoint.cpp.
template <class F> constexpr auto checkpoint_sequence(F f, sequence_options options = {}) {
  return detail::sequence_function<F>{f, options};
}
/// A sequence of functions of x alone, one for each layer.
template <class... F> constexpr auto checkpoint_sequence(std::tuple<F...> layers,
                                                         sequence_options options = {}) {
  return detail::layers_function<F...>{layers, options};
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
