// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_RANDOM_HPP
#define COTANGENT_OPS_RANDOM_HPP

#include <cotangent/core/math/philox.hpp>
#include <cotangent/ops/indexing.hpp>

#include <cstdint>
#include <type_traits>

// Stateless random numbers: each number depends only on a key and on its position in the tensor. Runs are
// therefore repeatable, a rematerialized value has the same bits, nodes with equal keys are equal, and lanes,
// the interpreter and constant evaluations agree.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_TYPES(random_key_element, is, element_of_key, int64_element, "cotangent: the key of random numbers must be an int64; convert it with ct::convert<std::int64_t>(key)")
COTANGENT_REFUSAL(random_key, equal, rank_of_key, rank_of_a_number, "cotangent: the key of random numbers must be one number")
COTANGENT_REFUSAL(random_number, is, below_zero, at_least_zero, "cotangent: random_fold_in: the number must be at least 0")
COTANGENT_REFUSAL(random_probability, at_most, axes_of_probability, axes_of_result, "cotangent: random_bernoulli: the probability must broadcast to the shape of the result")
COTANGENT_REFUSAL_OF(probability_range, allowed, "cotangent: random_bernoulli: the probability must be at least 0 and at most 1")
COTANGENT_REFUSAL_OF(dropout_rate, allowed, "cotangent: dropout: the rate must be at least 0 and less than 1")
// clang-format on
} // namespace refusals

namespace op {

/// From a key and a position, both int64: some of the 128 random bits that Philox computes, as a number in
/// [0, 2^Bits). `Second`: from the other half of these bits.
template <class Self, int Bits, bool Second> struct random_bits : extend::elementwise<2> {
  static constexpr extend::takes operands = extend::takes::numbers; // `infer` checks which
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr float cost = 60;
  template <class V> COTANGENT_FORMULA static constexpr V apply(V const& key, V const& position) {
    if constexpr (!std::is_same_v<math::lane_t<V>, std::int64_t>) return static_cast<void>(position), key;
    else {
      using U = math::with_lane<V, std::uint64_t>;
      U const k = math::bit_cast<U>(key), at = math::bit_cast<U>(position);
      U const low = math::broadcast<U>(std::uint64_t{0xFFFFFFFF});
      auto const w = math::philox<U>({static_cast<U>(at & low), static_cast<U>(at >> 32), U{}, U{}},
                                     static_cast<U>(k & low), static_cast<U>(k >> 32));
      U const high = Second ? w.w2 : w.w0, rest = Second ? w.w3 : w.w1;
      if constexpr (Bits <= 32) return math::bit_cast<V>(static_cast<U>(high >> (32 - Bits)));
      else return math::bit_cast<V>(static_cast<U>((high << (Bits - 32)) | (rest >> (64 - Bits))));
    }
  }
  static constexpr void infer(inference& r) {
    detail::infer_elementwise<Self>(r);
    for (int k = 0; k < 2; ++k)
      if (r.tensor(k).type != element::int64) return r.refuse<refusals::random_key_element>();
  }
  template <class Op> static consteval operation describe(std::type_identity<Op>) {
    operation o = extend::elementwise<2>::describe(std::type_identity<Op>{});
    o.infer = &infer;
    return o;
  }
};
struct random24 : random_bits<random24, 24, false> {
  static constexpr char const* name = "random24";
};
struct random53 : random_bits<random53, 53, false> {
  static constexpr char const* name = "random53";
};
struct second_random24 : random_bits<second_random24, 24, true> {
  static constexpr char const* name = "second_random24";
};
struct second_random53 : random_bits<second_random53, 53, true> {
  static constexpr char const* name = "second_random53";
};

} // namespace op

namespace detail {
using random_operations = operations<op::random24, op::random53, op::second_random24, op::second_random53>;
} // namespace detail

namespace extend {

/// Numbers in [0, 1): all multiples of 2^-24 (float), 2^-53 (double), 2^-11 (float16) or 2^-8 (bfloat16), equally likely. `second`: independent
/// numbers of the same key.
constexpr term random_uniform(term key, std::int32_t shape, element type, bool second = false) {
  builder& b = *key.b;
  if (key.type() != element::int64) return b.refuse<refusals::random_key_element>(0, 0, b.place), key;
  if (key.rank() != 0) return b.refuse<refusals::random_key>(key.rank(), 0, b.place), key;
  if (!is_floating(type)) return b.refuse<refusals::element_not_floating>(0, 0, b.place), key;
  if (detail::is_half(type)) { // as many bits as fit, since rounding may give 1
    double const steps = type == element::float16 ? 2048 : 256;
    return convert(apply<op::floor>(steps * random_uniform(key, shape, detail::arithmetic_of(type), second)) * (1 / steps), type);
  }
  term const k = broadcast_to(key, shape), at = positions(b, shape);
  bool const single = type == element::float32;
  term const bits = single ? (second ? apply<op::second_random24>(k, at) : apply<op::random24>(k, at))
                           : (second ? apply<op::second_random53>(k, at) : apply<op::random53>(k, at));
  term const x = convert(bits, type);
  return x * constant_like(x, single ? 0x1p-24 : 0x1p-53);
}

/// Normal numbers of mean 0 and variance 1, by the Box-Muller transform.
constexpr term random_normal(term key, std::int32_t shape, element type) {
  if (detail::is_half(type)) return convert(random_normal(key, shape, detail::arithmetic_of(type)), type);
  term const u = random_uniform(key, shape, type);
  if (key.b->failed().why != nullptr) return key;
  term const v = random_uniform(key, shape, type, true);
  return apply<op::sqrt>(-2. * apply<op::log>(1. - u)) * apply<op::cos>(6.283185307179586476925286766559 * v);
}

/// Exponentially distributed numbers of mean 1.
constexpr term random_exponential(term key, std::int32_t shape, element type) {
  if (detail::is_half(type)) return convert(random_exponential(key, shape, detail::arithmetic_of(type)), type);
  term const u = random_uniform(key, shape, type);
  return key.b->failed().why != nullptr ? key : -apply<op::log1p>(-u);
}
/// True with probability p, which broadcasts to the shape.
constexpr term random_bernoulli(term key, term p, std::int32_t shape) {
  builder& b = *key.b;
  if (node const* const n = p.producer(); n != nullptr && n->op == info_of<op::constant>() && is_floating(p.type())) {
    double const known = detail::scalar_of(p.type(), b.get().numbers[n->attribute]).real;
    if (!(known >= 0 && known <= 1)) return b.refuse<refusals::probability_range>(0, 0, b.place), key;
  }
  if (broadcast_shape(b, shape, p.shape_id()) != shape) {
    if (b.failed().why == nullptr) b.refuse<refusals::random_probability>(p.rank(), b.get().shapes[shape].rank, b.place);
    return key;
  }
  term const u = random_uniform(key, shape, p.type());
  return b.failed().why != nullptr ? key : u < broadcast_to(p, shape);
}
/// For each row of the last axis, an index (int64) with the probabilities softmax(logits): the largest of the logits with Gumbel noise.
constexpr term random_categorical(term key, term logits) {
  builder& b = *key.b;
  if (logits.rank() == 0) return b.refuse<refusals::axis_out_of_range>(0, 0, b.place), key;
  term const u = random_uniform(key, logits.shape_id(), logits.type());
  if (b.failed().why != nullptr) return key;
  return argmax(logits - apply<op::log>(-apply<op::log>(u)), logits.rank() - 1);
}
/// Keys below 2^62 + 2^53, determined by a key and a number of at least 0 for each. Their positions are not among those of random numbers.
constexpr term random_fold_in(term key, term number) {
  builder& b = *key.b;
  if (key.type() != element::int64) return b.refuse<refusals::random_key_element>(0, 0, b.place), key;
  if (!detail::is_index(number.type())) return b.refuse<refusals::index_not_integer>(0, 0, b.place), key;
  if (node const* const n = b.producer(number.id); n != nullptr && n->op == info_of<op::constant>())
    if (std::int64_t const known = b.get().numbers[n->attribute]; known < 0)
      return b.refuse<refusals::random_number>(known == INT64_MIN ? INT64_MAX : -known, 0, b.place), key;
  term const at = convert(number, element::int64) + constant_like(convert(number, element::int64), 0x1p62);
  std::int32_t const shape = broadcast_shape(b, key.shape_id(), at.shape_id());
  if (shape == none) return key;
  term const k = broadcast_to(key, shape), p = broadcast_to(at, shape);
  return apply<op::random53>(k, p) + apply<op::second_random24>(k, p) * constant_like(p, 0x1p38);
}
/// As many keys that are independent of each other and of the key's numbers.
constexpr term random_split(term key, dimension count) {
  builder& b = *key.b;
  if (key.rank() != 0) return b.refuse<refusals::random_key>(key.rank(), 0, b.place), key;
  return random_fold_in(key, iota(b, element::int64, count));
}

/// Each element is 0 with probability `rate`, else divided by 1 - rate.
/// Adjoint: dropout of dy with the same key.
constexpr term dropout(term x, double rate, term key) {
  builder& b = *x.b;
  if (!(rate >= 0 && rate < 1)) return b.refuse<refusals::dropout_rate>(0, 0, b.place), x;
  term const u = random_uniform(key, x.shape_id(), x.type());
  if (b.failed().why != nullptr) return x;
  return select(u >= rate, x * (1 / (1 - rate)), constant_like(x, 0));
}

} // namespace extend
} // namespace cotangent

#endif
