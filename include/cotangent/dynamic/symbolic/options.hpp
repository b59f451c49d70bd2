// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_OPTIONS_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_OPTIONS_HPP

#include <cotangent/dynamic/expressions/options.hpp>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

// Options of symbolic graphs.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

/// Options of `symbolic_graph::compile`.
struct symbolic_compile {
  std::vector<symbolic_tensor> outputs{};
  std::vector<binding> binds{};
  std::vector<symbolic_exec> sources{}, destinations{};               // nothing: all operations
  std::vector<std::pair<symbolic_tensor, symbolic_tensor>> updates{}; // see `symbolic_step`
  bool exact = false, own_memory = false;                             // see `compile_options`
  std::int64_t memory_budget = 0;
  bool (*mirror)(extend::node const&) = nullptr;
  bool keep_all = false;
};

/// Options of `symbolic_graph::backward`. With sources or destinations only operations on a path from a
/// source to a destination are differentiated: the results of other operations are constant.
struct symbolic_backward {
  std::vector<symbolic_tensor> outputs{}, wrt{}, seeds{};
  std::vector<symbolic_exec> sources{}, destinations{};               // nothing: all operations
  unreachable policy = unreachable::zeros;              // this and the following as in `gradient_options`
  detail::tape_options tape = {};
  std::function<any_expr(std::vector<any_expr> const&)> sum = {};
};

} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
