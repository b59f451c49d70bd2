// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_TRAINER_HPP
#define COTANGENT_DYNAMIC_EAGER_TRAINER_HPP

#include <cotangent/dynamic/eager/recorder.hpp>
#include <cotangent/dynamic/graph/training.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI {

/// An optimizer (`ct::adam{}`) for parameters of eager mode, with its states.
///
///     ct::dynamic::trainer t(ct::adam{.learning_rate = 0.01}, {w, b});
///     t.minimize(e, loss);
///
/// The step of a parameter is a program, one for each element type and shape, that updates its memory in
/// place.
/// Refuses: constants, and computed variables (`graph_error`).
template <class Optimizer> class trainer {
  struct one {
    any_variable parameter;
    any_expr p, d;
    expr<double> learning_rate;
    program step;
    element type;
    sizes shape;
  };
  std::vector<graph> graphs_; // the graphs of the programs' expressions
  std::vector<one> all_;

public:
  explicit trainer(Optimizer const& optimizer, variables const& parameters,
                   std::source_location where = std::source_location::current()) {
    for (any_variable const& x : parameters) {
      detail::request const r{"trainer", 7, nullptr, 0, where};
      detail::eager_value& v = detail::value_of(x, r);
      if (v.now.from == nullptr || v.now.from->code != nullptr || v.view != nullptr)
        detail::raise_about<refusals::eager_untracked>({&v}, r);
      for (one const& o : all_)
        if (o.parameter.value_held() == &v) detail::raise_about<refusals::dynamic_update_twice>({&v}, r);
      sizes shape;
      extend::dimensions const& d = v.now.s->dims(v.now.shape);
      for (int k = 0; k < d.rank; ++k) shape.push(d.size[k]);
      add(optimizer, x, v.now.type, shape, where);
    }
  }

  /// Sweeps backward from the loss, and takes a step along all gradients. The loss and all parameters must be
  /// variables of the recorder.
  template <class T>
  void minimize(eager& recorder, variable<T> const& loss,
                std::source_location where = std::source_location::current()) {
    detail::request const r{"minimize", 8, nullptr, 0, where};
    not_empty(r);
    detail::eager_state const& s = *detail::value_of(loss, r).now.s;
    for (one const& o : all_) (void)detail::operand_value(s, o.parameter, r);
    recorder.backward(loss, {}, {}, where);
    apply_gradients(where);
  }
  /// Takes a step along the gradients summed since the last step, and clears them. A parameter without a
  /// gradient stays unchanged.
  void apply_gradients(std::source_location where = std::source_location::current()) {
    not_empty({"apply_gradients", 15, nullptr, 0, where});
    for (one& o : all_) {
      detail::eager_value& v = *o.parameter.value_held();
      if (v.gradient == nullptr) continue;
      void* const own = detail::writable(v);
      void* const d = detail::elements_of(*v.now.s, v.gradient->now.data, where);
      o.step.bind_memory(o.p, {own, own, o.type, o.shape}, false, where);
      o.step.bind_memory(o.d, {d, d, o.type, o.shape}, false, where);
      o.step.run(where);
      ++v.version;
      detail::eager_state::release(std::exchange(v.gradient, nullptr));
    }
  }
  /// Takes effect at the next step.
  void set_learning_rate(double learning_rate, std::source_location where = std::source_location::current()) {
    if (!cotangent::detail::is_finite(learning_rate))
      detail::refuse_settings(extend::builder(), {"set_learning_rate", 17, nullptr, 0, where});
    for (one& o : all_) o.step.bind(o.learning_rate, double{learning_rate}, where); // a copy
  }

private:
  void not_empty(detail::request const& r) const {
    if (all_.empty()) detail::raise<refusals::trainer_empty>(extend::builder(), r);
  }
  void add(Optimizer const& optimizer, any_variable const& x, element type, sizes const& shape,
           std::source_location where) {
    for (one const& o : all_)
      if (o.type == type && o.shape == shape) {
        all_.push_back({x, o.p, o.d, o.learning_rate, o.step, type, shape});
        return;
      }
    graph g;
    any_expr p, d;
    auto const declare = [&]<class T>(std::type_identity<T>) {
      p = g.input<T>("parameter", shape, where);
      d = g.input<T>("gradient", shape, where);
    };
    switch (type) {
    case element::float32: declare(std::type_identity<float>{}); break;
    case element::float16: declare(std::type_identity<float16>{}); break;
    case element::bfloat16: declare(std::type_identity<bfloat16>{}); break;
    default: declare(std::type_identity<double>{});
    }
    training_step const step = g.apply_gradients(optimizer, {p}, {d}, where);
    all_.push_back({x, p, d, step.learning_rate, g.compile({}, {}, {.updates = step.updates}, where), type, shape});
    graphs_.push_back(static_cast<graph&&>(g));
  }
};

} // namespace cotangent::dynamic

#endif
