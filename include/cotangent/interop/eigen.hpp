// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_INTEROP_EIGEN_HPP
#define COTANGENT_INTEROP_EIGEN_HPP

#include <cotangent/core/strided_span.hpp>
#include <cotangent/trace/functions/tree.hpp>

#if __has_include(<Eigen/Core>)
#  include <Eigen/Core>
#else
#  include <eigen3/Eigen/Core>
#endif

#include <cstdint>
#include <type_traits>

// Dense objects of Eigen as memory. Include this header before the first use of an Eigen type with this library.

namespace cotangent {
namespace detail {

template <class T> void as_eigen_base(Eigen::DenseBase<T> const&); // also of a class that derives from a matrix, such as a segment

template <class T>
concept eigen_memory = eigen_object<T> && requires(T const& t) { detail::as_eigen_base(t); } &&
                       element_type<typename T::Scalar> && requires(T const& t) {
                         typename T::PlainObject;
                         { *t.data() } -> std::convertible_to<typename T::Scalar>;
                         t.innerStride();
                       };

template <class T> std::true_type eigen_ownership(Eigen::PlainObjectBase<T> const*);
std::false_type eigen_ownership(void const*);
template <class T> inline constexpr bool eigen_owns = decltype(detail::eigen_ownership(static_cast<T*>(nullptr)))::value;
template <class T> inline constexpr bool eigen_is_unstrided_map = false;
template <class Plain, int Options>
inline constexpr bool eigen_is_unstrided_map<Eigen::Map<Plain, Options, Eigen::Stride<0, 0>>> = true;

/// True if the type tells that elements are row-major without gaps.
template <class T> inline constexpr bool eigen_is_dense = [] {
  if constexpr (T::IsVectorAtCompileTime) return int{T::InnerStrideAtCompileTime} == 1;
  else return (eigen_owns<T> || eigen_is_unstrided_map<T>) && T::IsRowMajor;
}();

template <int Size> consteval extent eigen_extent(int position) {
  if constexpr (Size == Eigen::Dynamic) return extent::anonymous(position);
  else return extent::of(Size);
}
template <class T> consteval shape eigen_extents() {
  shape s;
  if constexpr (T::IsVectorAtCompileTime) s.push(eigen_extent<T::SizeAtCompileTime>(0));
  else {
    s.push(eigen_extent<T::RowsAtCompileTime>(0));
    s.push(eigen_extent<T::ColsAtCompileTime>(1));
  }
  return s;
}

} // namespace detail

namespace detail {
template <class T, extent... E> struct eigen_tensor_of;
template <class T> struct eigen_tensor_of<T> {
  using type = T;
};
template <class T, extent E> struct eigen_tensor_of<T, E> {
  using type = Eigen::Matrix<T, E.is_number() ? static_cast<int>(E.number) : int{Eigen::Dynamic}, 1>;
};
template <class T, extent R, extent C> struct eigen_tensor_of<T, R, C> {
  static constexpr int rows = R.is_number() ? static_cast<int>(R.number) : int{Eigen::Dynamic},
                       columns = C.is_number() ? static_cast<int>(C.number) : int{Eigen::Dynamic};
  using type = Eigen::Matrix<T, rows, columns, rows == 1 && columns != 1 ? Eigen::RowMajor : Eigen::ColMajor>;
};
} // namespace detail

/// The Eigen type of a member of a parameter struct: `parameters<ct::eigen_tensor>`, where `parameters` is a
/// Boost.Hana struct of tensors. Rank 0 is a number, rank 1 a column vector, rank 2 a matrix. Matrices with one row or
/// one column (numbers) are refused, since Eigen counts them as vectors.
template <class T, extent... E> using eigen_tensor = typename detail::eigen_tensor_of<T, E...>::type;

namespace detail {
/// An Eigen object with named sizes, made by `eigen_view`.
template <class Plain, class Element, extent... Extents>
class named_eigen : public strided_span<Element, Extents...> {
public:
  using strided_span<Element, Extents...>::strided_span;
};
} // namespace detail

/// Names the sizes of an Eigen object, so that those of two arguments can be compared: a vector has one size, a matrix
/// two. The gradient is a plain Eigen object. Nothing is copied.
///
///     auto const [ga, gx] = ct::grad<0, 1>(loss)(ct::eigen_view<"n", "k">(a), ct::eigen_view<"k">(x));
///
/// Refuses: a temporary that owns its elements; an expression, which must be evaluated first.
/// Throws: `shape_error` if the sizes do not fit the extents.
/// Checked: tests/runtime/eigen.cpp
template <extent... Extents, class M> auto eigen_view(M&& m) {
  using plain = std::remove_cvref_t<M>;
  if constexpr (detail::unread_memory<plain>) detail::memory_traits<plain>::refuse();
  else {
    using traits = detail::memory_traits<plain>;
    using pointed = std::remove_pointer_t<decltype(traits::data(m))>;
    static_assert(sizeof...(Extents) == traits::extents.rank,
                  "cotangent: eigen_view: there must be one extent for a vector, and two for a matrix");
    static_assert(!traits::owns || std::is_lvalue_reference_v<M>,
                  "cotangent: eigen_view: a temporary that owns its elements must not be seen; give it a name first");
    std::int64_t sizes[sizeof...(Extents)]{}, strides[sizeof...(Extents)]{};
    traits::sizes(m, sizes);
    if constexpr (sizeof...(Extents) == 1) strides[0] = static_cast<std::int64_t>(m.innerStride());
    else {
      strides[0] = static_cast<std::int64_t>(m.rowStride());
      strides[1] = static_cast<std::int64_t>(m.colStride());
    }
    return detail::named_eigen<typename plain::PlainObject, pointed, Extents...>(traits::data(m), sizes, strides);
  }
}

/// A map on the elements of a tensor, a view, or a value of a run-time graph, without a copy: rank 1 as a vector, rank 2
/// as a row-major matrix, rank 0 as 1 x 1. Memory with strides is a map with strides. A value of a run-time graph has its rank at run
/// time, and is always a matrix.
///
///     Eigen::MatrixXd const jacobian = ct::eigen_map(tensor);
///
/// Refuses: a temporary that owns its elements, a rank above 2 that is known.
/// Throws: `shape_error` if the rank of a value of a run-time graph is above 2, or a stride is negative, which Eigen does not take.
/// Checked: tests/runtime/eigen.cpp
template <class X> auto eigen_map(X&& x) {
  using plain = std::remove_cvref_t<X>;
  using pointed = std::remove_pointer_t<decltype(x.data())>;
  using number = std::remove_const_t<pointed>;
  auto const with = [&]<class Matrix>(std::type_identity<Matrix>, std::int64_t rows, std::int64_t columns) {
    using seen = std::conditional_t<std::is_const_v<pointed>, Matrix const, Matrix>;
    auto const height = static_cast<Eigen::Index>(rows), width = static_cast<Eigen::Index>(columns);
    if constexpr (detail::strided_memory<plain>) {
      std::int64_t strides[max_rank + 1]{};
      extend::memory<plain>::strides(x, strides);
      if (strides[0] < 0 || strides[1] < 0)
        detail::raise_if_offered<shape_error>(detail::message("cotangent: eigen_map: strides must be at least 0"));
      auto const first = static_cast<Eigen::Index>(strides[0]), second = static_cast<Eigen::Index>(strides[1]);
      using stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
      return Eigen::Map<seen, Eigen::Unaligned, stride>(x.data(), height, width, Matrix::IsRowMajor ? stride(first, second) : stride(second, first));
    } else return Eigen::Map<seen>(x.data(), height, width);
  };
  using any_matrix = Eigen::Matrix<number, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  if constexpr (requires { x.rank(); }) {
    if (x.rank() > 2) detail::raise_if_offered<shape_error>(detail::message("cotangent: eigen_map: the rank must be at most 2"));
    return with(std::type_identity<any_matrix>{}, x.rank() > 0 ? x.extent(0) : 1, x.rank() > 1 ? x.extent(1) : 1);
  } else {
    using traits = detail::memory_traits<plain>;
    static_assert(traits::extents.rank <= 2, "cotangent: eigen_map: the rank must be at most 2");
    static_assert(!traits::owns || std::is_lvalue_reference_v<X>,
                  "cotangent: eigen_map: a temporary that owns its elements must not be seen; give it a name first");
    constexpr auto size = [](int axis) {
      return axis < traits::extents.rank && traits::extents.extents[axis].is_number()
                 ? static_cast<int>(traits::extents.extents[axis].number)
                 : (axis < traits::extents.rank ? int{Eigen::Dynamic} : 1);
    };
    std::int64_t sizes[max_rank + 1]{};
    traits::sizes(x, sizes);
    if constexpr (traits::extents.rank < 2)
      return with(std::type_identity<Eigen::Matrix<number, size(0), 1>>{}, traits::extents.rank == 0 ? 1 : sizes[0], 1);
    else
      return with(std::type_identity<Eigen::Matrix<number, size(0), size(1), size(1) == 1 ? Eigen::ColMajor : Eigen::RowMajor>>{},
                  sizes[0], sizes[1]);
  }
}

} // namespace cotangent

/// Matrices, arrays, maps, refs, blocks and transposes of any size and order. Vectors of either direction have rank 1.
/// Gradients are plain matrices or arrays of the same sizes.
template <cotangent::detail::eigen_memory T>
struct cotangent::extend::memory<T> {
  using element = typename T::Scalar;
  static constexpr shape extents = cotangent::detail::eigen_extents<T>();
  static constexpr bool owns = cotangent::detail::eigen_owns<T>;
  template <class U> static auto* data(U& t) noexcept { return t.data(); }
  static void sizes(T const& t, std::int64_t* to) noexcept {
    if constexpr (extents.rank == 1) to[0] = static_cast<std::int64_t>(t.size());
    else {
      to[0] = static_cast<std::int64_t>(t.rows());
      to[1] = static_cast<std::int64_t>(t.cols());
    }
  }
  static void strides(T const& t, std::int64_t* to) noexcept
    requires(!cotangent::detail::eigen_is_dense<T>)
  {
    if constexpr (extents.rank == 1) to[0] = static_cast<std::int64_t>(t.innerStride());
    else {
      to[0] = static_cast<std::int64_t>(t.rowStride());
      to[1] = static_cast<std::int64_t>(t.colStride());
    }
  }

  using owner = typename T::PlainObject;
  static owner make(std::int64_t const* sizes) {
    owner made;
    if constexpr (extents.rank == 1) made.resize(static_cast<Eigen::Index>(sizes[0]));
    else made.resize(static_cast<Eigen::Index>(sizes[0]), static_cast<Eigen::Index>(sizes[1]));
    return made;
  }
};

template <class Plain, class Element, cotangent::extent... Extents>
struct cotangent::extend::memory<cotangent::detail::named_eigen<Plain, Element, Extents...>>
    : cotangent::extend::memory<cotangent::strided_span<Element, Extents...>> {
  using owner = Plain;
  static owner make(std::int64_t const* sizes) { return memory<Plain>::make(sizes); }
};
template <class Plain, class Element, cotangent::extent... Extents>
inline constexpr bool
    cotangent::detail::keeps_extents<cotangent::detail::named_eigen<Plain, Element, Extents...>> = true;

#endif
