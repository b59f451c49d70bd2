// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_FORMS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_FORMS_HPP

#include <cotangent/kernels/threaded_blocks.hpp>
#include <cotangent/ops/list.hpp>

#include <cstdint>
#include <type_traits>

// Operations on three blocks of registers: the locations of their operands, and the lookup of forms.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

using kernels::spot;

/// True if swapping the first two operands changes no bit. (The larger of 0 and -0 is the second.)
template <class Op> inline constexpr bool exchanges =
    Op::commutative && !std::is_same_v<Op, op::max> && !std::is_same_v<Op, op::min>;

/// The result is in block a, as is one operand; or the result replaces a dead value in another block.
namespace forms {

using enum kernels::spot;
template <class... F> using list = kernels::block_forms<F...>;
template <class Op, spot X, spot Y = none, spot Z = none, spot To = a>
using form = kernels::block_form<Op, X, Y, Z, To>;

using moved =
    list<form<kernels::unchanged, memory>, form<kernels::unchanged, fixed>, form<kernels::unchanged, b>,
         form<kernels::unchanged, c>, form<kernels::unchanged, a, none, none, b>,
         form<kernels::unchanged, a, none, none, c>, form<kernels::unchanged, a, none, none, memory>,
         form<kernels::unchanged, b, none, none, memory>, form<kernels::unchanged, c, none, none, memory>>;
using moved_twice =
    list<form<kernels::set_aside, c, none, none, b>, form<kernels::set_aside, memory, none, none, b>,
         form<kernels::set_aside, fixed, none, none, b>, form<kernels::set_aside, b, none, none, c>,
         form<kernels::set_aside, memory, none, none, c>, form<kernels::set_aside, fixed, none, none, c>,
         form<kernels::set_aside, b, none, none, memory>, form<kernels::set_aside, c, none, none, memory>,
         form<kernels::set_aside, memory, none, none, memory>,
         form<kernels::set_aside, fixed, none, none, memory>, form<kernels::replaced, b, none, none, memory>,
         form<kernels::replaced, c, none, none, memory>>;
template <class Op> using one = list<form<Op, a>>;
template <class Op> using exchanging =
    list<form<Op, a, a>, form<Op, a, b>, form<Op, a, c>, form<Op, a, memory>, form<Op, a, fixed>>;
template <class Op> using ordered = kernels::joined_block_forms<
    exchanging<Op>, list<form<Op, b, a>, form<Op, c, a>, form<Op, memory, a>, form<Op, fixed, a>>>;
template <class Op, spot Y> using product_with = list<form<Op, a, Y, a>, form<Op, a, Y, b>, form<Op, a, Y, c>,
                                                      form<Op, a, Y, memory>, form<Op, a, Y, fixed>>;
template <class Op> using products = kernels::joined_block_forms<
    product_with<Op, a>, product_with<Op, b>, product_with<Op, c>, product_with<Op, memory>,
    product_with<Op, fixed>,
    list<form<Op, b, b, a>, form<Op, b, c, a>, form<Op, b, memory, a>, form<Op, b, fixed, a>,
         form<Op, c, c, a>, form<Op, c, memory, a>, form<Op, c, fixed, a>, form<Op, memory, memory, a>,
         form<Op, memory, fixed, a>>,
    list<form<Op, a, a, b, b>, form<Op, a, c, b, b>, form<Op, a, memory, b, b>, form<Op, a, fixed, b, b>,
         form<Op, a, a, c, c>, form<Op, a, b, c, c>, form<Op, a, memory, c, c>, form<Op, a, fixed, c, c>>>;
template <class Op, spot X> using chosen_by =
    list<form<Op, X, a, b>, form<Op, X, a, c>, form<Op, X, a, memory>, form<Op, X, a, fixed>,
         form<Op, X, b, a>, form<Op, X, c, a>, form<Op, X, memory, a>, form<Op, X, fixed, a>>;
template <class Op, spot Y> using choosing =
    list<form<Op, a, Y, b>, form<Op, a, Y, c>, form<Op, a, Y, memory>, form<Op, a, Y, fixed>>;
template <class Op> using choices =
    kernels::joined_block_forms<chosen_by<Op, b>, chosen_by<Op, c>, chosen_by<Op, memory>, choosing<Op, b>,
                                choosing<Op, c>, choosing<Op, memory>, choosing<Op, fixed>>;

/// Operations that are often applied to a live value, which stays in its block.
template <class Op, spot X, spot Y = none, spot Z = none> using beside =
    list<form<Op, X, Y, Z, b>, form<Op, X, Y, Z, c>>;

using all = kernels::joined_block_forms<
    moved, moved_twice, exchanging<op::multiply>, exchanging<op::add>, ordered<op::subtract>,
    products<op::multiply_add>, ordered<op::max>, ordered<op::less>, exchanging<op::equal>,
    choices<op::select>, one<op::negate>,
    list<form<op::add, a, b, none, b>, form<op::add, a, c, none, c>, form<op::multiply, a, b, none, b>,
         form<op::multiply, a, c, none, c>>,
    beside<op::multiply, a, a>, beside<op::multiply, a, fixed>, beside<op::multiply, a, memory>,
    beside<op::multiply_add, a, fixed, fixed>, beside<op::less, fixed, a>, beside<op::less, a, memory>,
    beside<op::equal, a, memory>, beside<op::select, a, fixed, fixed>, beside<op::negate, a>>;

/// Sums of a nest (a product of two operands in memory does not occur: one is computed in the segment).
template <spot X> using product_of = list<form<kernels::adds_products, X, X>, form<kernels::adds_products, X, memory>,
                                          form<kernels::adds_products, X, fixed>>;
using sums = kernels::joined_block_forms<
    list<form<kernels::reduces<op::sum>, a>, form<kernels::reduces<op::sum>, b>, form<kernels::reduces<op::sum>, c>>,
    std::conditional_t<math::has_fma,
                       kernels::joined_block_forms<list<form<kernels::adds_products, a, b>, form<kernels::adds_products, a, c>,
                                                        form<kernels::adds_products, b, c>>,
                                                   product_of<a>, product_of<b>, product_of<c>>,
                       list<>>>;

/// Pairs follow the single forms.
template <class First, class Second> using pair = list<form<kernels::in_turn<First, Second>, none>>;
using added_up = form<op::multiply_add, a, b, fixed>;
using multiplied = form<op::multiply, a, b>;
using pairs = kernels::joined_block_forms<pair<added_up, added_up>, pair<added_up, multiplied>,
                                          pair<multiplied, added_up>,
                                          pair<multiplied, form<op::multiply_add, a, memory, c, c>>>;

} // namespace forms

/// A short name for a long list.
struct interpreter_forms {
  using list = kernels::joined_block_forms<forms::all, forms::sums, forms::pairs>;
};

/// The description of a form during preparation.
struct known_form {
  enum moves : std::int8_t { computes, is_move, sets_aside, replaces, reduces, adds_products, is_pair };

  operation const* op = nullptr;
  moves kind = computes;
  spot operand[3]{spot::none, spot::none, spot::none};
  spot to = spot::a;
  int first = 0, second = 0; // of a pair: the codes
};
template <class F> constexpr known_form known_form_of() {
  known_form k;
  if constexpr (std::is_same_v<typename F::op, kernels::unchanged>) k.kind = known_form::is_move;
  else if constexpr (std::is_same_v<typename F::op, kernels::set_aside>) k.kind = known_form::sets_aside;
  else if constexpr (std::is_same_v<typename F::op, kernels::replaced>) k.kind = known_form::replaces;
  else if constexpr (std::is_same_v<typename F::op, kernels::adds_products>) k.kind = known_form::adds_products;
  else if constexpr (kernels::detail::is_reduction<typename F::op>) {
    k.kind = known_form::reduces;
    k.op = info_of<typename kernels::detail::reduction<typename F::op>::op>();
  } else k.op = info_of<typename F::op>();
  for (int i = 0; i < 3; ++i) k.operand[i] = F::operands[i];
  k.to = F::to;
  return k;
}
template <class F, class... All> constexpr int code_in(kernels::block_forms<All...>*) {
  int k = 0, r = 0;
  ((++k, r = std::is_same_v<F, All> ? k : r), ...);
  return r;
}
template <class List, class F> struct form_in {
  static constexpr known_form value = known_form_of<F>();
};
template <class List, class F, class G, spot... P>
struct form_in<List, kernels::block_form<kernels::in_turn<F, G>, P...>> {
  static constexpr known_form make() {
    known_form k;
    k.kind = known_form::is_pair;
    k.first = interpret::code_in<F>(static_cast<List*>(nullptr));
    k.second = interpret::code_in<G>(static_cast<List*>(nullptr));
    return k;
  }
  static constexpr known_form value = make();
};
template <class List> struct form_table;
template <class... F> struct form_table<kernels::block_forms<F...>> {
  static constexpr known_form all[]{form_in<kernels::block_forms<F...>, F>::value...};
};

/// The forms, and the kernels that execute them, for float and double.
struct block_kernels {
  known_form const* forms = nullptr;
  int count = 0;
  kernels::threaded_kernel run[2]{};

  /// The code of a form, 0 if there is none.
  int find(operation const* op, spot x, spot y, spot z, spot to) const noexcept {
    for (int k = 0; k < count; ++k) {
      known_form const& f = forms[k];
      if (f.op == op && f.kind == known_form::computes && f.operand[0] == x && f.operand[1] == y && f.operand[2] == z && f.to == to)
        return k + 1;
    }
    return 0;
  }
  /// The code of a move.
  int find(known_form::moves kind, spot from, spot to) const noexcept {
    for (int k = 0; k < count; ++k)
      if (forms[k].kind == kind && forms[k].operand[0] == from && forms[k].to == to) return k + 1;
    return 0;
  }
  /// The code of a sum, or of one of products, with the operation that combines.
  int find_sum(operation const* op, spot x, spot y) const noexcept {
    known_form::moves const kind = y == spot::none ? known_form::reduces : known_form::adds_products;
    for (int k = 0; k < count; ++k) {
      known_form const& f = forms[k];
      if (f.kind == kind && (f.op == op || y != spot::none) && f.operand[0] == x && f.operand[1] == y) return k + 1;
    }
    return 0;
  }
  int find_pair(int first, int second) const noexcept {
    for (int k = count - 1; k >= 0 && forms[k].kind == known_form::is_pair; --k)
      if (forms[k].first == first && forms[k].second == second) return k + 1;
    return 0;
  }
  bool knows(operation const* op) const noexcept {
    for (int k = 0; k < count; ++k)
      if (forms[k].op == op && forms[k].kind == known_form::computes) return true;
    return false;
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
