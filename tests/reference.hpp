// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_REFERENCE_HPP
#define COTANGENT_TESTS_REFERENCE_HPP

#include <cotangent/graph/whole.hpp>
#include <cotangent/ops/all.hpp>
#include <cotangent/ops/control.hpp>

#include <cstdint>
#include <tuple>

// What passes are compared with: the plainest evaluation of a graph, element by element, static shapes only.

namespace reference {

using namespace cotangent;

using values = detail::array<extend::scalar>;

constexpr std::int64_t count(extend::dimensions const& d) {
  std::int64_t n = 1;
  for (int k = 0; k < d.rank; ++k) n *= d.size[k];
  return n;
}

struct place {
  std::int64_t at[max_rank]{};
};
constexpr place place_of(extend::dimensions const& d, std::int64_t position) {
  place p;
  for (int k = d.rank - 1; k >= 0; --k) {
    p.at[k] = position % d.size[k];
    position /= d.size[k];
  }
  return p;
}
constexpr int position_of(extend::dimensions const& d, place const& p) {
  std::int64_t position = 0;
  for (int k = 0; k < d.rank; ++k) position = position * d.size[k] + p.at[k];
  return static_cast<int>(position);
}

constexpr extend::scalar number(element e, double v) {
  return is_floating(e) ? extend::scalar{e, detail::rounded_to(e, v), 0}
                        : extend::scalar{e, 0, e == element::boolean ? static_cast<std::int64_t>(v) != 0 : static_cast<std::int64_t>(v)};
}
constexpr extend::scalar converted(extend::scalar const& s, element to) {
  switch (to) {
  case element::float32: return extend::scalar::of(s.as<float>());
  case element::float64: return extend::scalar::of(s.as<double>());
  case element::int32: return extend::scalar::of(s.as<std::int32_t>());
  case element::int64: return extend::scalar::of(s.as<std::int64_t>());
  case element::boolean: return extend::scalar::of(s.as<bool>());
  case element::float16: return extend::scalar::of(s.as<float16>());
  case element::bfloat16: return extend::scalar::of(s.as<bfloat16>());
  }
  return s;
}
constexpr extend::scalar add(extend::scalar const& a, extend::scalar const& b) {
  extend::scalar const both[2]{a, b};
  return info_of<op::add>()->evaluate(both);
}
constexpr extend::scalar multiply(extend::scalar const& a, extend::scalar const& b) {
  extend::scalar const both[2]{a, b};
  return info_of<op::multiply>()->evaluate(both);
}

/// The value of a function of whole tensors of T, by the operation's own scalar code.
template <class T>
constexpr void apply_whole(extend::graph_view const& g, extend::node const& n, detail::array<values> const& of, values& result) {
  whole_call call;
  detail::array<T> numbers[4];
  auto const tensor = [&](int k, extend::symbol t, values const& v) {
    extend::dimensions const& d = g.shape(t);
    for (extend::scalar const& s : v) numbers[k].push(s.as<T>());
    return whole_tensor::of(numbers[k].data(), d.rank, d.size);
  };
  for (int k = 0; k < n.operand_count; ++k) call.operand[k] = tensor(k, g.operand(n, k), of[g.operand(n, k)]);
  call.result = tensor(3, g.result(n), result);
  call.attribute = g.numbers + n.attribute;
  n.op->whole(call);
  for (int i = 0; i < result.size(); ++i) result[i] = extend::scalar::of(numbers[3][i]);
}

/// The values of one node's result.
constexpr values apply(extend::graph_view const& g, extend::node const& n, detail::array<values> const& of) {
  extend::symbol const y = g.result(n);
  extend::dimensions const& d = g.shape(y);
  element const type = g.tensors[y].type;
  values r(static_cast<int>(count(d)), number(type, 0));
  auto const x = [&](int k) -> values const& { return of[g.operand(n, k)]; };
  auto const from = [&](int k = 0) -> extend::dimensions const& { return g.shape(g.operand(n, k)); };
  auto const attribute = [&](int k = 0) { return g.attribute(n, k); };
  switch (n.op->kind) {
  case operation_kind::constant:
    for (extend::scalar& s : r) s = detail::scalar_of(type, attribute());
    break;
  case operation_kind::iota:
    for (int i = 0; i < r.size(); ++i)
      r[i] = number(type, static_cast<double>(place_of(d, i).at[attribute()]));
    break;
  case operation_kind::size:
    for (extend::scalar& s : r) {
      s = number(type, 1);
      for (int k = 0; k < n.attribute_count; ++k)
        s = multiply(s, number(type, static_cast<double>(attribute(k))));
    }
    break;
  case operation_kind::elementwise:
    for (int i = 0; i < r.size(); ++i) {
      extend::scalar in[3]{};
      for (int k = 0; k < n.operand_count; ++k) in[k] = x(k)[i];
      r[i] = n.op == info_of<op::convert>() ? converted(in[0], type) : n.op->evaluate(in);
    }
    break;
  case operation_kind::reduction:
    for (extend::scalar& s : r) s = n.op->neutral(type);
    for (int i = 0; i < x(0).size(); ++i) {
      place const p = place_of(from(), i);
      place to;
      int rank = 0;
      for (int k = 0; k < from().rank; ++k)
        if ((attribute() >> k & 1) == 0) to.at[rank++] = p.at[k];
      extend::scalar const in[2]{r[position_of(d, to)], x(0)[i]};
      r[position_of(d, to)] = n.op->evaluate(in);
    }
    break;
  case operation_kind::arg_reduction:
    for (int i = 0; i < r.size(); ++i) {
      place p, q = place_of(d, i);
      for (int k = 0; k < d.rank; ++k) p.at[k < attribute() ? k : k + 1] = q.at[k];
      extend::scalar best{};
      for (std::int64_t k = 0; k < from().size[attribute()]; ++k) {
        p.at[attribute()] = k;
        extend::scalar const v = x(0)[position_of(from(), p)];
        if (k == 0 || v.as<double>() > best.as<double>()) {
          best = v;
          r[i] = number(type, static_cast<double>(k));
        }
      }
    }
    break;
  case operation_kind::broadcast:
    for (int i = 0; i < r.size(); ++i) {
      place const p = place_of(d, i);
      place q;
      for (int k = 0; k < from().rank; ++k) q.at[k] = from().size[k] == 1 ? 0 : p.at[attribute(k)];
      r[i] = x(0)[position_of(from(), q)];
    }
    break;
  case operation_kind::reshape:
  case operation_kind::identity: r = x(0); break;
  case operation_kind::permute:
    for (int i = 0; i < r.size(); ++i) {
      place const p = place_of(d, i);
      place q;
      for (int k = 0; k < d.rank; ++k) q.at[attribute(k)] = p.at[k];
      r[i] = x(0)[position_of(from(), q)];
    }
    break;
  case operation_kind::slice:
    for (int i = 0; i < r.size(); ++i) {
      place p = place_of(d, i);
      for (int k = 0; k < d.rank; ++k) p.at[k] = attribute(2 * k) + p.at[k] * attribute(2 * k + 1);
      r[i] = x(0)[position_of(from(), p)];
    }
    break;
  case operation_kind::pad:
    for (int i = 0; i < x(0).size(); ++i) {
      place p = place_of(from(), i);
      for (int k = 0; k < d.rank; ++k) p.at[k] = attribute(2 * k) + p.at[k] * attribute(2 * k + 1);
      r[position_of(d, p)] = x(0)[i];
    }
    break;
  case operation_kind::concatenate: {
    std::int64_t start = 0;
    for (int o = 0; o < n.operand_count; ++o) {
      for (int i = 0; i < x(o).size(); ++i) {
        place p = place_of(from(o), i);
        p.at[attribute()] += start;
        r[position_of(d, p)] = x(o)[i];
      }
      start += from(o).size[attribute()];
    }
    break;
  }
  case operation_kind::gather:
  case operation_kind::scatter_add: {
    bool const gathers = n.op->kind == operation_kind::gather;
    extend::dimensions const& table = gathers ? from() : d;
    int row = 1;
    for (int k = 1; k < table.rank; ++k) row *= static_cast<int>(table.size[k]);
    for (int i = 0; i < x(1).size(); ++i) {
      std::int64_t at = x(1)[i].integer;
      at = at < 0 ? 0 : at >= table.size[0] ? table.size[0] - 1 : at;
      if (table.size[0] == 0) break; // no row to choose: zeros
      for (int j = 0; j < row; ++j) {
        int const there = static_cast<int>(at) * row + j, here = i * row + j;
        if (gathers) r[here] = x(0)[there];
        else r[there] = add(r[there], x(0)[here]);
      }
    }
    break;
  }
  case operation_kind::matmul:
    for (int i = 0; i < r.size(); ++i) {
      place const p = place_of(d, i);
      bool const ta = attribute(0) != 0, tb = attribute(1) != 0;
      int const at = d.rank - 2; // the axis of rows, behind that of a stack
      for (std::int64_t k = 0; k < from(0).size[ta ? at : at + 1]; ++k) {
        place left = p, right = p;
        left.at[at] = ta ? k : p.at[at], left.at[at + 1] = ta ? p.at[at] : k;
        right.at[at] = tb ? p.at[at + 1] : k, right.at[at + 1] = tb ? k : p.at[at + 1];
        r[i] = add(r[i], multiply(x(0)[position_of(from(0), left)], x(1)[position_of(from(1), right)]));
      }
    }
    break;
  case operation_kind::whole:
    if (type == element::float32) reference::apply_whole<float>(g, n, of, r);
    else reference::apply_whole<double>(g, n, of, r);
    break;
  case operation_kind::input:
  case operation_kind::control: break;
  }
  return r;
}

/// The values of the outputs, one after the other.
constexpr detail::array<values> evaluate(extend::graph_view const& g, detail::array<values> const& inputs) {
  detail::array<values> of(g.tensor_count);
  for (int k = 0; k < g.input_count(); ++k) of[g.input(k)] = inputs[k];
  for (std::int32_t i = 0; i < g.node_count; ++i) of[g.result(g.nodes[i])] = apply(g, g.nodes[i], of);
  detail::array<values> results;
  for (int k = 0; k < g.output_count(); ++k) results.push(of[g.output(k)]);
  return results;
}

/// Numbers that repeat from run to run, in [0, 1).
class dice {
  std::uint64_t state_;

public:
  constexpr explicit dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  constexpr std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ >> 11;
  }
  constexpr int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  constexpr double between(double a, double b) {
    return a + (b - a) * static_cast<double>(bits() & 0xFFFFFF) / 16777216.0;
  }
};

/// For every input values in [low, high) (integers: rounded down).
constexpr detail::array<values> inputs_of(extend::graph_view const& g, dice& d, double low, double high) {
  detail::array<values> r;
  for (int k = 0; k < g.input_count(); ++k) {
    extend::symbol const t = g.input(k);
    values v;
    for (std::int64_t i = 0; i < count(g.shape(t)); ++i)
      v.push(number(g.tensors[t].type, d.between(low, high)));
    r.push(static_cast<values&&>(v));
  }
  return r;
}

template <class... Ops> std::tuple<Ops...> tuple_of(operations<Ops...>);
template <class... Lists> using joined = decltype(tuple_of(typename detail::joined_operations<Lists...>::type{}));

/// Every elementwise operation from floating numbers to such, from the lists of the library.
template <class Op> constexpr auto if_elementwise() {
  if constexpr (requires { Op::operands; })
    if constexpr (Op::operands <= extend::takes::numbers && Op::result == extend::yields::the_same) return std::tuple<Op>{};
    else return std::tuple<>{};
  else return std::tuple<>{};
}
template <class... Ops> constexpr auto elementwise_among(operations<Ops...>) {
  return std::tuple_cat(reference::if_elementwise<Ops>()...);
}
using elementwise_operations = decltype(elementwise_among(detail::library_operations{}));

/// Those and all others whose laws are in tests/runtime/forward.cpp. (Those of the other headers are in tests of
/// tests/runtime/witness_*.cpp; loops, branches and sequences have tests of their own.)
using law_operations = joined<detail::source_operations, detail::arithmetic_operations, detail::compare_operations, detail::function_operations,
                              detail::special_operations, detail::normal_operations, detail::random_operations, detail::control_operations>;

} // namespace reference

#endif
