// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#if __has_include(<eigen3/Eigen/Core>) || __has_include(<Eigen/Core>)
#  include <cotangent/cotangent.hpp>
#  include <cotangent/dynamic.hpp>
#  include <cotangent/eager.hpp>
#  include <cotangent/interop/eigen.hpp>

#  include <tuple>
#  include <type_traits>
#  include <vector>

namespace ct = cotangent;
using Eigen::Dynamic;
using row_major = Eigen::Matrix<double, Dynamic, Dynamic, Eigen::RowMajor>;

namespace {
inline constexpr auto loss = [](auto a, auto x) { return ct::sum(ct::square(ct::matmul(a, x))); };
inline constexpr auto half_square = [](auto x) { return 0.5f * ct::sum(ct::square(x)); };
inline constexpr auto cubes = [](auto const& p) {
  auto const& [w, b] = p;
  return ct::sum(w * w * w) + ct::sum(b * b * b);
};

template <template <class, ct::extent...> class Tensor> struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (Tensor<double, "n", 3>, w), (Tensor<double, 3>, b), (Tensor<double>, scale));
};
inline constexpr auto layer_loss = [](auto const& p) { return p.scale * (ct::sum(p.w * p.w * p.w) + ct::sum(p.b * p.b)); };

template <class T> T counted(Eigen::Index rows, Eigen::Index columns) {
  T m(rows, columns);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < columns; ++j) m(i, j) = static_cast<typename T::Scalar>(1 + 10 * i + j);
  return m;
}

/// The gradient is the object, in its own type without strides.
template <class T> void check_kept(T const& x) {
  auto const g = ct::grad(half_square)(x);
  STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(g)>, typename T::PlainObject>);
  REQUIRE(g.rows() == x.rows());
  REQUIRE(g.cols() == x.cols());
  for (Eigen::Index i = 0; i < x.rows(); ++i)
    for (Eigen::Index j = 0; j < x.cols(); ++j) CHECK(g(i, j) == x(i, j));
}
} // namespace

TEST_CASE("gradients with respect to Eigen objects are Eigen objects of the same sizes") {
  for (Eigen::Index const n : {0, 1, 2, 5}) {
    check_kept(counted<Eigen::MatrixXf>(n, 3));
    check_kept(counted<Eigen::MatrixXf>(3, n));
    check_kept(counted<Eigen::ArrayXXf>(n, n));
    check_kept(counted<Eigen::VectorXf>(n, 1));
    check_kept(counted<Eigen::RowVectorXf>(1, n));
  }
  check_kept(counted<Eigen::Matrix3f>(3, 3));
  check_kept(counted<Eigen::Matrix<float, 2, 3, Eigen::RowMajor>>(2, 3));
  check_kept(counted<Eigen::Matrix<float, 2, Dynamic>>(2, 4));
  check_kept(counted<Eigen::Matrix<float, 1, 1>>(1, 1));
  check_kept(counted<Eigen::Array<float, 4, 1>>(4, 1));
}

TEST_CASE("blocks, rows, columns, transposes, diagonals, maps and refs are arguments") {
  Eigen::MatrixXf m = counted<Eigen::MatrixXf>(4, 5);
  Eigen::MatrixXf const& constant = m;
  check_kept(m.block(1, 1, 2, 3));
  check_kept(m.row(2));
  check_kept(m.col(2));
  check_kept(constant.row(1));
  check_kept(m.transpose());
  check_kept(m.diagonal());
  check_kept(m.topLeftCorner<2, 3>());
  check_kept(Eigen::Map<Eigen::MatrixXf>(m.data(), 5, 4));
  check_kept(Eigen::Map<Eigen::VectorXf const, 0, Eigen::InnerStride<2>>(m.data(), 10));
  check_kept(Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<>>(m.data() + 19, 7, Eigen::InnerStride<>(-2)));
  check_kept(Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>(m.data(), 2, 3, Eigen::OuterStride<>(6)));
  check_kept(Eigen::Ref<Eigen::MatrixXf>(m.block(0, 0, 3, 3)));
  check_kept(Eigen::Ref<Eigen::MatrixXf const>(m));
}

TEST_CASE("named sizes of Eigen objects are compared") {
  Eigen::MatrixXd const a = counted<Eigen::MatrixXd>(2, 3), x = counted<Eigen::MatrixXd>(3, 4);
  auto const [ga, gx] = ct::grad<0, 1>(loss)(ct::eigen_view<"n", "k">(a), ct::eigen_view<"k", "m">(x));
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(ga)>, Eigen::MatrixXd>);
  CHECK((ga - 2 * (a * x) * x.transpose()).norm() == 0);
  CHECK((gx - 2 * a.transpose() * (a * x)).norm() == 0);
  CHECK_THROWS_AS(ct::grad(loss)(ct::eigen_view<"n", "k">(a), ct::eigen_view<"k", "m">(a)), ct::shape_error);
}

TEST_CASE("Eigen objects are leaves of tuples and of structs") {
  std::tuple<Eigen::MatrixXd, Eigen::Vector3d> const p{counted<Eigen::MatrixXd>(2, 2), Eigen::Vector3d(1, 2, 3)};
  std::tuple<Eigen::MatrixXd, Eigen::Vector3d> const g = ct::grad(cubes)(p);
  CHECK((std::get<0>(g).array() - 3 * std::get<0>(p).array().square()).matrix().norm() == 0);
  CHECK((std::get<1>(g).array() - 3 * std::get<1>(p).array().square()).matrix().norm() == 0);

  layer<ct::eigen_tensor> const l{counted<Eigen::MatrixXd>(2, 3), Eigen::Vector3d(1, 2, 3), 2.0};
  layer<ct::eigen_tensor> const gl = ct::grad(layer_loss)(l);
  CHECK((gl.w.array() - 6 * l.w.array().square()).matrix().norm() == 0);
  CHECK((gl.b - 4 * l.b).norm() == 0);
  CHECK(gl.scale == l.w.array().cube().sum() + l.b.squaredNorm());
}

TEST_CASE("run writes to Eigen objects, also in place of an argument") {
  using F = decltype(ct::value_and_grad(half_square));
  Eigen::Matrix3f m = counted<Eigen::Matrix3f>(3, 3);
  Eigen::Matrix3f const before = m;
  using P = ct::program<F, Eigen::Matrix3f>;
  STATIC_REQUIRE(P::workspace_bytes >= 2 * 9 * sizeof(float));
  P::workspace workspace;
  float value = 0;
  Eigen::MatrixXf to = Eigen::MatrixXf::Zero(5, 5);
  auto block = to.block(1, 2, 3, 3);
  REQUIRE(P::run(workspace, std::tie(m), std::tie(value, block)) == ct::status::ok);
  CHECK((block - m).norm() == 0);
  CHECK(to.squaredNorm() == m.squaredNorm());
  REQUIRE(P::run(workspace, std::tie(m), std::tie(value, m)) == ct::status::ok);
  CHECK((m - before).norm() == 0);
  CHECK(value == before.squaredNorm() / 2);
  auto wrong = to.block(0, 0, 2, 3);
  using Q = ct::program<F, Eigen::MatrixXf>;
  alignas(64) unsigned char room[1024];
  Eigen::MatrixXf const x = m;
  CHECK(Q::run(room, std::tie(x), std::tie(value, wrong)) == ct::status::size_mismatch);
  CHECK(Q::workspace_for(x) >= 2 * 9 * sizeof(float));
}

TEST_CASE("a pullback takes Eigen cotangents") {
  Eigen::MatrixXd const x = counted<Eigen::MatrixXd>(2, 3);
  auto const [y, pullback] = ct::vjp([](auto a) { return ct::square(a); })(x);
  Eigen::MatrixXd const dy = counted<Eigen::MatrixXd>(2, 3), dx = pullback(dy);
  CHECK((dx.array() - 2 * x.array() * dy.array()).matrix().norm() == 0);
  CHECK((Eigen::MatrixXd(ct::eigen_map(y)).array() - x.array().square()).matrix().norm() == 0);
}

TEST_CASE("run-time graphs and eager mode copy Eigen objects of any order") {
  Eigen::MatrixXd const a = counted<Eigen::MatrixXd>(2, 3);
  row_major r = a;
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3});
  auto const y = x + g.constant(a);
  auto p = g.compile({y});
  p.bind(x, r);
  p.run();
  CHECK((ct::eigen_map(p.value(y)) - 2 * a).norm() == 0);
  r(0, 0) = 5;
  p.run();
  CHECK(ct::eigen_map(p.value(y))(0, 0) == 5 + a(0, 0));

  ct::dynamic::eager e;
  auto const v = e.parameter(a);
  auto const s = ct::sum(ct::square(v));
  e.backward(s);
  CHECK((ct::eigen_map(v.grad().value()) - 2 * a).norm() == 0);
}

TEST_CASE("eigen_map sees memory with strides") {
  double p[6]{1, 2, 3, 4, 5, 6};
  ct::strided_span<double, 2, 3> const by_columns(p, {2, 3}, {1, 2});
  auto m = ct::eigen_map(by_columns);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(m(i, j) == by_columns(i, j));
  m(0, 1) = 7;
  CHECK(p[2] == 7);
  ct::strided_span<double const, 2> const every_third(p, {2}, {3});
  CHECK(ct::eigen_map(every_third)(1) == 4);
  ct::strided_span<double, 3, 1> const column(p, {3, 1}, {2, 1});
  CHECK(ct::eigen_map(column)(2, 0) == 5);
  ct::strided_span<double, 2> const reversed(p + 5, {2}, {-1});
  CHECK_THROWS_AS(ct::eigen_map(reversed), ct::shape_error);
  Eigen::Matrix<double, 2, 3> e;
  e << 1, 2, 3, 4, 5, 6;
  CHECK((ct::eigen_map(e) - e).norm() == 0);
  Eigen::MatrixXd d = e;
  CHECK((ct::eigen_map(ct::eigen_view<"n", "m">(d)) - e).norm() == 0);
  CHECK((ct::eigen_map(d.row(1)) - e.row(1).transpose()).norm() == 0);
}

TEST_CASE("segments of vectors, and classes that derive from matrices, are arguments and results") {
  Eigen::VectorXd v(6), to(6);
  v << 1, 2, 3, 4, 5, 6;
  to.setZero();
  auto const squared = [](auto x) { return x * x; };
  CHECK(ct::compiled(squared)(v.head<3>())(2) == 9);
  CHECK(ct::compiled(squared)(v.segment(2, 3))(2) == 25);
  CHECK(ct::compiled(squared)(v.tail(1))(0) == 36);
  CHECK(ct::grad([](auto x) { return ct::sum(x * x * x); })(v.head<3>())(2) == 27);
  auto from = v.segment<2>(1), place = to.tail<2>();
  using program = ct::program<decltype(ct::compiled(squared)), decltype(from)>;
  alignas(64) unsigned char workspace[program::workspace_bytes + 1];
  CHECK(program::run(workspace, std::tie(from), place) == ct::status::ok);
  CHECK(to(4) == 4);
  CHECK(to(5) == 9);
  CHECK(to(3) == 0);
  struct pose : Eigen::Vector3d {
    pose() : Eigen::Vector3d(1, 2, 3) {}
  };
  pose const p;
  CHECK(ct::compiled(squared)(p)(2) == 9);
  Eigen::Vector3d const slopes = ct::grad([](auto x) { return ct::sum(x * x); })(p);
  CHECK(slopes(2) == 6);
}

TEST_CASE("eigen_map sees tensors and views without a copy") {
  ct::tensor<double, 2, 3> t{{1, 2, 3}, {4, 5, 6}};
  auto m = ct::eigen_map(t);
  CHECK(m(1, 0) == 4);
  m(1, 0) = 7;
  CHECK(t(1, 0) == 7);
  ct::tensor<double, 3> const v{1, 2, 3};
  CHECK(ct::eigen_map(v).sum() == 6);
  ct::tensor<double> const s = 4;
  CHECK(ct::eigen_map(s)(0, 0) == 4);
  ct::tensor<float, "n", "m"> const empty(0, 3);
  CHECK(ct::eigen_map(empty).cols() == 3);
}

TEST_CASE("vectors of fixed Eigen vectors are arguments") {
  std::vector<Eigen::Vector3d> const points{{1, 2, 3}, {4, 5, 6}};
  auto const g = ct::grad([](auto x) { return ct::sum(ct::square(x)); })(points);
  CHECK(g[1](2) == 12);
}

TEST_CASE("check_gradient takes Eigen objects of any order and stride") {
  [[maybe_unused]] static constexpr auto corner = [](auto a) { return ct::sum(a * a * a(0, 1)); };
  Eigen::MatrixXd const any = counted<Eigen::MatrixXd>(3, 4);
  Eigen::Matrix3d fixed = any.leftCols<3>();
  Eigen::Matrix3d const before = fixed;
  CHECK(ct::check_gradient(corner, any));
  CHECK(ct::check_gradient(corner, fixed.transpose()));
  CHECK(ct::check_gradient(corner, fixed.block<2, 2>(1, 0)));
  CHECK(ct::check_gradient(corner, any.block(0, 1, 2, 3)));
  CHECK(ct::check_gradient(corner, Eigen::Ref<Eigen::MatrixXd const>(any)));
  CHECK(ct::check_gradient(half_square, any.row(1)));
  CHECK(ct::check_gradient(half_square, fixed.diagonal()));
  CHECK(ct::check_gradient(loss, ct::eigen_view<"n", "m">(fixed), ct::eigen_view<"m">(any.col(1))));
  CHECK(ct::check_gradient(cubes, std::tuple(any, fixed)));
  CHECK(ct::check_gradient(layer_loss, layer<ct::eigen_tensor>{before, Eigen::Vector3d(1, 2, 3), 2}));
  CHECK(fixed == before);
}
#endif
