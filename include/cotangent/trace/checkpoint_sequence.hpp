// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_CHECKPOINT_SEQUENCE_HPP
#define COTANGENT_TRACE_CHECKPOINT_SEQUENCE_HPP

#include <cotangent/trace/checkpoint.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>

// Sequences of layers in blocks that are computed again.

namespace cotangent {

/// How a sequence of layers is cut into blocks.
struct sequence_options {
  int segments = 0; // so many, one after the other; 0: about as many as each then has layers
  bool recursive =
      false; // instead: the first half is a block, cut in the same way, and so is the second half
};

namespace detail {

/// Which blocks begin and end before each layer.
class sequence_blocks {
  struct level {
    int end = 0, chain_end = 0;
    std::int32_t outer = 0;
  };
  builder* b_;
  int total_, length_, chain_end_;
  array<level> open_;

  constexpr void open(int end) {
    open_.push({end, chain_end_, b_->open_block()});
    chain_end_ = end;
  }

public:
  constexpr sequence_blocks(builder* b, int total, sequence_options const& o)
      : b_(b), total_(total), length_(0), chain_end_(total) {
    if (o.recursive || total == 0) return;
    int segments = o.segments;
    if (segments <= 0)
      for (segments = 1; segments * segments < total;) ++segments;
    length_ = (total + segments - 1) / segments;
  }
  constexpr sequence_blocks(sequence_blocks const&) = delete;

  constexpr void before(int layer) {
    if (b_ == nullptr) return;
    while (!open_.empty() && open_.back().end == layer) {
      b_->block = open_.back().outer;
      chain_end_ = open_.pop().chain_end;
    }
    if (length_ > 0) {
      if (layer % length_ == 0) open(layer + length_ < total_ ? layer + length_ : total_);
    } else
      while (chain_end_ - layer > 1) open(layer + (chain_end_ - layer) / 2);
  }
};

inline namespace COTANGENT_ABI {

/// The builder of expressions of any kind.
struct any_builder {
  builder* b = nullptr;
  template <class X> constexpr void operator()(X const& x) {
    if (b != nullptr) return;
    if constexpr (is_expr<X>) b = x.standing().b;
    else if constexpr (find_open<X>()) {
      open_builder found;
      found(x);
      b = found.b;
    }
  }
};

template <class F> struct sequence_function {
  [[no_unique_address]] F f;
  sequence_options options;

  template <class X, class Layers> constexpr auto operator()(X const& x, Layers const& layers) const {
    any_builder found;
    visit_leaves(x, found);
    if constexpr (tuple_sized<Layers>) {
      sequence_blocks blocks(found.b, static_cast<int>(std::tuple_size<Layers>::value), options);
      if (found.b == nullptr) return from<0>(blocks, x, layers);
      kept_block const outer(*found.b);
      return from<0>(blocks, x, layers);
    } else {
      static_assert(holds_values<Layers>,
                    "cotangent: checkpoint_sequence: the layers must be an array, a tuple or a container");
      sequence_blocks blocks(found.b, static_cast<int>(layers.size()), options);
      if (found.b == nullptr) return each(blocks, x, layers);
      kept_block const outer(*found.b);
      return each(blocks, x, layers);
    }
  }

private:
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

  template <class X> constexpr auto operator()(X const& x) const {
    return sequence_function<called_layer>{{}, options}(x, layers);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// A function of x and of what belongs to each layer (an array, a tuple or a container): f(... f(f(x, first), second) ...),
/// in blocks that are computed again for its gradient, as `ct::checkpoint` does it.
///
/// Value: the same bits as without blocks.
/// Cost: of L equal layers, the memory of about √L and of one block, for at most one more run. Recursive: the memory of
/// log L, for at most log L more runs. What belongs to the layers, and its gradients, comes on top.
/// Refuses: layers that are no array, tuple or container.
/// Checked: tests/static/checkpoint.cpp, tests/runtime/checkpoint.cpp.
template <class F> constexpr auto checkpoint_sequence(F f, sequence_options options = {}) {
  return detail::sequence_function<F>{f, options};
}
/// The same of functions of x alone, one for each layer.
template <class... F> constexpr auto checkpoint_sequence(std::tuple<F...> layers,
                                                         sequence_options options = {}) {
  return detail::layers_function<F...>{layers, options};
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
