// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_REFERENCE_NODES_HPP
#define COTANGENT_RUN_REFERENCE_NODES_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/graph/failure.hpp>
#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/reference/memory.hpp>

#include <cstdint>

// Evaluates one node after another, element by element.

namespace cotangent::detail {

/// The result of an evaluation.
struct evaluated {
  status state = status::ok;
  failure failed;

  constexpr bool ok() const noexcept { return state == status::ok && failed.why == nullptr; }
};

inline namespace COTANGENT_ABI {

/// The values of symbols, and the nodes that compute them.
// (Member templates precede their callers: clang evaluates as soon as it has read the class.)
class node_evaluation {
  graph_view g_;
  std::int64_t const* sizes_;
  element_pools pools_;
  array<place_in_pool> at_; // by symbol; the index of a sequence
  status state_ = status::ok;

  constexpr std::int64_t size(dimension d) const noexcept { return d >= 0 ? d : sizes_[-1 - d]; }
  constexpr std::int64_t size(symbol t, int axis) const noexcept { return size(g_.shape(t).size[axis]); }
  constexpr int rank(symbol t) const noexcept { return g_.shape(t).rank; }
  /// The row-major strides of `t`, in elements.
  constexpr void steps(symbol t, std::int64_t* to) const noexcept {
    std::int64_t n = 1;
    for (int k = rank(t); k-- > 0; n *= size(t, k)) to[k] = n;
  }

  /// Visits every position of `t` in order, with its offset by the strides of another tensor.
  template <class Visit>
  constexpr void walk(symbol t, std::int64_t const* stride, std::int64_t start, Visit visit) {
    std::int64_t index[max_rank]{}, n = count(t), at = start;
    std::int64_t extents[max_rank]{};
    int const inner = rank(t) - 1;
    for (int k = 0; k <= inner; ++k) extents[k] = size(t, k);
    for (std::int64_t i = 0; i < n; ++i) {
      visit(i, at);
      for (int k = inner; k >= 0; --k) {
        at += stride[k];
        if (++index[k] < extents[k]) break;
        at -= index[k] * stride[k];
        index[k] = 0;
      }
    }
  }

  constexpr void compute_size(node const& n) {
    std::int64_t number = 1;
    for (int k = 0; k < n.attribute_count; ++k) number *= size(g_.attribute(n, k));
    pools_.fill(at_[g_.result(n)], scalar{element::int64, 0, number}, count(g_.result(n)));
  }

  constexpr void compute_elementwise(node const& n) {
    symbol const y = g_.result(n);
    std::int64_t const elements = count(y);
    bool const converts = n.op->evaluate == nullptr;
    scalar x[8]{};
    place_in_pool from[8]{};
    int const arity = n.operand_count;
    for (int k = 0; k < arity; ++k) from[k] = at_[g_.operand(n, k)];
    place_in_pool const to = at_[y];
    for (std::int64_t i = 0; i < elements; ++i) {
      for (int k = 0; k < arity; ++k) x[k] = pools_.get(from[k], i);
      pools_.set(to, i, converts ? x[0] : n.op->evaluate(x));
      if (n.op->reporting != nullptr && x[0].real <= 0) state_ = status::singular_matrix;
    }
  }

  constexpr void compute_reduction(node const& n) {
    symbol const x = g_.operand(n, 0), y = g_.result(n);
    std::uint32_t const mask = static_cast<std::uint32_t>(g_.attribute(n));
    std::int64_t in_result[max_rank]{}, along[max_rank]{};
    steps(y, along);
    for (int k = 0, j = 0; k < rank(x); ++k)
      if ((mask >> k & 1u) == 0) in_result[k] = along[j++];
    pools_.fill(at_[y], n.op->neutral(at_[y].type), count(y));
    scalar pair[2]{};
    walk(x, in_result, 0, [&](std::int64_t i, std::int64_t to) {
      pair[0] = pools_.get(at_[y], to);
      pair[1] = pools_.get(at_[x], i);
      pools_.set(at_[y], to, n.op->evaluate(pair));
    });
  }

  constexpr void compute_movement(node const& n) {
    symbol const y = g_.result(n), x = n.operand_count > 0 ? g_.operand(n, 0) : y;
    std::int64_t along[max_rank]{}, stride[max_rank]{}, start = 0;
    auto const attribute = [&](int k) { return g_.attribute(n, k); };
    switch (n.op->kind) {
    case operation_kind::iota:
      stride[attribute(0)] = 1;
      return walk(y, stride, 0, [&](std::int64_t i, std::int64_t at) {
        pools_.set(at_[y], i, scalar{element::int64, 0, at});
      });
    case operation_kind::pad:
      steps(y, along);
      for (int k = 0; k < rank(y); ++k) {
        start += size(attribute(2 * k)) * along[k];
        stride[k] = attribute(2 * k + 1) * along[k];
      }
      pools_.fill(at_[y], scalar{element::int64}, count(y));
      return walk(x, stride, start,
                  [&](std::int64_t i, std::int64_t at) { pools_.set(at_[y], at, pools_.get(at_[x], i)); });
    case operation_kind::broadcast:
      steps(x, along);
      for (int k = 0; k < rank(x); ++k)
        if (size(x, k) != 1) stride[attribute(k)] = along[k];
      break;
    case operation_kind::permute:
      steps(x, along);
      for (int k = 0; k < rank(y); ++k) stride[k] = along[attribute(k)];
      break;
    default: // slice
      steps(x, along);
      for (int k = 0; k < rank(y); ++k) {
        start += size(attribute(2 * k)) * along[k];
        stride[k] = attribute(2 * k + 1) * along[k];
      }
    }
    walk(y, stride, start,
         [&](std::int64_t i, std::int64_t at) { pools_.set(at_[y], i, pools_.get(at_[x], at)); });
  }

  constexpr void compute_concatenate(node const& n) {
    symbol const y = g_.result(n);
    std::int64_t const axis = g_.attribute(n);
    std::int64_t along[max_rank]{}, start = 0;
    steps(y, along);
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = g_.operand(n, k);
      walk(x, along, start,
           [&](std::int64_t i, std::int64_t at) { pools_.set(at_[y], at, pools_.get(at_[x], i)); });
      start += size(x, static_cast<int>(axis)) * along[axis];
    }
  }

  constexpr void compute_arg_max(node const& n) {
    symbol const x = g_.operand(n, 0), y = g_.result(n);
    std::int64_t const axis = g_.attribute(n);
    std::int64_t along[max_rank]{}, in_result[max_rank]{}, outer = 1;
    steps(x, along);
    steps(y, in_result);
    for (int k = 0; k < axis; ++k) outer *= size(x, k);
    std::int64_t const row = along[axis], length = size(x, static_cast<int>(axis));
    for (std::int64_t i = 0; i < outer; ++i)
      for (std::int64_t j = 0; j < row; ++j) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < length; ++k) {
          scalar const a = pools_.get(at_[x], (i * length + k) * row + j);
          scalar const b = pools_.get(at_[x], (i * length + best) * row + j);
          bool const real = is_floating(a.type);
          if (real && math::is_nan(b.real)) break;
          if (real ? a.real > b.real || math::is_nan(a.real) : a.integer > b.integer) best = k;
        }
        pools_.set(at_[y], i * row + j, scalar{element::int64, 0, best});
      }
  }

  /// Copies row index[i] of `large` to row i of `small`, or adds or copies row i to it.
  constexpr void compute_rows(node const& n, symbol large, symbol small, symbol index, bool gathers, bool sets = false) {
    std::int64_t row = 1;
    for (int k = 1; k < rank(large); ++k) row *= size(large, k);
    std::int64_t const rows = size(large, 0), chosen = count(index);
    symbol const y = g_.result(n);
    if (n.op != info_of<op::update_rows>()) pools_.fill(at_[y], scalar{element::int64}, count(y));
    for (std::int64_t i = 0; i < chosen; ++i) {
      std::int64_t at = pools_.get(at_[index], i).integer;
      if (at < 0 || at >= rows) {
        state_ = status::index_out_of_range;
        at = at < 0 ? 0 : rows - 1;
      }
      if (rows == 0) continue;
      for (std::int64_t j = 0; j < row; ++j)
        if (gathers) pools_.set(at_[small], i * row + j, pools_.get(at_[large], at * row + j));
        else if (sets) pools_.set(at_[large], at * row + j, pools_.get(at_[small], i * row + j));
        else {
          scalar const pair[2]{pools_.get(at_[large], at * row + j), pools_.get(at_[small], i * row + j)};
          pools_.set(at_[large], at * row + j, info_of<op::sum>()->evaluate(pair));
        }
    }
  }

  constexpr void update_rows(node const& n) {
    symbol const y = g_.result(n), sum = g_.operand(n, n.operand_count - 1);
    for (std::int64_t k = 0; k < count(y); ++k) pools_.set(at_[y], k, pools_.get(at_[sum], k));
    for (int k = 0; k + 1 < n.operand_count; k += 2) compute_rows(n, y, g_.operand(n, k), g_.operand(n, k + 1), false, (rows_set(g_, n) >> (k / 2) & 1u) != 0);
  }

  /// In the order of kernels::matmul: sums of chains, then the sum of those.
  template <class T> constexpr void compute_matmul(node const& n) {
    symbol const a = g_.operand(n, 0), b = g_.operand(n, 1), y = g_.result(n);
    bool const ta = g_.attribute(n, 0) != 0;
    int const at = rank(y) - 2;
    std::int64_t const matrices = at == 0 ? 1 : size(y, 0), rows = size(y, at), columns = size(y, at + 1),
                       inner = size(a, ta ? at : at + 1);
    T const* left = pools_.template data<T>(at_[a]);
    T const* right = pools_.template data<T>(at_[b]);
    T* to = pools_.template data<T>(at_[y]);
    for (std::int64_t k = 0; k < matrices; ++k, left += rows * inner, right += inner * columns, to += rows * columns)
      multiply(n, left, right, to, rows, columns, inner);
  }
  template <class T>
  constexpr void multiply(node const& n, T const* left, T const* right, T* to, std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    constexpr std::int64_t chain = 128;
    bool const ta = g_.attribute(n, 0) != 0, tb = g_.attribute(n, 1) != 0;
    std::int64_t const a_row = ta ? 1 : inner, a_column = ta ? rows : 1;
    std::int64_t const b_row = tb ? 1 : columns, b_column = tb ? inner : 1;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        T total{}, sum{};
        for (std::int64_t k = 0; k < inner; ++k) {
          if (k > 0 && k % chain == 0) {
            total = k == chain ? sum : total + sum;
            sum = T{};
          }
          sum = math::fma(left[i * a_row + k * a_column], right[k * b_row + j * b_column], sum);
        }
        to[i * columns + j] = inner <= chain ? sum : total + sum;
      }
  }

  constexpr whole_tensor whole_of(symbol t) {
    whole_tensor w;
    w.type = g_.tensors[t].type;
    w.rank = rank(t);
    for (int k = 0; k < w.rank; ++k) w.size[k] = size(t, k);
    switch (w.type) {
    case element::float32: w.float32 = pools_.template data<float>(at_[t]); break;
    case element::float64: w.float64 = pools_.template data<double>(at_[t]); break;
    case element::int32: w.int32 = pools_.template data<std::int32_t>(at_[t]); break;
    case element::int64: w.int64 = pools_.template data<std::int64_t>(at_[t]); break;
    case element::boolean: w.boolean = pools_.template data<bool>(at_[t]); break;
    case element::float16:
    case element::bfloat16: break; // (the builder refuses them)
    }
    return w;
  }
  constexpr void compute_whole(node const& n) {
    whole_call call;
    for (int k = 0; k < n.operand_count; ++k) call.operand[k] = whole_of(g_.operand(n, k));
    call.result = whole_of(g_.result(n));
    call.attribute = g_.numbers + n.attribute;
    call.found = &state_;
    n.op->whole(call);
  }

  constexpr void look_at_labels(node const& n) {
    symbol const labels = g_.operand(n, 0);
    std::int64_t const classes = size(g_.attribute(n));
    for (std::int64_t i = 0; i < count(labels); ++i)
      if (std::int64_t const at = pools_.get(at_[labels], i).integer; at < 0 || at >= classes)
        state_ = status::index_out_of_range;
  }

public:
  constexpr node_evaluation(graph_view const& g, std::int64_t const* sizes)
      : g_(g), sizes_(sizes), at_(g.tensor_count) {}

  constexpr status state() const noexcept { return state_; }
  constexpr element_pools& pools() noexcept { return pools_; }
  constexpr place_in_pool& place(symbol t) noexcept { return at_[t]; }
  constexpr std::int64_t count(symbol t) const noexcept {
    dimensions const& d = g_.shape(t);
    std::int64_t n = 1;
    for (int k = 0; k < d.rank; ++k) n *= size(d.size[k]);
    return n;
  }

  /// Copies a view's elements to contiguous memory.
  constexpr void read_view(symbol t) {
    std::int64_t const* const window = g_.numbers + g_.tensors[t].window;
    place_in_pool const from = at_[g_.tensors[t].base], to = pools_.add(g_.tensors[t].type, count(t));
    walk(t, window + 1, window[0],
         [&](std::int64_t i, std::int64_t at) { pools_.set(to, i, pools_.get(from, at)); });
    at_[t] = to;
  }
  constexpr void write_view(symbol t) {
    std::int64_t const* const window = g_.numbers + g_.tensors[t].window;
    place_in_pool const from = at_[t], to = at_[g_.tensors[t].base];
    walk(t, window + 1, window[0],
         [&](std::int64_t i, std::int64_t at) { pools_.set(to, at, pools_.get(from, i)); });
  }

  constexpr void compute(node const& n) {
    symbol const y = g_.result(n), x = n.operand_count > 0 ? g_.operand(n, 0) : y;
    if (n.op == info_of<op::label>()) look_at_labels(n);
    switch (n.op->kind) {
    case operation_kind::identity:
    case operation_kind::reshape: at_[y] = at_[x]; return;
    default: break;
    }
    at_[y] = pools_.add(g_.tensors[y].type, count(y));
    switch (n.op->kind) {
    case operation_kind::constant:
      return pools_.fill(at_[y], scalar_of(at_[y].type, g_.attribute(n)), count(y));
    case operation_kind::size: return compute_size(n);
    case operation_kind::elementwise: return compute_elementwise(n);
    case operation_kind::reduction: return compute_reduction(n);
    case operation_kind::arg_reduction: return compute_arg_max(n);
    case operation_kind::concatenate: return compute_concatenate(n);
    case operation_kind::whole: return compute_whole(n);
    case operation_kind::gather: return compute_rows(n, x, y, g_.operand(n, 1), true);
    case operation_kind::scatter_add:
      if (n.op == info_of<op::update_rows>()) return update_rows(n);
      return compute_rows(n, y, x, g_.operand(n, 1), false);
    case operation_kind::matmul:
      return at_[y].type == element::float32 ? compute_matmul<float>(n) : compute_matmul<double>(n);
    default: return compute_movement(n);
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
