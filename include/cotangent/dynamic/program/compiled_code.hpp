// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_PROGRAM_COMPILED_CODE_HPP
#define COTANGENT_DYNAMIC_PROGRAM_COMPILED_CODE_HPP

#include <cotangent/dynamic/expressions/data.hpp>
#include <cotangent/dynamic/expressions/expr.hpp>

#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/transform/rematerialize/memory_budget.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {

/// An argument or a result of a program.
struct port {
  symbol id = none;
  element type = element::float64;
  cotangent::shape shape;
  std::int64_t bytes = 0;
  std::string name;
  std::int32_t constant = -1; // index of the graph's constant
  std::int32_t partner = -1;  // of an input: the result that is its next value; of that result: the input
  std::int32_t next = -1;     // of a result: another result of the same expression
  bool state = false;         // an input in the program's own memory, unless bound
  bool read = false;          // an input with a reader
};

inline std::string name_in(builder const& b, symbol t) {
  std::int32_t const n = b.tensor(t).name;
  return n == none ? std::string() : std::string(b.get().names.data() + n);
}
inline port port_of(builder const& b, symbol t) {
  port p;
  p.id = t;
  p.type = b.tensor(t).type;
  p.shape = shape_of(b, t);
  p.bytes = p.shape.size().number * static_cast<std::int64_t>(size_of(p.type));
  p.name = name_in(b, t);
  return p;
}

/// The data shared by all copies of a program.
struct compiled_code {
  interpreter code;
  std::vector<port> inputs, outputs;
  std::vector<held_constant> constants;
  std::unordered_map<symbol, int> input_of, output_of; // of results: the first one of this expression
  run_prediction predicted;
  std::shared_ptr<graph_identity const> graph;

  /// The input that reads memory bound to a symbol, none (-1) if there is none: constants have their elements.
  int input_to_bind(symbol t) const {
    auto const at = input_of.find(t);
    if (at == input_of.end()) return -1;
    std::int32_t const constant = inputs[static_cast<std::size_t>(at->second)].constant;
    return constant < 0 || constants[static_cast<std::size_t>(constant)].is_default ? at->second : -1;
  }
  /// Adds a result, with memory of its own even if another result is the same expression.
  void add_output(port const& p) {
    int const k = static_cast<int>(outputs.size());
    if (auto const [at, first] = output_of.emplace(p.id, k); !first) {
      int last = at->second;
      while (outputs[static_cast<std::size_t>(last)].next >= 0) last = outputs[static_cast<std::size_t>(last)].next;
      outputs[static_cast<std::size_t>(last)].next = k;
    }
    outputs.push_back(p);
  }
};
} // namespace detail

} // namespace cotangent::dynamic

#endif
