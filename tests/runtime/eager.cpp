// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <cotangent/eager.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::dynamic::any_variable;
using ct::dynamic::eager;
using ct::dynamic::variable;
using numbers = std::vector<double>;

numbers elements(variable<double> const& x) {
  auto const v = x.value();
  return {v.begin(), v.end()};
}
/// Bit k: whether candidate k has an effect.
unsigned bits(std::vector<bool> const& found) {
  unsigned all = 0;
  for (std::size_t k = 0; k < found.size(); ++k) all |= (found[k] ? 1u : 0u) << k;
  return all;
}

// ---- operations and lifetimes

TEST_CASE("operations run when they are written", "[eager]") {
  eager e;
  auto x = e.parameter(19.0, "x");
  CHECK(ct::log(x).item() == Approx(std::log(19.0)));
  CHECK((1.0 / x).item() == Approx(1 / 19.0));
  CHECK(ct::reciprocal(x).item() == Approx(1 / 19.0));
  if (x > 18.0) CHECK(true);
  else CHECK(false);
}

TEST_CASE("gradients with respect to inputs and to intermediate values", "[eager]") {
  eager e;
  auto x = e.parameter(19.0);
  auto y = e.parameter(1.2);
  auto z = x * ct::log(x);
  auto f = z + y * x;
  CHECK(f.item() == Approx(78.7443406));
  for (int k = 0; k < 2; ++k) { // as often as one likes
    CHECK(e.grad({f}, {x}).front().item() == Approx(std::log(19.0) + 2.2));
    auto const d = e.grad({f}, {y, z});
    CHECK(d[0].item() == 19);
    CHECK(d[1].item() == 1);
  }
}

TEST_CASE("backward adds to existing gradients", "[eager]") {
  eager e;
  auto f = [](auto const& x) { return x * ct::log(x) + 1.2 * x; };
  auto x = e.parameter(19.0);
  e.backward(f(x));
  CHECK(x.grad().item() == Approx(5.1444390));
  x.set(10.0);
  e.backward(f(x));
  CHECK(x.grad().item() == Approx(9.6470241));
  // the same into a variable that is named
  variable<double> sum;
  auto a = e.parameter(19.0), b = e.parameter(10.0);
  e.accumulate(f(a), a, sum);
  CHECK(sum.item() == Approx(5.1444390));
  e.accumulate(f(b), b, sum);
  CHECK(sum.item() == Approx(9.6470241));
  // others
  auto c = e.parameter(3.0);
  e.backward(f(c));
  e.backward(f(c));
  CHECK(c.grad().item() == Approx(2 * (std::log(3.0) + 2.2)));
}

TEST_CASE("a gradient may be added to the variable that it is with respect to", "[eager]") {
  eager e;
  for (double const at : {10.0, 2.5}) {
    auto x = e.parameter(at);
    e.accumulate(x * ct::log(x) + x, x, x);
    CHECK(x.item() == Approx(at + std::log(at) + 2));
  }
}

TEST_CASE("dead values are freed at once", "[eager]") {
  eager e;
  int freed = 0;
  e.on_free([&](std::int64_t) { ++freed; });
  {
    auto x = e.parameter(32.0), y = e.constant(0.5);
    for (int k = 0; k < 10; ++k) x = x * y;
    CHECK(x.item() == Approx(32 * std::pow(0.5, 10)));
    // to multiply by a constant needs the constant only: 32 and nine products went
    CHECK(freed == 10);
    CHECK(e.live().tensors == 2);
    CHECK(e.live().operations == 10);
  }
  CHECK(e.live() == decltype(e.live()){});
  CHECK(freed == 12);

  freed = 0;
  auto x = e.parameter(1.0), y = e.constant(0.9);
  auto product = x;
  for (int k = 0; k < 4; ++k) product = product * y;
  CHECK(product.item() == Approx(0.6561));
  auto const d = e.grad({product}, {x}).front();
  CHECK(d.item() == Approx(0.6561));
  CHECK(e.live().operations == 4);
  CHECK(freed == 3 + 4); // products, and cotangents: 1 and three more
  product = {};
  CHECK(e.live().operations == 0);
  CHECK(e.live().tensors == 3); // x, y, d

  // results that the adjoint reads are kept, and nothing else
  freed = 0;
  auto z = ct::exp(ct::exp(ct::exp(x)));
  CHECK(freed == 0);
  z = ct::exp(z * 0.0);
  z = {};
  CHECK(e.live().operations == 0);
  CHECK(e.live().tensors == 3);
}

TEST_CASE("a chain of 300,000 operations is freed without deep recursion", "[eager]") {
  eager e;
  auto x = e.parameter(1.0);
  auto s = x;
  for (int k = 0; k < 300000; ++k) s = s + 1.0;
  CHECK(e.live().operations == 300000);
  CHECK(e.grad({s}, {x}).front().item() == 1);
  s = {};
  CHECK(e.live().operations == 0);
}

TEST_CASE("one gradient sums over several intermediate values", "[eager]") {
  eager e;
  auto y = e.parameter(2.0);
  {
    std::vector<variable<double>> f;
    for (int i = 0; i < 10; ++i) {
      f.push_back(static_cast<double>(i + 1) * y);
      if (f.size() > 3) f.erase(f.begin());
    }
    CHECK(e.live().operations == 3);
    for (auto const& g : f) e.backward(g);
  }
  CHECK(y.grad().item() == 8 + 9 + 10);
  y.clear_grad();
  CHECK(!y.has_grad());
  CHECK(e.live().operations == 0);
}

TEST_CASE("a recorder tells which variables affect another one", "[eager]") {
  eager e;
  auto a = e.parameter(1.0), b = e.parameter(2.0), d = e.parameter(3.0), f = e.parameter(4.0),
       k = e.parameter(5.0);
  auto c = a + b, g = c * d, h = g + f;
  CHECK(bits(e.depends_on(c, {a, b})) == 3);
  CHECK(bits(e.depends_on(g, {a, c, d})) == 7);
  CHECK(bits(e.depends_on(g, {a, f, d})) == 5);
  CHECK(bits(e.depends_on(g, {h, a, b, k})) == 6);
  CHECK(bits(e.depends_on(g, {g})) == 1);
  std::vector<any_variable> many(130, k);
  many[129] = a;
  many[64] = f;
  auto const found = e.depends_on(h, many);
  CHECK(found[129]);
  CHECK(found[64]);
  CHECK(!found[65]);
}

TEST_CASE("gradients of variables of several elements have their element in the type again", "[eager]") {
  eager e;
  auto x = e.parameter(2.0);
  auto f = e.parameter(3.0f);
  auto const gradients = e.grad({x * ct::convert<double>(f)}, {x, f});
  CHECK(gradients[0].type() == ct::element::float64);
  CHECK(gradients[1].type() == ct::element::float32);
  CHECK(gradients[0].as<double>().item() == 3);
  {
    variable<float> const of_f = gradients[1].as<float>(); // another name for the same tensor
    CHECK(of_f.item() == 2);
  }
  CHECK(gradients[1].as<float>().item() == 2);
  CHECK(ct::square(gradients[1].as<float>()).item() == 4);
  CHECK_THROWS_AS(gradients[1].as<double>(), ct::graph_error);
  CHECK_THROWS_AS(any_variable().as<double>(), ct::graph_error);
  CHECK_THROWS_AS(any_variable().type(), ct::graph_error);
}

TEST_CASE("sizes in braces are sizes, the first of them 0 as well", "[eager]") {
  eager e;
  auto const none = e.parameter(numbers{}, {0, 3});
  CHECK(none.shape() == ct::shape_of<0, 3>);
  CHECK(e.parameter(numbers{1, 2, 3}, {3, 1}, "w").shape() == ct::shape_of<3, 1>);
  CHECK(e.parameter(numbers{}, {0}).rank() == 1);
  CHECK(e.parameter(numbers{7}, {}).item() == 7);
  CHECK(e.parameter(numbers{1, 2}, std::vector<int>{2, 1}).rank() == 2);
  CHECK(e.parameter(numbers{1, 2}, "w").rank() == 1);
}

TEST_CASE("guards against recording end in any order, and after their recorder", "[eager]") {
  eager e;
  auto const x = e.parameter(numbers{1, 2});
  auto const recorded = [&]() -> bool { return e.depends_on(ct::sum(x * x), {x}).front(); };
  auto first = std::make_unique<eager::no_grad>(e), second = std::make_unique<eager::no_grad>(e);
  CHECK(!recorded());
  first.reset();
  CHECK(!recorded());
  second.reset();
  CHECK(recorded());
  std::unique_ptr<eager::no_grad> last;
  {
    eager other;
    last = std::make_unique<eager::no_grad>(other);
  }
  last.reset();
  CHECK(recorded());
}

TEST_CASE("a variable can be detached from its history", "[eager]") {
  eager e;
  auto x = e.parameter(3.0), a = e.parameter(2.0);
  auto y = ct::log(x);
  auto z = 0.5 * y;
  CHECK(e.live().operations == 2);
  CHECK(bits(e.depends_on(z, {x})) == 1);
  e.detach(y);
  CHECK(e.live().operations == 1);
  CHECK(bits(e.depends_on(z, {x, y})) == 2);
  CHECK(e.grad({z}, {x}).front().item() == 0);

  auto u = ct::log(x), v = a * u;
  CHECK(e.live().operations == 3);
  e.detach(u);
  CHECK(e.live().operations == 2);
  CHECK(bits(e.depends_on(v, {x, a})) == 2);
  CHECK(e.grad({v}, {a}).front().item() == Approx(std::log(3.0)));
}

TEST_CASE("operations on constants are not recorded", "[eager]") {
  eager e;
  auto a = e.constant(2.0), b = e.constant(3.0);
  auto c = ct::exp(a * b) + 1.0;
  CHECK(e.live().operations == 0);
  CHECK(e.live().tensors == 3);
  CHECK(!c.tracked());
  auto x = e.parameter(1.0);
  auto n = ct::floor(x) + ct::stop_gradient(x); // nor values without a derivative
  CHECK(e.live().operations == 0);
  CHECK(n.item() == 2);
  {
    eager::no_grad const quiet(e);
    auto y = ct::exp(x);
    CHECK(e.live().operations == 0);
  }
  CHECK(ct::exp(x).tracked());
}

// ---- views

TEST_CASE("views of views follow their tensor", "[eager]") {
  eager e;
  auto a = e.parameter(numbers{10, 11, 12, 13, 14, 15}, {2, 3});
  auto a0 = e.view(a, {.offset = {1, 0}, .shape = {1, 3}, .stride = {3, 1}});
  auto a1 = e.view(a0, {.offset = {1}, .shape = {2}, .stride = {1}});
  CHECK(elements(a0) == numbers{13, 14, 15});
  CHECK(elements(a1) == numbers{14, 15});
  auto before = ct::sum(a1 * a1);
  a.set(numbers{20, 21, 22, 23, 24, 25});
  CHECK(elements(a0) == numbers{23, 24, 25});
  CHECK(elements(a1) == numbers{24, 25});
  CHECK(before.item() == 14 * 14 + 15 * 15);
  CHECK(elements(e.grad({before}, {a}).front()) ==
        numbers{0, 0, 0, 0, 28, 30}); // of its operands
  auto after = ct::sum(a1 * a1) + ct::sum(a0);
  CHECK(elements(e.grad({after}, {a}).front()) == numbers{0, 0, 0, 1, 49, 51});
  CHECK(elements(e.grad({after}, {a1}).front()) == numbers{49, 51});
  auto column = e.view(a, {.offset = {0, 2}, .shape = {2, 1}});
  CHECK(elements(column) == numbers{22, 25});
}

TEST_CASE("a view keeps its tensor alive", "[eager]") {
  eager e;
  {
    auto x = e.parameter(10.0);
    auto y = e.parameter(numbers{1, 2});
    auto y_t = e.view(y, {.shape = {2, 1}, .stride = {1, 1}});
    y = {};
    auto f = x * y_t;
    auto const d = e.grad({f}, {y_t}, {e.constant(numbers{1, 1}, {2, 1})}).front();
    CHECK(elements(d) == numbers{10, 10});
    CHECK(d.rank() == 2);
  }
  CHECK(e.live() == decltype(e.live()){});
}

// ---- tensors written in pieces

TEST_CASE("a tensor is written in pieces, and its gradient reaches the written values", "[eager]") {
  eager e;
  auto x = e.parameter(numbers{1, 2, 3}), w = e.parameter(0.5);
  auto y = e.tensor<double>({2, 4}, "y");
  CHECK_FALSE(y.tracked());
  auto const top = e.view(y, {.shape = {1, 3}}),
             odd = e.view(y, {.offset = {1, 0}, .shape = {1, 2}, .stride = {4, 2}});
  e.write(top, x * w);
  e.write(odd, 7.0);
  CHECK(elements(y) == numbers{.5, 1, 1.5, 0, 7, 0, 7, 0});
  CHECK(elements(odd) == numbers{7, 7});
  CHECK(y.tracked());
  CHECK(top.tracked());
  auto const before = ct::sum(y * y); // its adjoint reads what y is now
  e.write(e.view(y, {.offset = {0, 3}, .shape = {2, 1}}), ct::square(w));
  CHECK(elements(y) == numbers{.5, 1, 1.5, .25, 7, 0, 7, .25});
  CHECK(before.item() == Approx(.25 + 1 + 2.25 + 98));
  auto const after = ct::sum(y * y * y);
  auto const d = e.grad({before}, {w, x}), f = e.grad({after}, {w, x});
  CHECK(d[0].item() == Approx(2 * .5 * 14)); // sum of (x w)^2
  CHECK(elements(d[1]) == numbers{.5, 1, 1.5});
  CHECK(f[0].item() == Approx(3 * .25 * 36 + 2 * 6 * std::pow(.5, 5)));
  CHECK(elements(f[1]) == numbers{.375, 1.5, 3.375});
  CHECK(elements(e.grad({after}, {y}).front()) == numbers{.75, 3, 6.75, .1875, 147, 0, 147, .1875});
  CHECK(elements(e.grad({after}, {odd}).front()) == numbers{147, 147});
  e.backward(after);
  CHECK(w.grad().item() == f[0].item());
}

TEST_CASE("layers that grow a tensor in place have the gradients of concatenated ones", "[eager]") {
  eager e;
  auto x = e.parameter(numbers{.1, -.3, .2, .7, .5, -.9}, {2, 3});
  std::vector<variable<double>> w;
  for (int k = 0; k < 3; ++k) {
    numbers at;
    for (int i = 0; i < 3 + k; ++i) at.push_back(.3 * i - .2 * k - .1);
    w.push_back(e.parameter(at, {3 + k, 1}));
  }
  auto y = e.tensor<double>({2, 6});
  e.write(e.view(y, {.shape = {2, 3}}), x);
  variable<double> joined = x;
  for (int k = 0; k < 3; ++k) {
    auto const& wk = w[std::size_t(k)];
    e.write(e.view(y, {.offset = {0, 3 + k}, .shape = {2, 1}}),
            ct::tanh(ct::matmul(e.view(y, {.shape = {2, 3 + k}}), wk)));
    joined = ct::concatenate<1>(joined, ct::tanh(ct::matmul(joined, wk)));
  }
  auto const a = ct::sum(ct::square(y)), b = ct::sum(ct::square(joined));
  CHECK(a.item() == Approx(b.item()));
  std::vector<any_variable> wrt{x, w[0], w[1], w[2]};
  auto const compare = [&](any_variable const& f, any_variable const& g) {
    auto const df = e.grad({f}, wrt), dg = e.grad({g}, wrt);
    for (std::size_t k = 0; k < wrt.size(); ++k) {
      numbers const u = elements(df[k].as<double>()), v = elements(dg[k].as<double>());
      REQUIRE(u.size() == v.size());
      for (std::size_t i = 0; i < u.size(); ++i) CHECK(u[i] == Approx(v[i]).margin(1e-14));
    }
  };
  compare(a, b);
  auto const squared = [&](variable<double> const& f) { // gradients of gradients
    auto const d = e.grad({f}, {w[0]}, {}, {.record = true}).front();
    return ct::sum(ct::square(d));
  };
  auto const da = squared(a), db = squared(b);
  compare(da, db);
}

TEST_CASE("writes to tensors that must not be written are refused, and the tensors stay unchanged",
          "[eager]") {
  eager e;
  {
    auto x = e.parameter(numbers{1, 2, 3, 4});
    auto y = e.tensor<double>({4}, "y");
    auto const refused = [&](auto const& act, char const* words) {
      try {
        act();
        FAIL("was not refused");
      } catch (ct::error const& what) {
        std::string const said = what.what();
        CAPTURE(said);
        CHECK(said.find(words) != std::string::npos);
        CHECK(said.find("eager.cpp") != std::string::npos);
      }
    };
    char const *const place = "must be a tensor of e.tensor, or a view of one", *const twice =
                                                                                    "written at most once";
    refused([&] { e.write(x, 1.0); }, place);
    refused([&] { e.write(e.view(x, {.shape = {2}}), 1.0); }, place);
    refused([&] { e.write(x * 2.0, 1.0); }, place);
    refused([&] { e.write(e.view(y, {.shape = {3}}), x); }, "in write");
    refused([&] { e.write(e.view(y, {.shape = {2, 2}, .stride = {1, 1}}), 1.0); }, twice); // itself
    CHECK(elements(y) == numbers{0, 0, 0, 0});
    e.write(e.view(y, {.offset = {1}, .shape = {2}}), e.view(x, {.shape = {2}}));
    auto const live = e.live();
    refused([&] { e.write(e.view(y, {.shape = {4}}), x); }, twice);
    refused([&] { e.write(y, x); }, "y");
    refused([&] { y.set(numbers{1, 2, 3, 4}); }, "written");
    CHECK(elements(y) == numbers{0, 1, 2, 0});
    CHECK(e.live() == live);
    e.write(e.view(y, {.shape = {2}, .stride = {3}}), e.view(y, {.offset = {1}, .shape = {2}})); // of itself
    CHECK(elements(y) == numbers{1, 1, 2, 2});
    CHECK(elements(e.grad({ct::sum(y * y)}, {x}).front()) == numbers{4, 8, 0, 0});
    auto whole = e.tensor<double>({2});
    auto const still = whole; // another name
    e.write(whole, e.view(x, {.offset = {2}, .shape = {2}}));
    CHECK(elements(still) == numbers{3, 4});
    CHECK(elements(e.grad({ct::sum(still * 2.0)}, {x}).front()) == numbers{0, 0, 2, 2});
    auto counts = e.tensor<std::int64_t>({3});
    e.write(e.view(counts, {.offset = {1}, .shape = {2}}), std::int64_t{5});
    CHECK(counts.value().data()[0] == 0);
    CHECK(counts.value().data()[2] == 5);
    {
      eager::no_grad const quiet(e);
      auto silent = e.tensor<double>({4});
      e.write(silent, x);
      CHECK_FALSE(silent.tracked());
    }
  }
  CHECK(e.live() == decltype(e.live()){});
}

// ---- gradients

TEST_CASE("gradients are added, replaced, or not stored", "[eager]") {
  eager e;
  auto x = e.parameter(1.0), last = e.parameter(1.0), none = e.parameter(1.0);
  last.retain_grad(ct::dynamic::gradients::last);
  none.retain_grad(ct::dynamic::gradients::none);
  auto y = x + last + none + 1.0;
  e.backward(y);
  e.backward(y);
  CHECK(x.grad().item() == 2);
  CHECK(last.grad().item() == 1);
  CHECK(!none.has_grad());
  // released values are visited once
  auto z = ct::exp(x) * x;
  e.backward(z, {}, {.release = true});
  CHECK(e.live().operations == 3);
  CHECK_THROWS_AS(e.backward(z), ct::graph_error);
  auto later = z * 2.0;
  CHECK_THROWS_AS(e.backward(later), ct::graph_error);
  CHECK_THROWS_AS(e.grad({later}, {x}), ct::graph_error);
  CHECK(e.grad({later}, {z}).front().item() == 2);
}

TEST_CASE("a detached copy has no history", "[eager]") {
  eager e;
  auto x = e.parameter(1.0), y = e.parameter(2.0);
  auto x2 = (x + 2.0).detach();
  auto y2 = x2 + y;
  e.backward(y2);
  CHECK(!x.has_grad());
  CHECK(y.grad().item() == 1);
  auto a = e.parameter(3.0), b = e.parameter(4.0);
  auto const d = e.grad({ct::stop_gradient(3.0 * b) + a}, {a, b});
  CHECK(d[0].item() == 1);
  CHECK(d[1].item() == 0);
  auto u = x * x, v = u.detach();
  CHECK(e.grad({u * u}, {v}).front().item() == 0);
}

TEST_CASE("gradients of intermediate values are kept on request", "[eager]") {
  eager e;
  numbers const vx{1, 2, 3, 4}, vy{5, 6, 7, 8};
  auto x = e.parameter(vx), y = e.parameter(vy);
  auto u = x * y;
  u.retain_grad();
  auto z = u * x;
  z.retain_grad();
  e.backward(z, e.constant(numbers(4, 10.0)));
  for (int i = 0; i < 4; ++i) {
    double const a = vx[static_cast<std::size_t>(i)], b = vy[static_cast<std::size_t>(i)];
    CHECK(u.grad().value()(i) == Approx(10 * a));
    CHECK(z.grad().value()(i) == 10);
    CHECK(x.grad().value()(i) == Approx(20 * a * b));
    CHECK(y.grad().value()(i) == Approx(10 * a * a));
  }
  u.retain_grad(ct::dynamic::gradients::none);
  z.retain_grad(ct::dynamic::gradients::none);
  for (auto* v : {&u, &x, &y, &z}) v->clear_grad();
  e.backward(z, e.constant(numbers(4, 0.1)));
  CHECK(!u.has_grad());
  CHECK(x.grad().value()(2) == Approx(0.2 * 3 * 7));
}

TEST_CASE("values that no adjoint reads are freed with their last name", "[eager]") {
  eager e;
  auto x = e.parameter(numbers{1, 2, 3});
  auto const f = [&] {
    auto x2 = x * 2.0;
    auto y = e.constant(numbers(15, 1.0), {5, 3});
    return x2 + y;
  };
  auto z = f();
  CHECK(e.live().tensors == 3); // x, z, and the 2
  auto const d =
      e.grad({z}, {x}, {e.constant(numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {5, 3})});
  CHECK(elements(d.front()) == numbers{70, 80, 90});

  auto a = e.parameter(numbers{1, -1});
  auto const before = e.live();
  auto r = ct::relu(a * 2.0);
  CHECK(e.live().tensors == before.tensors + 2); // the result, and the 2
  CHECK(elements(e.grad({ct::sum(r)}, {a}).front()) == numbers{2, 0});
}

TEST_CASE("an assigned variable refers to a new tensor", "[eager]") {
  eager e;
  auto x = e.parameter(3.0);
  auto y = x * x, z = y * y;
  CHECK(e.grad({z}, {y}).front().item() == 18);
  CHECK(e.grad({z}, {x}).front().item() == 108);
  y *= y;
  CHECK(e.grad({y}, {x}).front().item() == 108);
  auto w = e.parameter(1.0);
  e.backward(z);
  CHECK(!w.has_grad()); // no zero, no error
  CHECK(x.grad().item() == 108);
}

TEST_CASE("gradients have gradients", "[eager]") {
  eager e;
  for (double const at : {0.3, 2.0}) {
    auto x = e.parameter(at);
    auto d = ct::cos(x);
    double const wanted[]{-std::sin(at), -std::cos(at), std::sin(at), std::cos(at)};
    for (double const w : wanted) {
      d = e.grad({d}, {x}, {}, {.record = true}).front();
      CHECK(d.item() == Approx(w));
    }
  }
  auto x = e.parameter(1.0);
  auto const first = e.grad({ct::exp(x) + x}, {x}, {}, {.record = true}).front();
  CHECK(first.item() == Approx(3.71828182845905));
  CHECK(e.grad({first}, {x}).front().item() == Approx(2.71828182845905));
  // forward mode by two walks back: cos at 0.7 along 2
  auto a = e.parameter(0.7), w = e.parameter(0.0);
  auto const dx = e.grad({ct::cos(a)}, {a}, {w}, {.record = true}).front();
  CHECK(e.grad({dx}, {w}, {e.constant(2.0)}).front().item() == Approx(-2 * std::sin(0.7)));
  // a penalty on a gradient, kept by backward
  auto p = e.parameter(numbers{0.5, -1.5});
  auto const slope = e.grad({ct::sum(p * p * p)}, {p}, {}, {.record = true}).front();
  e.backward(ct::sum(slope * slope)); // sum of 9 p^4
  CHECK(elements(p.grad())[0] == Approx(36 * 0.125));
  CHECK(elements(p.grad())[1] == Approx(36 * -3.375));
}

// ---- elements that are evicted and recomputed

/// Layers of a network of tanh, then the gradients of its loss in all of its weights, and in the input.
struct deep {
  eager e;
  std::vector<variable<double>> w, h;

  deep(int layers, std::ptrdiff_t n, std::int64_t limit) {
    if (limit != 0) e.set_memory_limit(limit, 64);
    numbers all(static_cast<std::size_t>(n * n));
    for (int k = 0; k < layers; ++k) {
      for (std::size_t j = 0; j < all.size(); ++j)
        all[j] = 0.3 * std::sin(static_cast<double>(j) * 1.7 + k) / std::sqrt(static_cast<double>(n));
      w.push_back(e.parameter(all, {n, n}));
    }
    h.push_back(e.parameter(all, {n, n}));
    for (auto const& each : w) h.push_back(ct::tanh(ct::matmul(h.back(), each)) + 0.5 * h.back());
  }
  std::vector<numbers> gradients() {
    e.backward(ct::sum(h.back() * h.back()));
    std::vector<numbers> all{elements(h.front().grad())};
    for (auto const& each : w) all.push_back(elements(each.grad()));
    return all;
  }
};

TEST_CASE("within a memory limit values are evicted and recomputed with the same bits", "[eager]") {
  deep all(24, 16, 0);
  std::int64_t const bytes = all.e.live().bytes;
  auto const expected = all.gradients();
  CHECK(all.e.recompute_count() == 0);
  std::int64_t again = 0;
  for (int const part : {2, 3, 4}) {
    // the weights and their gradients are there in any case
    std::int64_t const own = 25 * 16 * 16 * 8, limit = own + (bytes - own) / part + own;
    std::int64_t most = 0; // that were there at a time
    deep less(24, 16, limit);
    less.e.on_free([&](std::int64_t freed) { most = std::max(most, less.e.live().bytes + freed); });
    less.h.erase(less.h.begin() + 1, less.h.end() - 1);
    CHECK(less.e.live().bytes <= limit);
    CHECK(less.gradients() == expected);
    CHECK(less.e.live().bytes <= limit);
    CHECK(most <= limit);
    CHECK(less.e.recompute_count() > again); // the less memory, the more work
    again = less.e.recompute_count();
    CAPTURE(part);
    CHECK(again < 24 * 24 * 4);
  }
  // a limit that cannot be kept costs at most the way from the beginning for each step
  deep least(24, 16, 1);
  CHECK(least.gradients() == expected);
  CHECK(least.e.recompute_count() < 2 * 24 * 24 * 4);
  // names alone do not keep elements; values that are asked for come back
  deep named(24, 16, 60000);
  CHECK(named.e.live().bytes <= 60000);
  for (std::size_t k = 0; k < named.h.size(); ++k) CHECK(elements(named.h[k]) == elements(all.h[k]));
}

TEST_CASE("values are evicted by hand, and recomputed unless they were exposed", "[eager]") {
  eager e;
  e.set_memory_limit(1 << 20, 0);
  auto x = e.parameter(numbers{1, 2, 3});
  auto y = ct::exp(x), z = ct::sin(y);
  auto const before = e.live();
  CHECK_FALSE(e.evict(x)); // no operation computes a parameter
  CHECK(e.evict(y));
  CHECK_FALSE(e.evict(y)); // it is gone
  CHECK(e.evict(z));
  CHECK(e.live().bytes == before.bytes - 48);
  CHECK(e.live().tensors == before.tensors - 2);
  CHECK(e.live().operations == before.operations);
  CHECK(elements(z) == elements(ct::sin(ct::exp(x))));
  CHECK(e.recompute_count() == 2); // y on the way to z
  CHECK_FALSE(e.evict(z));       // its elements were shown
  // new elements of the parameter are not those that y was computed from
  numbers const of_y = elements(ct::exp(x));
  CHECK(e.evict(y));
  x.set(numbers{5, 6, 7});
  CHECK(elements(y) == of_y);
}

TEST_CASE("evicted values have gradients and second gradients", "[eager]") {
  auto const run = [](std::int64_t limit) {
    eager e;
    if (limit != 0) e.set_memory_limit(limit, 0);
    auto x = e.parameter(numbers{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8});
    auto y = x;
    for (int k = 0; k < 12; ++k) y = ct::sin(y * x) + ct::exp(-y);
    auto first = e.grad({ct::sum(y)}, {x}, {}, {.record = true}).front();
    auto second = e.grad({ct::sum(first * first)}, {x}).front();
    numbers all = elements(first);
    for (double const d : elements(second)) all.push_back(d);
    return std::pair(all, e.recompute_count());
  };
  auto const all = run(0), less = run(1500);
  CHECK(less.first == all.first);
  CHECK(all.second == 0);
  CHECK(less.second > 0);
}

TEST_CASE("a long chain within a limit is evicted, recomputed and freed without deep recursion", "[eager]") {
  eager e;
  e.set_memory_limit(64 * 1000, 0);
  auto x = e.parameter(numbers{1.0, 1.0 / 3});
  auto y = x;
  for (int k = 0; k < 30000; ++k) y = y * 0.9999;
  CHECK(e.evict(y));
  double expected = 1.0 / 3;
  for (int k = 0; k < 30000; ++k) expected *= 0.9999;
  CHECK(elements(y)[1] == expected);
  // nothing of a sum's operands is kept, so all that is needed is the chain of records
  auto const d = e.grad({ct::sum(y)}, {x}).front();
  CHECK(elements(d)[0] == Approx(std::pow(0.9999, 30000)));
  y = x;
  CHECK(e.live().operations == 0);
  CHECK(e.live().bytes == 32);
}

TEST_CASE("a tensor written in pieces, and operations of several results, are recomputed within a limit",
          "[eager]") {
  auto const run = [](std::int64_t limit) {
    eager e;
    if (limit != 0) e.set_memory_limit(limit, 0);
    auto x = e.parameter(numbers{0.5, 1.5, 2.5, 3.5});
    auto whole = e.tensor<double>({8}, "whole");
    e.write(e.view(whole, {.offset = {0}, .shape = {4}}), ct::exp(x));
    auto seen = ct::tanh(whole * 0.1); // before the other piece is there
    e.write(e.view(whole, {.offset = {4}, .shape = {4}}), ct::sin(x));
    auto later = ct::tanh(whole * 0.1);
    if (limit > 1000) {
      CHECK(e.evict(seen));
      CHECK(e.evict(later));
    }
    e.backward(ct::sum(seen * later));
    numbers all = elements(x.grad());
    for (auto const& v : {seen, later})
      for (double const d : elements(v)) all.push_back(d);
    return all;
  };
  CHECK(run(1 << 20) == run(0));
  CHECK(run(100) == run(0));
}

} // namespace
