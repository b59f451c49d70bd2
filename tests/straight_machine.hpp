// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_STRAIGHT_MACHINE_HPP
#define COTANGENT_TESTS_STRAIGHT_MACHINE_HPP

#include "reference.hpp"

#include <cotangent/plan/straight/straighten.hpp>

#include <cstdint>
#include <string>
#include <vector>

// A machine that takes straight code at its word, lane by lane, and distrusts it: lanes that mean nothing
// must not be read, every element of every result is stored once, nothing is loaded after the first store.

namespace reference {

class straight_machine {
  struct cell {
    extend::scalar value;
    bool known = false;
  };
  using lanes = std::vector<cell>;

  detail::straight_program const& p_;
  std::vector<lanes> values_;
  std::vector<lanes> results_;

  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
  void fail(std::string const& what, int step) {
    if (error.empty()) error = what + " in step " + std::to_string(step);
  }
  /// Operand k of a step, in w lanes.
  lanes read(int step, int k, int w) {
    detail::straight_operand const o = p_.operands[p_.steps[step].first + k];
    if (o.step < 0 || o.step >= step) return fail("a value is read before there is one", step), lanes(at(w));
    lanes const& v = values_[at(o.step)];
    if (o.lane == extend::none) {
      if (static_cast<int>(v.size()) != w) fail("an operand has other lanes", step);
      return v.size() == at(w) ? v : lanes(at(w));
    }
    if (at(o.lane) >= v.size()) return fail("a lane is read that is not there", step), lanes(at(w));
    return lanes(at(w), v[at(o.lane)]);
  }
  /// Lane i of all operands through an operation on two or more.
  static cell applied(operation const* op, element type, std::vector<lanes> const& x, int i) {
    extend::scalar operands[8]{};
    cell r{{}, true};
    for (std::size_t k = 0; k < x.size(); ++k) {
      operands[k] = x[k][at(i)].value;
      r.known = r.known && x[k][at(i)].known;
    }
    if (r.known) r.value = op->evaluate == nullptr ? converted(operands[0], type) : op->evaluate(operands);
    return r;
  }

  void follow(int k, detail::array<values> const& inputs) {
    detail::straight_step const& s = p_.steps[k];
    lanes v(at(s.lanes));
    std::vector<lanes> x;
    switch (s.what) {
    case detail::straight_action::constant: v[0] = {cotangent::detail::scalar_of(s.type, s.bits), true}; break;
    case detail::straight_action::load:
      if (s.index < 0 || s.index >= inputs.size() || s.offset < 0 ||
          s.offset + s.count > inputs[s.index].size() || s.count > s.lanes)
        return fail("a load beyond its argument", k);
      if (stored) return fail("a load behind a store", k);
      for (int i = 0; i < s.count; ++i) v[at(i)] = {inputs[s.index][static_cast<int>(s.offset) + i], true};
      break;
    case detail::straight_action::build:
      for (int i = 0; i < s.lanes; ++i)
        if (p_.operands[s.first + i].step != extend::none) v[at(i)] = read(k, i, 1)[0];
      break;
    case detail::straight_action::shuffle: {
      lanes const a = read(k, 0, s.width), b = read(k, 1, s.width);
      for (int i = 0; i < s.lanes; ++i)
        if (int const from = p_.indices[s.first_index + i]; from != extend::none)
          v[at(i)] = from < s.width ? a[at(from)] : b[at(from - s.width)];
      break;
    }
    case detail::straight_action::compute:
    case detail::straight_action::combine:
      for (int j = 0; j < s.operand_count; ++j) x.push_back(read(k, j, s.lanes));
      for (int i = 0; i < s.lanes; ++i) v[at(i)] = applied(s.op, s.type, x, i);
      break;
    case detail::straight_action::fold: {
      lanes const a = read(k, 0, s.width);
      for (int i = 0; i < s.count; ++i) {
        if (!a[at(i)].known) return fail("a lane is folded that means nothing", k);
        v[0] = i == 0 ? a[0] : applied(s.op, s.type, {{v[0]}, {a[at(i)]}}, 0);
      }
      break;
    }
    case detail::straight_action::store: {
      lanes const a = read(k, 0, s.lanes);
      stored = true;
      if (s.index < 0 || at(s.index) >= results_.size() ||
          at(s.offset + s.count) > results_[at(s.index)].size())
        return fail("a store beyond its result", k);
      for (int i = 0; i < s.count; ++i) {
        cell& to = results_[at(s.index)][at(s.offset + i)];
        if (!a[at(i)].known) fail("a lane is stored that means nothing", k);
        if (to.known) fail("an element is stored twice", k);
        to = {a[at(i)].value, true};
      }
      break;
    }
    }
    values_.push_back(v);
  }

public:
  std::string error;
  detail::array<values> outputs;
  bool stored = false;

  straight_machine(extend::graph_view const& g, detail::straight_program const& p, detail::array<values> const& inputs) : p_(p) {
    for (int k = 0; k < g.output_count(); ++k) results_.emplace_back(at(count(g.shape(g.output(k)))));
    for (int k = 0; k < p.steps.size() && error.empty(); ++k) follow(k, inputs);
    for (lanes const& r : results_) {
      values v;
      for (cell const& c : r) {
        if (!c.known) fail("an element of a result is not stored", p.steps.size());
        v.push(c.value);
      }
      outputs.push(v);
    }
  }
};

} // namespace reference

#endif
