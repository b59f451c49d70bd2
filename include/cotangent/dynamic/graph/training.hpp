// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_TRAINING_HPP
#define COTANGENT_DYNAMIC_GRAPH_TRAINING_HPP

#include <cotangent/dynamic/graph/graph.hpp>
#include <cotangent/trace/expressions/optimizers.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {

[[noreturn]] inline void refuse_settings(builder const& b, request const& r) {
  throw graph_error(words_of(b, {why<refusals::optimizer_settings>(), {}, {}, none, {}}, r));
}

/// x, or x converted to this element.
inline any_expr as_element_of(any_expr const& x, element type) {
  standing const& at = x.where_it_stands();
  return at.s == nullptr ? x : any_expr(standing(*at.s, extend::convert({&at.s->b, at.id}, type).id), type);
}

/// The new value of one parameter, and of its optimizer states. Of parameters of half precision, these states are float.
template <class T, class Optimizer>
void add_step(graph& g, Optimizer const& optimizer, any_expr const& parameter, any_expr const& gradient,
              std::string_view name, training_step& step, expr<std::int64_t> const& now,
              std::source_location where) {
  expr<T> p = as_element_of(parameter, element_of<T>).template as<T>(where);
  expr<T> const before = p, d = as_element_of(gradient, element_of<T>).template as<T>(where);
  expr<T> states[Optimizer::states > 0 ? Optimizer::states : 1],
      old[Optimizer::states > 0 ? Optimizer::states : 1];
  for (int k = 0; k < optimizer.slots(); ++k) {
    std::string const called = name.empty() ? std::string() : std::string(name) + "." + std::to_string(k);
    old[k] = states[k] = g.state<T>(called, before.shape(), where);
  }
  expr<T> const learning_rate = convert<T>(step.learning_rate, where);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    if constexpr (Optimizer::counts) optimizer.update(p, d, states[K]..., now, learning_rate);
    else optimizer.update(p, d, states[K]..., learning_rate);
  }(std::make_index_sequence<Optimizer::states>{});
  step.updates.push_back({parameter, as_element_of(p, parameter.type())});
  for (int k = 0; k < optimizer.slots(); ++k) step.updates.push_back({old[k], states[k]});
}

} // namespace detail

template <class Optimizer>
training_step graph::apply_gradients(Optimizer const& optimizer, expressions const& parameters,
                                     expressions const& gradients, std::source_location where) {
  std::vector<bool> updatable(static_cast<std::size_t>(s_->b.get().tensors.size()));
  for (extend::symbol const t : s_->inputs) updatable[static_cast<std::size_t>(t)] = true;
  return steps(optimizer, parameters, gradients, updatable, where);
}

/// `updatable`: by symbol.
template <class Optimizer>
training_step graph::steps(Optimizer const& optimizer, expressions const& parameters,
                           expressions const& gradients, std::vector<bool> const& updatable,
                           std::source_location where) {
  extend::builder& b = s_->b;
  detail::request r{"apply_gradients", 15, nullptr, 0, where};
  detail::undo back(*s_);
  if (gradients.size() != parameters.size())
    detail::raise<refusals::dynamic_gradient_count>(b, r,
                                                    extent::of(static_cast<std::int64_t>(gradients.size())),
                                                    extent::of(static_cast<std::int64_t>(parameters.size())));
  if (parameters.empty()) detail::raise<refusals::dynamic_no_parameters>(b, r);
  if constexpr (requires { optimizer.settings_fit(); })
    if (!optimizer.settings_fit()) detail::refuse_settings(b, r);
  std::vector<bool> seen(updatable.size());
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    extend::symbol const p = symbol_of(parameters[k], r), both[]{p, symbol_of(gradients[k], r)};
    r.operands = both;
    r.operand_count = 1;
    if (!updatable[static_cast<std::size_t>(p)]) detail::raise<refusals::dynamic_update_input>(b, r);
    if (!is_floating(b.tensor(p).type)) detail::raise<refusals::element_not_floating>(b, r);
    if (seen[static_cast<std::size_t>(p)]) detail::raise<refusals::dynamic_update_twice>(b, r);
    seen[static_cast<std::size_t>(p)] = true;
    r.operand_count = 2;
    if (b.tensor(p).type != b.tensor(both[1]).type || b.tensor(p).shape != b.tensor(both[1]).shape)
      detail::raise<refusals::dynamic_update_type>(b, r);
    r.operand_count = 0;
  }
  training_step step;
  step.gradients.assign(gradients.begin(), gradients.end());
  step.learning_rate = expr<double>(declare(element::float64, "learning_rate", {}, where));
  detail::held_constant held{step.learning_rate.id(), std::vector<unsigned char>(sizeof(double)), true};
  std::memcpy(held.bytes.data(), &optimizer.learning_rate, sizeof(double));
  s_->constants.push_back(static_cast<detail::held_constant&&>(held));
  expr<std::int64_t> now;
  if constexpr (Optimizer::counts) {
    step.count = state<std::int64_t>("steps", {}, where);
    now = step.count + 1;
    step.updates.push_back({step.count, now});
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    std::string const name = detail::name_in(b, parameters[k].id());
    if (cotangent::detail::arithmetic_of(parameters[k].type()) == element::float32)
      detail::add_step<float>(*this, optimizer, parameters[k], gradients[k], name, step, now, where);
    else detail::add_step<double>(*this, optimizer, parameters[k], gradients[k], name, step, now, where);
  }
  back.keep();
  return step;
}

template <class Optimizer>
training_step graph::minimize(any_expr const& loss, Optimizer const& optimizer,
                              expressions const& parameters, gradient_options const& options,
                              std::source_location where) {
  std::unique_ptr<extend::builder> const before =
      s_->b.get().regions.size() > 1 ? std::make_unique<extend::builder>(s_->b) : nullptr;
  auto const asked = s_->gradients;
  detail::undo back(*s_, before.get());
  try {
    training_step step =
        apply_gradients(optimizer, parameters, gradient({loss}, parameters, {}, options, where), where);
    back.keep();
    return step;
  } catch (...) {
    s_->gradients = asked;
    throw;
  }
}

template <class Optimizer>
symbolic_step graph::steps(Optimizer const& optimizer, std::vector<symbolic_tensor> const& parameters,
                           std::vector<symbolic_tensor> const& gradients, std::source_location where) {
  symbolic_graph const s = symbolic();
  std::vector<any_expr> p, d;
  for (symbolic_tensor const& t : parameters) p.push_back(s.expression(t, where));
  for (symbolic_tensor const& t : gradients) d.push_back(s.expression(t, where));
  std::vector<bool> updatable(static_cast<std::size_t>(s_->b.get().tensors.size()));
  for (any_expr const& x : p)
    updatable[static_cast<std::size_t>(x.id())] =
        s_->b.tensor(x.id()).base == extend::none && detail::look(*s_, x.id()).fill == unwritten::given &&
        !detail::gets_written(*s_, x.id()) && !s_->is_piecewise(x.id());
  training_step const made = steps(optimizer, p, d, updatable, where);
  symbolic_step step{gradients, {}, s.symbol_of(made.learning_rate), {}};
  if constexpr (Optimizer::counts) step.count = s.symbol_of(made.count);
  auto const is_parameter = [&](update const& u) {
    for (any_expr const& x : p)
      if (x.id() == u.of.id()) return true;
    return false;
  };
  for (bool const of_parameters : {true, false})
    for (update const& u : made.updates)
      if (is_parameter(u) == of_parameters) step.updates.emplace_back(s.symbol_of(u.of), s.symbol_of(u.to));
  return step;
}

template <class Optimizer>
symbolic_step
graph::apply_gradients(Optimizer const& optimizer, std::vector<symbolic_tensor> const& parameters,
                       std::vector<symbolic_tensor> const& gradients, std::source_location where) {
  (void)symbolic();
  detail::whole_undo back(*s_);
  symbolic_step step = steps(optimizer, parameters, gradients, where);
  back.keep();
  return step;
}

template <class Optimizer>
symbolic_step graph::minimize(symbolic_tensor const& loss, Optimizer const& optimizer,
                              std::vector<symbolic_tensor> const& parameters, gradient_options const& options,
                              std::source_location where) {
  symbolic_graph const s = symbolic();
  detail::whole_undo back(*s_);
  gradient_table const table = s.backward({loss}, parameters, {}, options, where);
  symbolic_step step = steps(optimizer, parameters, table.all(), where);
  back.keep();
  return step;
}

} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
