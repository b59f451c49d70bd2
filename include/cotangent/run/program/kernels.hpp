// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_KERNELS_HPP
#define COTANGENT_RUN_PROGRAM_KERNELS_HPP

#include <cotangent/kernels/matrix/matmul.hpp>
#include <cotangent/run/program/control.hpp>
#include <cotangent/run/program/frozen_sharing.hpp>
#include <cotangent/run/program/strided.hpp>
#include <cotangent/run/sorting.hpp>
#include <cotangent/run/whole.hpp>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

/// A node executed by a kernel over stored operands.
template <class Stage, int K, class Context> struct kernel {
  static constexpr auto const& P = detail::planned<Stage, simd::bytes>::value;
  static constexpr extend::graph_view g = Stage::view;
  static constexpr detail::nest N = P.nests.data[K];
  static constexpr extend::node n = g.nodes[N.node];
  static constexpr extend::symbol y = g.result(n);
  struct attribute_table { // (a copy, so that nothing reads the graph at run time)
    std::int64_t of[n.attribute_count + 1]{};
    consteval attribute_table() {
      for (int k = 0; k < n.attribute_count; ++k) of[k] = g.attribute(n, k);
    }
  };
  static constexpr attribute_table attributes{};

  template <int J> static constexpr detail::access place = P.accesses.data[P.kernel_accesses.data[N.first_instance + J]];
  static constexpr extend::symbol value_of(int k) { return k < n.operand_count ? g.operand(n, k) : y; }
  template <int J> using element_at = element_t<g.tensors[value_of(J)].type>;

  template <int J> static auto* pointer(Context const& x) noexcept {
    constexpr std::int32_t own = detail::shared_code<Stage, simd::bytes>::value.own.data[P.kernel_accesses.data[N.first_instance + J]];
    auto* const first = reinterpret_cast<element_at<J>*>(x.buffer[own]);
    return first == nullptr ? first : first + x.value(place<J>.offset); // (an empty tensor may have no memory)
  }
  template <int J> static box layout(Context const& x) noexcept {
    constexpr extend::dimensions d = g.shape(value_of(J));
    box b{d.rank};
    for (int k = 0; k < d.rank; ++k) {
      b.size[k] = x.value(d.size[k]);
      b.stride[k] = x.value(place<J>.stride[k]);
    }
    return b;
  }
  static constexpr int last = n.operand_count;

  static status run(Context const& x) noexcept {
    using T = element_at<last>;
    if constexpr (n.op->kind == operation_kind::matmul) multiply<T>(x);
    else if constexpr (n.op->kind == operation_kind::broadcast || n.op->kind == operation_kind::identity ||
                       n.op->kind == operation_kind::reshape || n.op->kind == operation_kind::permute ||
                       n.op->kind == operation_kind::slice)
      copy_alias<T>(x);
    else if constexpr (n.op->kind == operation_kind::pad) pad<T>(x);
    else if constexpr (n.op->kind == operation_kind::concatenate) join<T>(x, std::make_index_sequence<n.operand_count>{});
    else if constexpr (n.op->kind == operation_kind::reduction)
      reduce<detail::described_by<n.op>>(layout<0>(x), static_cast<std::uint32_t>(attributes.of[0]), pointer<0>(x), pointer<1>(x));
    else if constexpr (n.op->kind == operation_kind::arg_reduction)
      arg_max(layout<0>(x), static_cast<int>(attributes.of[0]), pointer<0>(x), pointer<1>(x));
    else if constexpr (n.op->kind == operation_kind::gather) {
      if constexpr (one_row<0, 1, 2> != 0) return move_row<of_row::gathers, 0, 1, 2>(x);
      else return gather_rows(layout<0>(x), layout<1>(x), pointer<0>(x), pointer<1>(x), pointer<2>(x));
    } else if constexpr (n.op == info_of<op::update_rows>()) {
      if (T* const q = pointer<last>(x); q != pointer<last - 1>(x)) copy(layout<last - 1>(x), pointer<last - 1>(x), layout<last>(x), q);
      return scatter<T>(x, std::make_index_sequence<n.operand_count / 2>{});
    } else if constexpr (n.op->kind == operation_kind::scatter_add) {
      T* const q = pointer<last>(x);
      for (std::int64_t k = 0; k < layout<last>(x).count(); ++k) q[k] = T{};
      return scatter<T>(x, std::make_index_sequence<1>{});
    }
    else if constexpr (n.op->kind == operation_kind::control) return control<Stage, K, Context>::run(x);
    else if constexpr (n.op->kind == operation_kind::whole) return compute(x, std::make_index_sequence<n.operand_count>{});
    return status::ok;
  }

  /// Adds or copies rows to the result, for one pair of rows and indices after the other.
  template <class T, std::size_t... J> static status scatter(Context const& x, std::index_sequence<J...>) noexcept {
    status s = status::ok;
    for (status const found : {scatter_pair<2 * static_cast<int>(J), (detail::rows_set(g, n) >> J & 1u) != 0>(x)...})
      if (found != status::ok) s = found;
    return s;
  }

  template <int J, bool Sets> static status scatter_pair(Context const& x) noexcept {
    if constexpr (one_row<last, J + 1, J> != 0) return move_row<Sets ? of_row::sets : of_row::adds, last, J + 1, J>(x);
    else return scatter_rows<Sets>(layout<last>(x), layout<J>(x), layout<J + 1>(x), pointer<J>(x), pointer<J + 1>(x), pointer<last>(x));
  }

  /// The elements of a row of value `Large`, if there is one index and the row is short and contiguous, also in value `Small`; else 0.
  template <int Large, int Index, int Small> static consteval int find_one_row() {
    constexpr extend::dimensions all = g.shape(value_of(Large)), list = g.shape(value_of(Index)), few = g.shape(value_of(Small));
    for (int k = 0; k < list.rank; ++k)
      if (list.size[k] != 1) return 0;
    std::int64_t step = 1;
    for (int k = all.rank, j = few.rank; --k >= 1; step *= all.size[k]) {
      if (all.size[k] < 1 || all.size[k] > most_in_row) return 0;
      --j;
      if (all.size[k] != 1 && (place<Large>.stride[k] != step || place<Small>.stride[j] != step)) return 0;
    }
    return step <= most_in_row ? static_cast<int>(step) : 0;
  }
  static constexpr int most_in_row = 16;
  template <int Large, int Index, int Small> static constexpr int one_row = find_one_row<Large, Index, Small>();
  enum class of_row { gathers, adds, sets };
  template <of_row What, int Large, int Index, int Small> COTANGENT_INLINE static status move_row(Context const& x) noexcept {
    std::int64_t const rows = x.value(g.shape(value_of(Large)).size[0]);
    auto* const few = pointer<Small>(x);
    constexpr int size = one_row<Large, Index, Small>;
    if (rows <= 0) {
      if constexpr (What == of_row::gathers)
        for (int j = 0; j < size; ++j) few[j] = {};
      return status::index_out_of_range;
    }
    bool fits = true;
    auto* const row = pointer<Large>(x) + kernels::detail::clamp_index(*pointer<Index>(x), rows, fits) * x.value(place<Large>.stride[0]);
    for (int j = 0; j < size; ++j)
      if constexpr (What == of_row::gathers) few[j] = row[j];
      else if constexpr (What == of_row::sets) row[j] = few[j];
      else row[j] = math::add(row[j], few[j]);
    return status_of(fits);
  }

  /// Copies the operand, seen through the strides of an alias.
  template <class T> static void copy_alias(Context const& x) noexcept {
    box to = layout<last>(x), from = to;
    std::int64_t offset = 0;
    box const operand = layout<0>(x);
    for (int k = 0; k < to.rank; ++k) from.stride[k] = 0;
    if constexpr (n.op->kind == operation_kind::broadcast)
      for (int k = 0; k < operand.rank; ++k) from.stride[attributes.of[k]] = operand.size[k] == 1 ? 0 : operand.stride[k];
    else if constexpr (n.op->kind == operation_kind::permute)
      for (int k = 0; k < to.rank; ++k) from.stride[k] = operand.stride[attributes.of[k]];
    else if constexpr (n.op->kind == operation_kind::slice)
      for (int k = 0; k < to.rank; ++k) {
        offset += x.value(attributes.of[2 * k]) * operand.stride[k];
        from.stride[k] = attributes.of[2 * k + 1] * operand.stride[k];
      }
    else { // a reshape: in row-major order of the operand
      box dense = operand;
      dense.make_dense();
      return copy(operand, pointer<0>(x), dense, pointer<last>(x));
    }
    copy(from, pointer<0>(x) + offset, to, pointer<last>(x));
  }

  template <class T> static void pad(Context const& x) noexcept {
    box const to = layout<last>(x), from = layout<0>(x);
    T* const p = pointer<last>(x);
    for (std::int64_t k = 0; k < to.count(); ++k) p[k] = T{};
    box inside = from;
    std::int64_t offset = 0;
    for (int k = 0; k < to.rank; ++k) {
      offset += x.value(attributes.of[2 * k]) * to.stride[k];
      inside.stride[k] = attributes.of[2 * k + 1] * to.stride[k];
    }
    copy(from, pointer<0>(x), inside, p + offset);
  }

  /// True if a part of a concatenation has constant sizes, and lines that are contiguous: then its sizes are known to the compiler.
  template <int J> static consteval bool has_lines() {
    constexpr extend::dimensions d = g.shape(value_of(J)), all = g.shape(y);
    if (d.rank < 1 || d.rank > 2) return false;
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] < 0 || all.size[k] < 0) return false;
    return place<J>.stride[d.rank - 1] == 1 || d.size[d.rank - 1] == 1;
  }
  template <int J, class T> COTANGENT_INLINE static void copy_lines(Context const& x, T* to) noexcept {
    constexpr extend::dimensions d = g.shape(value_of(J));
    constexpr std::int64_t rows = d.rank == 1 ? 1 : d.size[0], size = d.size[d.rank - 1], step = g.shape(y).size[d.rank - 1];
    T const* from = pointer<J>(x);
    if (from == to) return; // it was computed in place
    std::int64_t const from_step = d.rank == 1 ? 0 : x.value(place<J>.stride[0]);
    for (std::int64_t i = 0; i < rows; ++i, from += from_step, to += step)
      if constexpr (size == 1) *to = *from;
      else kernels::detail::copy_elements(size, from, to);
  }
  template <class T, std::size_t... J> static void join(Context const& x, std::index_sequence<J...> parts) noexcept {
    if (layout<last>(x).count() == 0) return; // (there may be no memory)
    if constexpr ((has_lines<static_cast<int>(J)>() && ...)) {
      constexpr std::int64_t axis = attributes.of[0], step = g.shape(y).rank == 2 && axis == 0 ? g.shape(y).size[1] : 1;
      T* p = pointer<last>(x);
      if (p == nullptr) __builtin_unreachable(); // (g++ would warn of a write to a result without elements)
      ((copy_lines<static_cast<int>(J)>(x, p), p += step * g.shape(value_of(static_cast<int>(J))).size[axis]), ...);
    } else join_boxes<T>(x, parts);
  }
  template <class T, std::size_t... J> static void join_boxes(Context const& x, std::index_sequence<J...>) noexcept {
    box const to = layout<last>(x);
    T* p = pointer<last>(x);
    auto const one = [&](box part, T const* from) {
      box inside = part;
      for (int k = 0; k < to.rank; ++k) inside.stride[k] = to.stride[k];
      if (from != p) copy(part, from, inside, p); // else it was computed in place
      p += part.size[attributes.of[0]] * to.stride[attributes.of[0]];
    };
    static_cast<void>(std::initializer_list<int>{
        (one(layout<static_cast<int>(J)>(x), pointer<static_cast<int>(J)>(x)), 0)...});
  }

  // ---- functions of whole tensors

  template <int J> static whole_tensor tensor_of(Context const& x) noexcept {
    constexpr extend::dimensions d = g.shape(value_of(J));
    std::int64_t sizes[max_rank]{};
    for (int k = 0; k < d.rank; ++k) sizes[k] = x.value(d.size[k]);
    return whole_tensor::of(pointer<J>(x), d.rank, sizes);
  }
  template <std::size_t... J> static status compute(Context const& x, std::index_sequence<J...>) noexcept {
    status found = status::ok;
    whole_call call{{tensor_of<static_cast<int>(J)>(x)...}, tensor_of<last>(x), attributes.of, x.scratch};
    if constexpr (n.op->reports != nullptr) call.found = &found;
    constexpr extend::dimensions first = g.shape(value_of(0));
    constexpr extend::dimension rows = first.rank == 0 ? -1 : first.size[first.rank - 1];
    run::whole<detail::described_by<n.op>, element_at<last>, rows < 0 ? -1 : rows>(call);
    return found;
  }

  // ---- matrix products

  template <int J> static constexpr int row_axis = g.shape(value_of(J)).rank - 2;
  template <int J> static constexpr bool by_columns = // the elements of a column are contiguous
      place<J>.stride[row_axis<J> + 1] != 1 && g.shape(value_of(J)).size[row_axis<J> + 1] != 1;
  template <int J> static std::int64_t leading(Context const& x) noexcept {
    return x.value(place<J>.stride[by_columns<J> ? row_axis<J> + 1 : row_axis<J>]);
  }
  static constexpr cotangent::detail::product_sizes of_product =
      n.op->kind == operation_kind::matmul ? cotangent::detail::product_sizes_of(g, n) : cotangent::detail::product_sizes{};
  template <class T> static void multiply(Context const& x) noexcept {
    if constexpr (row_axis<0> == 0) multiply<T>(x, pointer<0>(x), pointer<1>(x), pointer<2>(x));
    else {
      std::int64_t const matrices = x.value(of_product.matrices), left = x.value(place<0>.stride[0]), right = x.value(place<1>.stride[0]),
                         to = x.value(of_product.m) * x.value(of_product.n);
      for (std::int64_t k = 0; k < matrices; ++k)
        multiply<T>(x, pointer<0>(x) + k * left, pointer<1>(x) + k * right, pointer<2>(x) + k * to);
    }
  }
  template <class T> static void multiply(Context const& x, T const* a, T const* b, T* to) noexcept {
    constexpr extend::dimension m = of_product.m, columns = of_product.n, inner = of_product.k;
    constexpr bool left = (g.attribute(n, 0) != 0) != by_columns<0>, right = (g.attribute(n, 1) != 0) != by_columns<1>;
    T* const scratch = reinterpret_cast<T*>(x.scratch);
    if constexpr (m >= 0 && columns >= 0 && inner >= 0 && m < 32768 && columns < 32768 && inner < 32768)
      kernels::matmul<left, right, static_cast<int>(m), static_cast<int>(columns), static_cast<int>(inner)>(
          a, leading<0>(x), b, leading<1>(x), to, static_cast<std::int64_t>(columns), scratch);
    else
      kernels::matmul<left, right>(x.value(m), x.value(columns), x.value(inner), a, leading<0>(x), b, leading<1>(x), to,
                                   x.value(columns), scratch);
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
