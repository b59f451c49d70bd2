// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/eager.hpp>

#include "allocations.hpp"
#include "catch.hpp"
#include "words.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::dynamic::any_variable;
using ct::dynamic::eager;
using ct::dynamic::trainer;
using ct::dynamic::variable;
using numbers = std::vector<double>;

struct fitting {
  eager e;
  variable<double> a = e.constant(numbers{10, 1, 3, 5}, {2, 2}), bias = e.constant(numbers{1, -1});
  variable<double> w = e.parameter(numbers{0.31, -0.42, 0.07, 0.26}, {2, 2}, "w");

  variable<double> loss() const {
    auto const b = ct::matmul(a, ct::transpose(w)) + bias;
    return ct::sum(b * b);
  }
  void check(double first, double second) const {
    auto const at = w.value();
    CHECK(10 * at(0, 0) + at(0, 1) == Approx(-1).margin(first));
    CHECK(10 * at(1, 0) + at(1, 1) == Approx(1).margin(first));
    CHECK(3 * at(0, 0) + 5 * at(0, 1) == Approx(-1).margin(second));
    CHECK(3 * at(1, 0) + 5 * at(1, 1) == Approx(1).margin(second));
  }
};

TEST_CASE("gradient descent with a decreasing rate fits a linear layer, by minimize or by apply", "[eager]") {
  for (bool const at_once : {true, false}) {
    fitting f;
    trainer<ct::sgd> t(ct::sgd{.learning_rate = 0.001, .momentum = 0.9, .dampening = 0.9, .weight_decay = 0.995},
                       {f.w});
    for (int k = 0; k < 1000; ++k) {
      if (k > 0 && k % 250 == 0) t.set_learning_rate(std::pow(10.0, -3 - k / 250));
      if (at_once) t.minimize(f.e, f.loss());
      else {
        f.e.backward(f.loss());
        t.apply_gradients();
      }
    }
    f.check(1e-3, 0.1);
    CHECK(f.e.live().operations == 0);
  }
}

template <class O> void fits(O const& o) {
  fitting f;
  trainer<O> t(o, {f.w});
  for (int k = 0; k < 1000; ++k) t.minimize(f.e, f.loss());
  f.check(0.1, 0.1);
}
TEST_CASE("the other optimizers fit it as well", "[eager]") {
  fits(ct::adam{.learning_rate = 0.002, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});
  fits(ct::adamw{.learning_rate = 0.002, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});
  fits(ct::rmsprop{.learning_rate = 0.001, .alpha = 0.9, .epsilon = 1e-9, .momentum = 0.9, .weight_decay = 1e-4});
}

TEST_CASE("several backward passes make one step along their sum", "[eager]") {
  fitting once, twice;
  trainer<ct::sgd> t(ct::sgd{.learning_rate = 1e-3}, {once.w}), u(ct::sgd{.learning_rate = 1e-3}, {twice.w});
  for (int k = 0; k < 3; ++k) {
    t.minimize(once.e, once.loss() * 4.0);
    twice.e.backward(twice.loss());
    twice.e.backward(twice.loss() * 3.0);
    u.apply_gradients();
    for (int i = 0; i < 4; ++i) CHECK(twice.w.value()[i] == Approx(once.w.value()[i]).epsilon(1e-12));
  }
}

TEST_CASE("the gradients of (w a + bias - b)^2 update the parameters, and earlier records keep the old ones",
          "[eager]") {
  eager e;
  auto w = e.parameter(1.5), bias = e.parameter(-0.25), a = e.parameter(2.0), b = e.parameter(4.0),
       idle = e.parameter(7.0);
  auto const loss = ct::square(w * a + bias - b);
  double const off = 1.5 * 2 - 0.25 - 4;
  trainer<ct::sgd> t(ct::sgd{.learning_rate = 0.5}, {w, bias, a, b, idle});
  e.backward(loss);
  CHECK(a.grad().item() == Approx(2 * 1.5 * off));
  CHECK(b.grad().item() == Approx(-2 * off));
  t.apply_gradients();
  CHECK(w.item() == Approx(1.5 - 0.5 * 2 * 2 * off));
  CHECK(idle.item() == 7);
  e.backward(loss); // of the numbers it was computed from
  CHECK(a.grad().item() == Approx(2 * 1.5 * off));
}

// ---- all functions

template <class F> void agrees(F const& f, ct::tensor<double, 2, 3> const& x,
                               ct::tensor<double, 2, 3> const& y) {
  eager e;
  auto a = e.parameter(x), b = e.parameter(y);
  auto const fixed = ct::compiled(f)(x, y);
  auto const z = f(a, b);
  REQUIRE(z.size() == fixed.size());
  for (std::int64_t k = 0; k < z.size(); ++k)
    CHECK(z.value()[k] == Approx(fixed.data()[k]).epsilon(1e-13).margin(1e-300));
  constexpr auto total = [](auto p, auto q) { return ct::sum(F{}(p, q) * F{}(p, q)); };
  auto const [dx, dy] = ct::grad<0, 1>(total)(x, y);
  auto const d = e.grad({ct::sum(z * z)}, {a, b});
  for (int k = 0; k < 6; ++k) {
    CHECK(d[0].value()[k] == Approx(dx.data()[k]).epsilon(1e-11).margin(1e-12));
    CHECK(d[1].value()[k] == Approx(dy.data()[k]).epsilon(1e-11).margin(1e-12));
  }
}

TEST_CASE("eager functions agree with programs, and so do their gradients", "[eager]") {
  ct::tensor<double, 2, 3> const x{{0.3, -1.2, 2.5}, {0.9, -0.4, 1.7}}, y{{1.1, 0.6, 2.0}, {0.2, 1.9, 0.8}};
  agrees([](auto a, auto b) { return a * b + a / b - 2.0 * a; }, x, y);
  agrees([](auto a, auto b) { return ct::exp(a) + ct::log(b) + ct::tanh(a * b); }, x, y);
  agrees([](auto a, auto b) { return ct::sigmoid(a) * ct::softplus(b) + ct::relu(a); }, x, y);
  agrees([](auto a, auto b) { return ct::pow(b, 2.0) + ct::pow(b, a) + ct::pow(2.0, a); }, x, y);
  agrees([](auto a, auto b) { return ct::select(a > b, a * a, 0.5) + ct::max(a, b) - ct::min(a, b); }, x, y);
  agrees([](auto a, auto b) { return ct::matmul(a, ct::transpose(b)); }, x, y);
  agrees([](auto a, auto b) { return ct::sum(a, ct::axes<0>) * ct::mean(b, ct::axes<0>); }, x, y);
  agrees([](auto a, auto b) { return ct::max(a, ct::axes<1>, ct::keep) * b; }, x, y);
  agrees([](auto a, auto b) { return ct::softmax(a) + ct::log_softmax(b); }, x, y);
  agrees([](auto a, auto b) { return ct::concatenate<0>(a, b, a); }, x, y);
  agrees([](auto a, auto b) { return a(0, ct::all) * b(ct::all, ct::range<0, 2>)(1, 1); }, x, y);
  agrees([](auto a, auto b) { return ct::permute<1, 0>(a) + ct::reshape<3, 2>(b); }, x, y);
  agrees([](auto a, auto b) { return ct::logsumexp(a, ct::axes<1>) - ct::sum(b * b) + ct::zeros<2>(); }, x,
         y);
}

TEST_CASE("functions take numbers known at run time", "[eager]") {
  eager e;
  auto x = e.parameter(numbers{1, 2, 3, 4, 5, 6}, {2, 3});
  auto const list = [](auto const& v) { return numbers(v.value().begin(), v.value().end()); };
  CHECK(list(ct::sum(x, {1})) == numbers{6, 15});
  CHECK(list(ct::sum(x, {0}, ct::keep)) == numbers{5, 7, 9});
  CHECK(list(ct::reshape(x, {3, 2})(2)) == numbers{5, 6});
  CHECK(list(ct::permute(x, {1, 0})) == numbers{1, 4, 2, 5, 3, 6});
  CHECK(list(ct::broadcast_to(x(0), {2, 3})) == numbers{1, 2, 3, 1, 2, 3});
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(x(i, j).item() == 3 * i + j + 1);
  CHECK(list(x(1, ct::dynamic::between(0, 3, 2))) == numbers{4, 6});
  CHECK(ct::argmax(x, 1).value()(1) == 2);
  auto const labels = e.constant(std::vector<std::int32_t>{2, 0});
  auto const losses = ct::cross_entropy(x, labels);
  auto const d = e.grad({ct::sum(losses)}, {x}).front();
  double const s = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  CHECK(d.value()(0, 0) == Approx(std::exp(1.0) / s));
  CHECK(d.value()(0, 2) == Approx(std::exp(3.0) / s - 1));
  // one of y = x[1:2, :2]
  auto z = e.parameter(numbers(9, 1.0), {3, 3});
  auto const part = z(ct::range<1, 2>, ct::range<0, 2>);
  auto const ones = e.constant(numbers{1, 1}, {1, 2});
  CHECK(list(e.grad({part}, {z}, {ones}).front()) == numbers{0, 0, 0, 1, 1, 0, 0, 0, 0});
  // rows with cotangents of their own; a row without one has a 1 only if it is a scalar
  auto r = e.parameter(numbers(10, 1.0), {2, 5});
  e.backward({ct::sum(r(0)), r(1)}, {{}, e.constant(numbers{5, 4, 3, 2, 1})});
  CHECK(list(r.grad()) == numbers{1, 1, 1, 1, 1, 5, 4, 3, 2, 1});
}

template <class X> X power(X const& x, int n) {
  X y = 1.0;
  for (int k = 0; k < n; ++k) y = y * x;
  return y;
}

TEST_CASE("numbers join the recorder of the other operand", "[eager]") {
  eager e;
  auto x = e.parameter(1.5);
  CHECK(power(x, 5).item() == Approx(std::pow(1.5, 5)));
  CHECK(e.grad({power(x, 5)}, {x}).front().item() == Approx(5 * std::pow(1.5, 4)));
  variable<double> a = 2.0, b = 3.0;
  CHECK((a * b + 1.0).item() == 7);
  CHECK((x + a).item() == 3.5);
  auto f = e.parameter(0.25f);
  CHECK((f * 4.0 + 1).item() == 2.0f);
  auto n = e.constant(std::int64_t{3});
  CHECK((n * 2 + 1).item() == 7);
}

TEST_CASE("more operands than bits in a word", "[eager]") {
  eager e;
  std::vector<variable<double>> x;
  for (int k = 0; k < 70; ++k) x.push_back(e.parameter(numbers{static_cast<double>(k)}));
  auto const all = [&]<std::size_t... K>(std::index_sequence<K...>) {
    return ct::concatenate<0>(x[K]...);
  }(std::make_index_sequence<70>{});
  auto const y = ct::sum(all * all);
  for (int k : {0, 31, 63, 64, 65, 69}) {
    auto const d = e.grad({y}, {x[static_cast<std::size_t>(k)]}).front();
    CHECK(d.value()(0) == 2 * k);
  }
  e.backward(y);
  for (int k = 0; k < 70; ++k) CHECK(x[static_cast<std::size_t>(k)].grad().value()(0) == 2 * k);
}

TEST_CASE("gradients never share memory", "[eager]") {
  eager e;
  auto x = e.parameter(1.0), y = e.parameter(2.0);
  auto z = x + y;
  auto const d = e.grad({z}, {x, y, z, x});
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(d[i].value().data() != d[j].value().data());
  e.backward(z);
  CHECK(x.grad().value().data() != y.grad().value().data());
}

TEST_CASE("steps of one kind allocate nothing after the first", "[eager]") {
  eager e;
  auto x = e.parameter(numbers(100, 0.5)), c = e.constant(numbers(100, 2.0));
  auto const step = [&] {
    auto y = ct::tanh(x * c) + x(3) * 0.5;
    return ct::sum(y * y).item();
  };
  double const first = step();
  long const before = allocations;
  double const second = step();
  long const made = allocations - before;
  CHECK(made == 0);
  CHECK(first == second);
}

TEST_CASE("many shapes do not fill memory with prepared operations", "[eager]") {
  eager e;
  auto x = e.parameter(numbers(6000, 1.0));
  double sum = 0;
  variable<double> kept = ct::sum(ct::exp(x));
  for (int k = 1; k < 5000; ++k) sum += x(k).item();
  CHECK(sum == 4999);
  CHECK(e.grad({kept}, {x}).front().value()[7] == Approx(std::exp(1.0)));
}

// ---- what is refused

TEST_CASE("a trainer minimizes with the recorder of its parameters only", "[eager]") {
  eager e, other;
  auto w = e.parameter(5.0, "w"), theirs = other.parameter(3.0, "theirs");
  trainer<ct::sgd> t(ct::sgd{.learning_rate = 0.1}, {w});
  auto const mistake = [&](eager& recorder, variable<double> const& x) {
    return words_of<ct::graph_error>([&] { t.minimize(recorder, x * x); });
  };
  CHECK(has(mistake(other, theirs), "must be variables of one recorder; in minimize of w double [], at "));
  CHECK(has(mistake(other, theirs), "eager_training.cpp:"));
  CHECK(has(mistake(e, theirs), "of one recorder"));
  CHECK(has(mistake(other, w), "of one recorder"));
  CHECK_FALSE(theirs.has_grad());
  CHECK_FALSE(w.has_grad());
  CHECK(w.item() == 5);
  t.minimize(e, w * w);
  CHECK(w.item() == 4);

  trainer<ct::sgd> both(ct::sgd{.learning_rate = 0.1}, {w, theirs});
  CHECK(has(words_of<ct::graph_error>([&] { both.minimize(e, w * w); }), "in minimize of theirs double []"));
}

TEST_CASE("misuse is refused in words", "[eager]") {
  eager e, other;
  auto x = e.parameter(numbers{1, 2, 3}, "x"), y = other.parameter(numbers{1, 2, 3}, "y");
  auto c = e.constant(2.0);
  CHECK(has(words_of<ct::graph_error>([&] { x + y; }), "of one recorder; in add of y double [3]"));
  CHECK(has(words_of<ct::graph_error>([&] { e.backward(ct::sum(y)); }), "of one recorder"));
  CHECK(has(words_of<ct::graph_error>([&] { e.grad({ct::sum(x)}, {y}); }), "of one recorder"));
  auto gone = x;
  auto const stays = static_cast<variable<double>&&>(gone);
  CHECK(has(words_of<ct::graph_error>([&] { gone + 1.0; }), "moved from, or never got one; in add"));
  CHECK(has(words_of<ct::graph_error>([&] { gone.value(); }), "moved from"));
  CHECK(has(words_of<ct::graph_error>([&] { ct::sum(variable<double>()); }), "never got one; in sum"));
  CHECK(
      has(words_of<ct::shape_error>([&] { x + e.constant(numbers{1, 2}); }), "x double [3] and double [2]"));
  CHECK(has(words_of<ct::shape_error>([&] { ct::matmul(x, e.constant(numbers{1, 2})); }), "matmul"));
  CHECK(has(words_of<ct::shape_error>([&] { x(3); }), "(3 and 3)"));
  CHECK(has(words_of<ct::shape_error>([&] { x += e.constant(numbers{1, 2, 3}, {1, 3}); }), "x double [3]"));
  CHECK(has(words_of<ct::shape_error>([&] { e.backward(x); }), "must have a cotangent"));
  CHECK(has(words_of<ct::shape_error>([&] { e.backward(x, c); }),
            "the shape of its output; in backward of double [] and x"));
  CHECK(has(words_of<ct::shape_error>([&] { e.backward({ct::sum(x)}, {c, c}); }), "(2 and 1)"));
  CHECK(has(words_of<ct::graph_error>([&] { e.grad({c}, {e.constant(1)}); }), "float"));
  CHECK(has(words_of<ct::graph_error>([&] { e.parameter(std::int64_t{1}); }), "float"));
  CHECK(has(words_of<ct::unreachable_error>([&] {
              auto z = e.parameter(1.0, "z");
              e.grad({ct::sum(x)}, {z}, {}, {.policy = ct::unreachable::error});
            }),
            "of z double"));
  CHECK(has(words_of<ct::graph_error>([&] { x.grad(); }), "must have reached"));
  CHECK(has(words_of<ct::graph_error>([&] { c.retain_grad(); }), "tracked"));
  CHECK(
      has(words_of<ct::graph_error>([&] { ct::exp(x).set(numbers{1, 2, 3}); }), "a parameter or a constant"));
  CHECK(has(words_of<ct::graph_error>([&] { e.view(x, {.shape = {2}}).set(numbers{1, 2}); }),
            "a parameter or a constant"));
  CHECK(has(words_of<ct::shape_error>([&] { x.set(numbers{1, 2}); }), "shape of the old ones; in set of x"));
  CHECK(has(words_of<ct::shape_error>([&] { e.view(x, {.offset = {2}, .shape = {2}}); }),
            "within the viewed tensor or view"));
  CHECK(has(words_of<ct::shape_error>([&] { e.constant(numbers{1, 2}, {3}); }), "(2 and 3)"));
  CHECK(has(words_of<ct::graph_error>([&] { trainer<ct::sgd>(ct::sgd{}, {c}); }), "tracked"));
  CHECK(has(words_of<ct::graph_error>([&] { trainer<ct::sgd>(ct::sgd{}, {x, x}); }), "by one value only"));
  auto const index = e.constant(std::vector<std::int32_t>{0, 3});
  CHECK(has(words_of<ct::shape_error>([&] { ct::gather(x, index); }), "out of range"));
  variable<double> outlives;
  {
    eager ends;
    outlives = ends.parameter(numbers{4, 5});
    outlives = outlives * 2.0;
  }
  CHECK(outlives.value()(1) == 10);
  CHECK(has(words_of<ct::graph_error>([&] { outlives + 1.0; }), "must not have ended"));
  // and after all this
  CHECK(ct::sum(x * x).item() == 14);
}

struct no_gradient : ct::extend::elementwise<1> {
  static constexpr char const* name = "no_gradient";
  static constexpr ct::derivative_kind derivative = ct::derivative_kind::none_;
  template <class V> static constexpr V apply(V const& x) { return x; }
};

TEST_CASE("an operation without an adjoint is refused only if a gradient has to pass it", "[eager]") {
  eager e;
  auto x = e.parameter(2.0);
  auto y = ct::extend::apply<no_gradient>(std::source_location::current(), x) * 2.0;
  CHECK(y.item() == 4);
  CHECK(has(words_of<ct::not_differentiable_error>([&] { e.backward(y); }), "no_gradient"));
  CHECK(e.grad({x * 3.0}, {x}).front().item() == 3);
}

TEST_CASE("trainers refuse settings and learning rates that are no numbers", "[eager]") {
  eager e;
  auto const w = e.parameter(numbers{1, 2});
  auto const no_number = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused<ct::graph_error>("and all settings finite", [&] { trainer<ct::adam>(ct::adam{.epsilon = no_number}, {w}); }));
  trainer<ct::sgd> t(ct::sgd{}, {w});
  CHECK(refused<ct::graph_error>("set_learning_rate, at", [&] { t.set_learning_rate(no_number); }));
}

} // namespace
