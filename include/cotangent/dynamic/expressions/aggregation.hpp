// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_AGGREGATION_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_AGGREGATION_HPP

#include <cotangent/dynamic/expressions/options.hpp>

#include <exception>
#include <functional>
#include <source_location>
#include <vector>

// Sums contributions to a cotangent by a user's function.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Calls the user's function that sums contributions. Its exceptions are held back until the sweep has ended.
class users_sum {
  graph_state& s_;
  request r_;
  std::function<any_expr(std::vector<any_expr> const&)> const& sum_;
  std::exception_ptr error_;

  /// Operations of the function go to the region of the contributions.
  struct in_region {
    graph_state& s;
    std::source_location place = s.b.place;
    bool nested = s.b.region != s.region();
    explicit in_region(graph_state& of) : s(of) {
      if (nested) s.frames.push_back({s.b.region, nullptr, {}});
    }
    in_region(in_region const&) = delete;
    ~in_region() {
      if (nested) s.frames.pop_back();
      s.b.place = place;
    }
  };
  symbol sum(symbol const* x, int count) {
    in_region const inside(s_);
    std::vector<any_expr> all;
    for (int k = 0; k < count; ++k) all.emplace_back(standing(s_, x[k]), s_.b.tensor(x[k]).type);
    standing const y = sum_(all).where_it_stands();
    if (y.s == nullptr) raise<refusals::dynamic_detached>(s_.b, r_);
    if (!y.is_in(s_)) raise<refusals::dynamic_other_graph>(s_.b, r_);
    symbol const both[]{s_.inside(y.id, r_), x[0]};
    tensor_symbol const &made = s_.b.tensor(both[0]), &like = s_.b.tensor(x[0]);
    if (made.shape != like.shape || made.type != like.type)
      raise<refusals::gradient_sum>(s_.b, {r_.name, r_.name_length, both, 2, r_.where});
    return both[0];
  }
  static symbol call(void* with, builder&, symbol const* x, int count) {
    users_sum& self = *static_cast<users_sum*>(with);
    if (self.error_) return x[0];
    try {
      return self.sum(x, count);
    } catch (...) {
      self.error_ = std::current_exception();
      return x[0];
    }
  }

public:
  users_sum(graph_state& s, request const& r, gradient_options const& o) : s_(s), r_(r), sum_(o.sum) {
    r_.operands = nullptr;
    r_.operand_count = 0;
  }
  users_sum(users_sum const&) = delete;
  aggregation how() { return sum_ ? aggregation{&call, this} : aggregation{}; }
  void check() const {
    if (error_) std::rethrow_exception(error_);
  }
};

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
