// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_COMPILED_CODE_HPP
#define COTANGENT_DYNAMIC_COMPILED_CODE_HPP

#include <cotangent/dynamic/data.hpp>
#include <cotangent/dynamic/expr.hpp>

#include <cotangent/run/interpreter.hpp>
#include <cotangent/transform/fit.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cotangent::dynamic {
namespace detail {

/// An argument or a result of a program.
struct port {
  symbol id = none;
  element type = element::float64;
  cotangent::shape shape;
  std::int64_t bytes = 0;
  std::string name;
  std::int32_t constant = -1; // of the graph's
  std::int32_t partner = -1;  // of an input: the result that is its next value; of such a result: the input
  bool state = false;         // an input whose memory is the program's, unless it is bound
  bool read = false;          // an input that something reads
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

inline namespace COTANGENT_ABI {
/// What all copies of a program share.
struct compiled_code {
  interpreter code;
  std::vector<port> inputs, outputs;
  std::vector<held_constant> constants;
  std::unordered_map<symbol, int> input_of, output_of;
  run_prediction predicted;
};
} // namespace COTANGENT_ABI
} // namespace detail

} // namespace cotangent::dynamic

#endif
