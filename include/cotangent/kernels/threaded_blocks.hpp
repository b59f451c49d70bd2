// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_KERNELS_THREADED_BLOCKS_HPP
#define COTANGENT_KERNELS_THREADED_BLOCKS_HPP

#include <cotangent/kernels/threaded.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

// Threaded code on three blocks of registers instead of one. A tail call can pass eight registers only;
// within one function all registers of the processor are available. This function therefore executes steps
// itself, as long as it knows their forms. A value with a near use stays in a second or third block instead
// of memory, which can store only one register while two results are computed.

// g++ 12 fails on computed gotos in a function with vector operations that its target lacks: choices by masks with SSE2 and
// -ffast-math, integers of 32 bytes with AVX.
#if defined(__clang__) || (defined(__x86_64__) && (defined(__AVX2__) || !(defined(__AVX__) || defined(__FAST_MATH__))))
#  define COTANGENT_JUMPS_BY_LABEL 1
#else
#  define COTANGENT_JUMPS_BY_LABEL 0
#endif

namespace cotangent::kernels {
inline namespace COTANGENT_ABI {

/// The location of an operand of a step: a block of registers, as many registers of memory, or one element in
/// memory that fills a register.
enum class spot : std::int8_t { a, b, c, memory, fixed, none };

/// A step: To = Op(X, Y, Z). Operands in memory are the entries x and y of the step, in this order.
template <class Op, spot X, spot Y = spot::none, spot Z = spot::none, spot To = spot::a> struct block_form {
  using op = Op;
  static constexpr spot operands[3]{X, Y, Z};
  static constexpr spot to = To;
  static constexpr bool takes_entry = X == spot::memory || X == spot::fixed || Y == spot::memory ||
                                      Y == spot::fixed || Z == spot::memory || Z == spot::fixed;
};

template <class... Forms> struct block_forms {
  static constexpr int count = static_cast<int>(sizeof...(Forms));
};

/// The identity, as an operation.
struct unchanged {
  static constexpr int arity = 1;
  static constexpr bool condition_first = false;
  template <class V> COTANGENT_INLINE static V apply(V const& x) { return x; }
};

/// Two moves in one step. set_aside: To = a, a = X. replaced: memory = X, X = a.
struct set_aside {};
struct replaced {};
/// Two steps without a result, which add the operand, or the products of two, to partial sums in memory (`to`). Register k of a
/// block goes to sum k % y, a register each: the order of kernels::row_sums with y chains.
template <class Op> struct reduces {};
struct adds_products {};
/// Two forms in one step; each takes at most one entry. A jump is predicted from the jumps before it, and
/// long runs of one form look alike.
template <class First, class Second> struct in_turn {};

namespace detail {

constexpr bool in_memory(spot p) { return p == spot::memory || p == spot::fixed; }

template <class... L> struct joined_forms;
template <class... F> struct joined_forms<block_forms<F...>> {
  using type = block_forms<F...>;
};
template <class... F, class... G, class... L>
struct joined_forms<block_forms<F...>, block_forms<G...>, L...>
    : joined_forms<block_forms<F..., G...>, L...> {};

template <int N, class F> struct numbered_form {};
template <class N, class... F> struct numbered_forms;
template <int... N, class... F>
struct numbered_forms<std::integer_sequence<int, N...>, F...> : numbered_form<N, F>... {};
template <int N, class F> F form_at(numbered_form<N, F> const&);
template <class... F>
numbered_forms<std::make_integer_sequence<int, static_cast<int>(sizeof...(F))>, F...>
numbered(block_forms<F...>*);

/// The operation of a step without a result.
template <class Op> struct reduction {};
template <class Op> struct reduction<reduces<Op>> {
  using op = Op;
};
template <> struct reduction<adds_products> {
  using op = adds_products;
};
template <class Op> inline constexpr bool is_reduction = requires { typename reduction<Op>::op; };

struct blocks {
  block_register a[block_registers], b[block_registers], c[block_registers];

  template <spot P> COTANGENT_INLINE block_register& at(int k) {
    if constexpr (P == spot::a) return a[k];
    else if constexpr (P == spot::b) return b[k];
    else return c[k];
  }
};

template <spot P> struct block_operand {
  char const* from = nullptr;
  block_register one{};
  COTANGENT_INLINE explicit block_operand(char const* p) : from(p) {
    if constexpr (P == spot::fixed) one = detail::from_memory<block_register>(p);
  }
  COTANGENT_INLINE block_register get(blocks& r, int k) const {
    if constexpr (P == spot::fixed) return one;
    else if constexpr (P == spot::memory) return detail::from_memory<block_register>(from + k * simd::bytes);
    else return r.at<P>(k);
  }
};
template <> struct block_operand<spot::none> {
  COTANGENT_INLINE explicit block_operand(char const*) {}
  COTANGENT_INLINE block_register get(blocks& r, int k) const { return r.a[k]; }
};

template <class Op, class T>
COTANGENT_INLINE block_register block_value(block_register const& x, block_register const& y,
                                            block_register const& z) {
  using V = simd::pack<T, simd::width<T>>;
  using M = math::mask_t<V>;
  auto const v = [](block_register const& r) __attribute__((always_inline)) { return math::bit_cast<V>(r); };
  if constexpr (Op::arity == 1) return detail::in_block(Op::apply(v(x)));
  else if constexpr (Op::arity == 2) return detail::in_block(Op::apply(v(x), v(y)));
  else if constexpr (Op::condition_first)
    return detail::in_block(Op::apply(math::bit_cast<M>(x), v(y), v(z)));
  else return detail::in_block(Op::apply(v(x), v(y), v(z)));
}

/// `with(sum, k)`: the sum and register k combined.
template <class V, int Chains, class With, int... K>
COTANGENT_INLINE void add_to_sums(char* sums, With with, std::integer_sequence<int, K...>) {
  V sum[static_cast<std::size_t>(Chains)];
  for (int c = 0; c < Chains; ++c) sum[c] = detail::from_memory<V>(sums + c * simd::bytes);
  ((sum[K % Chains] = with(sum[K % Chains], K)), ...);
  for (int c = 0; c < Chains; ++c) detail::put_in_memory(sums + c * simd::bytes, sum[c]);
}
template <class V, class With, int... K>
COTANGENT_INLINE void add_to_sums(char* sums, int chains, With with, std::integer_sequence<int, K...> k) {
  if (chains == 4) detail::add_to_sums<V, 4>(sums, with, k);
  else if (chains == 2) detail::add_to_sums<V, 2>(sums, with, k);
  else detail::add_to_sums<V, 1>(sums, with, k);
}

template <class T, class Op, spot X, spot Y, spot Z, spot To, int... K>
COTANGENT_INLINE void block_step(block_form<Op, X, Y, Z, To>, blocks& r, threaded_step const* s,
                                 char* const* memory, std::integer_sequence<int, K...>) {
  constexpr bool x_there = detail::in_memory(X), y_there = detail::in_memory(Y),
                 z_there = detail::in_memory(Z);
  static_assert(x_there + y_there + z_there <= 2);
  block_operand<X> const x(x_there ? memory[s->x] : nullptr);
  block_operand<Y> const y(y_there ? memory[x_there ? s->y : s->x] : nullptr);
  block_operand<Z> const z(z_there ? memory[x_there || y_there ? s->y : s->x] : nullptr);
  if constexpr (std::is_same_v<Op, set_aside>) {
    if constexpr (To == spot::memory) detail::put_in_memory(memory[s->to], r.a[K]...);
    else ((r.at<To>(K) = r.a[K]), ...);
    ((r.a[K] = x.get(r, K)), ...);
  } else if constexpr (std::is_same_v<Op, replaced>) {
    detail::put_in_memory(memory[s->to], x.get(r, K)...);
    ((r.at<X>(K) = r.a[K]), ...);
  } else if constexpr (is_reduction<Op>) {
    using V = simd::pack<T, simd::width<T>>;
    detail::add_to_sums<V>(memory[s->to], s->y, [&](V const& sum, int k) __attribute__((always_inline)) {
      V const one = math::bit_cast<V>(x.get(r, k));
      if constexpr (std::is_same_v<Op, adds_products>) return math::fma(one, math::bit_cast<V>(y.get(r, k)), sum);
      else return V{reduction<Op>::op::combine(sum, one)};
    }, std::integer_sequence<int, K...>{});
  } else if constexpr (To == spot::memory) detail::put_in_memory(memory[s->to], x.get(r, K)...);
  else ((r.at<To>(K) = detail::block_value<Op, T>(x.get(r, K), y.get(r, K), z.get(r, K))), ...);
}

template <class T, class First, class Second, spot X, spot Y, spot Z, spot To, int... K>
COTANGENT_INLINE void block_step(block_form<in_turn<First, Second>, X, Y, Z, To>, blocks& r,
                                 threaded_step const* s, char* const* memory,
                                 std::integer_sequence<int, K...> k) {
  threaded_step next;
  next.x = First::takes_entry ? s->y : s->x;
  detail::block_step<T>(First{}, r, s, memory, k);
  detail::block_step<T>(Second{}, r, &next, memory, k);
}

} // namespace detail

template <class... Lists> using joined_block_forms = typename detail::joined_forms<Lists...>::type;

/// Executes steps from `s` on, each by the form in Forms::list that its code selects (from 1), and tail-calls
/// the next kernel at code 0. The blocks b and c have arbitrary initial values.
template <class T, class Forms>
void threaded_blocks(threaded_step const* s, char* const* memory, block_register a, block_register b,
                     block_register c, block_register d, block_register e, block_register f, block_register g,
                     block_register h) {
  detail::blocks r{{a, b, c, d, e, f, g, h}, {a, b, c, d, e, f, g, h}, {a, b, c, d, e, f, g, h}};
  using all = decltype(detail::numbered(static_cast<typename Forms::list*>(nullptr)));
  auto const step = [&]<int N>(std::integral_constant<int, N>) __attribute__((always_inline)) {
    if constexpr (N < Forms::list::count)
      detail::block_step<T>(decltype(detail::form_at<N>(std::declval<all>())){}, r, s, memory,
                            std::make_integer_sequence<int, block_registers>{});
  };
  static_assert(Forms::list::count <= 190);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // labels as values
#define COTANGENT_TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define COTANGENT_ALL(X)                                                                                     \
  COTANGENT_TEN(X, )                                                                                         \
  COTANGENT_TEN(X, 1) COTANGENT_TEN(X, 2) COTANGENT_TEN(X, 3) COTANGENT_TEN(X, 4) COTANGENT_TEN(X, 5)        \
  COTANGENT_TEN(X, 6) COTANGENT_TEN(X, 7) COTANGENT_TEN(X, 8) COTANGENT_TEN(X, 9) COTANGENT_TEN(X, 10)       \
  COTANGENT_TEN(X, 11) COTANGENT_TEN(X, 12) COTANGENT_TEN(X, 13) COTANGENT_TEN(X, 14) COTANGENT_TEN(X, 15)   \
  COTANGENT_TEN(X, 16) COTANGENT_TEN(X, 17) COTANGENT_TEN(X, 18)
#if COTANGENT_JUMPS_BY_LABEL // each step ends in a jump of its own: processors predict a jump by its location, too
#  define COTANGENT_LABEL(n) &&form_##n,
#  define COTANGENT_STEP(n)                                                                                  \
  form_##n:                                                                                                  \
    step(std::integral_constant<int, n>{});                                                                  \
    ++s;                                                                                                     \
    goto* labels[s->code];
  static void* const labels[]{&&leave, COTANGENT_ALL(COTANGENT_LABEL)};
  goto* labels[s->code];
  COTANGENT_ALL(COTANGENT_STEP)
leave:
  return s->run(s, memory, r.a[0], r.a[1], r.a[2], r.a[3], r.a[4], r.a[5], r.a[6], r.a[7]);
#  undef COTANGENT_LABEL
#else
#  define COTANGENT_STEP(n)                                                                                  \
  case n + 1: step(std::integral_constant<int, n>{}); break;
  for (;; ++s) switch (s->code) {
    case 0: return s->run(s, memory, r.a[0], r.a[1], r.a[2], r.a[3], r.a[4], r.a[5], r.a[6], r.a[7]);
      COTANGENT_ALL(COTANGENT_STEP)
    default: __builtin_unreachable();
    }
#endif
#undef COTANGENT_STEP
#undef COTANGENT_ALL
#undef COTANGENT_TEN
#pragma GCC diagnostic pop
}

} // namespace COTANGENT_ABI
} // namespace cotangent::kernels

#undef COTANGENT_JUMPS_BY_LABEL

#endif
