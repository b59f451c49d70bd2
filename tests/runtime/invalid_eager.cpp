// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/random.hpp>

#include "../null_allocations.hpp"
#include "../words.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Calls of eager mode that are refused.

namespace {

namespace ct = cotangent;
namespace dynamic = cotangent::dynamic;
using I = std::int64_t;

TEST_CASE("checkpoint_sequence refuses negative numbers of blocks for variables") {
  auto const layer = [](auto state, auto one) { return state * one; };
  for (ct::sequence_options const o : {ct::sequence_options{.segments = -2}, ct::sequence_options{.slots = -2}})
    CHECK(refused("segments and slots must be at least 0, which leaves the number to the library; in checkpoint_sequence, at", [&] {
      dynamic::eager e;
      auto x = e.parameter(1.0);
      (void)ct::checkpoint_sequence(layer, o)(x, std::vector{x, x});
    }));
}

TEST_CASE("A function of variables refuses those of another recorder") {
  CHECK(refused("eager: a variable must hold a value", [] {
    dynamic::eager::variable<double> x;
    (void)ct::exp(x);
  }));
  CHECK(refused("eager: a variable must hold a value", [] {
    dynamic::eager::variable<double> x;
    (void)x.value();
  }));
  CHECK(refused("eager: a variable must hold a value", [] {
    dynamic::eager::variable<double> x;
    (void)x.shape();
  }));
  CHECK(refused("eager: the operands must be variables of one recorder", [] {
    dynamic::eager e, f;
    auto x = e.parameter(1.0), y = f.parameter(2.0);
    (void)(x * y);
  }));
  CHECK(refused("eager: the recorder of a variable must not have ended", [] {
    dynamic::eager::variable<double> x;
    {
      dynamic::eager e;
      x = e.parameter(1.0);
    }
    (void)(x * 2.0);
  }));
  CHECK(refused("the key of random numbers must be one number", [] {
    dynamic::eager e;
    (void)ct::random_split<3>(e.constant(std::vector<I>{1, 2, 3}));
  }));
  CHECK(refused("random_fold_in: the number must be at least 0", [] {
    dynamic::eager e;
    (void)ct::random_fold_in(e.constant(I(3)), -5);
  }));
  CHECK(refused("random_fold_in: the number must be at least 0; in random_fold_in, at", [] {
    dynamic::eager e;
    (void)ct::random_fold_in(e.constant(I(3)), e.constant(-5));
  }));
  CHECK(refused("random_fold_in: the number must be at least 0; in random_fold_in, at", [] {
    dynamic::eager e;
    (void)ct::random_fold_in(e.constant(I(3)), e.constant(std::vector<I>{1, 0, -1}));
  }));
  dynamic::eager::variable<double> kept;
  {
    dynamic::eager e;
    kept = e.parameter(1.0);
  }
  CHECK(kept.item() == 1);
  CHECK(refused("eager: the operands must be variables of one recorder", [] {
    dynamic::eager e, f;
    auto x = e.parameter(1.0);
    f.backward(x * x);
  }));
  CHECK(refused("eager: a variable must hold a value", [] {
    dynamic::eager e;
    auto x = e.parameter(.5);
    auto const y = std::move(x);
    (void)(x * 2.0);
  }));
}

TEST_CASE("Backward starts from tracked values only") {
  CHECK(refused("gradient: an output that is not a scalar must have a cotangent", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    e.backward(x * x);
  }));
  CHECK(refused("eager: a gradient must be requested for a tracked variable", [] {
    dynamic::eager e;
    auto x = e.constant(std::vector<double>{1});
    e.backward(ct::sum(x));
  }));
  CHECK(refused("eager: a backward must have reached a variable before it has a gradient", [] {
    dynamic::eager e;
    auto x = e.parameter(1.0);
    (void)x.grad();
  }));
  CHECK(refused("backward: a released record must not be visited again", [] {
    dynamic::eager e;
    auto x = e.parameter(1.0);
    auto y = ct::sin(x) * x;
    e.backward(y, {}, {.release = true});
    e.backward(y);
  }));
  CHECK(refused("gradient: a cotangent must have the shape of its output", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    auto y = x * x;
    e.backward(y, e.constant(std::vector<double>{1, 2, 3}));
  }));
}

TEST_CASE("Elements that do not exist are not set, written or read") {
  CHECK(refused("set: the variable must be a parameter or a constant", [] {
    dynamic::eager e;
    auto x = e.parameter(1.0);
    auto y = x * x;
    y.set(2.0);
  }));
  CHECK(refused("set: the new elements must have the shape of the old ones", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    x.set(std::vector<double>{1, 2, 3});
  }));
  CHECK(refused("dynamic: a value of shape [2] must not be used as one element", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    (void)x.item();
  }));
  CHECK(refused("dynamic: a value of shape [0] must not be used as one element", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{});
    (void)x.item();
  }));
  CHECK(refused("dynamic: a value of shape [2] must not be used as one element", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    if (x > 0.0) FAIL();
  }));
  CHECK(refused("write: the target must be a tensor of e.tensor, or a view of one", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    e.write(x, 1.0);
  }));
  CHECK(refused("write: an element must be written at most once", [] {
    dynamic::eager e;
    auto x = e.tensor<double>({2});
    e.write(x, 1.0);
    e.write(x, 1.0);
  }));
  CHECK(
      refused("view: every element of a view, its offset included, must be within the viewed tensor or view", [] {
        dynamic::eager e;
        auto x = e.parameter(std::vector<double>{1, 2});
        (void)e.view(x, {.offset = {1}, .shape = {2}});
      }));
  CHECK(refused("dynamic: a constant must have one element for each position of its shape", [] {
    dynamic::eager e;
    (void)e.constant(std::vector<double>{1, 2}, {3});
  }));
  CHECK(refused("dynamic: a size must be at least 0, and all together must fit 64 bits", [] {
    dynamic::eager e;
    (void)e.tensor<double>({I(1) << 62});
  }));
  CHECK(refused("run: an index is out of range", [] {
    dynamic::eager e;
    auto x = e.parameter(std::vector<double>{1, 2});
    auto i = e.constant(std::vector<I>{5});
    (void)ct::gather(x, i).value();
  }));
}

TEST_CASE("Eager mode: too little memory is a memory_error") {
  CHECK(refused<ct::memory_error>("memory: there must be enough memory for", [] {
    dynamic::eager e;
    auto x = e.tensor<double>({I(1) << 50});
    (void)x.value();
  }));
  CHECK(refused<ct::memory_error>("memory: there must be enough memory for", [] {
    dynamic::eager e;
    auto x = e.parameter(1.0);
    (void)ct::broadcast_to(x, {I(1) << 50});
  }));
}

TEST_CASE("A memory limit has at least 0 bytes") {
  dynamic::eager e;
  CHECK(refused<ct::shape_error>("bytes must be at least 0; a limit of 0 is no limit (-5); in set_memory_limit, at ",
                                 [&] { e.set_memory_limit(-5); }));
  CHECK(refused<ct::shape_error>("invalid_eager.cpp:", [&] { e.set_memory_limit(1 << 20, -1); }));
  e.set_memory_limit(0);
  auto const x = e.parameter(std::vector<double>(1000, .5));
  e.backward(ct::sum(ct::sin(x)));
  CHECK(x.grad().value()(3) == Approx(std::cos(.5)));
}

TEST_CASE("A chain of 200,000 operations is freed without recursion") {
  dynamic::eager e;
  auto const x = e.parameter(.5);
  auto y = x * 1.0;
  for (int i = 0; i < 200000; ++i) y = y + 1.0;
  e.backward(y);
  y = 0.0;
  CHECK(x.grad().item() == 1);
}

TEST_CASE("A trainer without parameters, or moved from, is refused") {
  ct::dynamic::eager e;
  auto const x = e.parameter(2.0);
  ct::dynamic::trainer from(ct::sgd{.learning_rate = .1}, {x});
  auto to = std::move(from);
  auto const y = x * x;
  CHECK(refused<ct::graph_error>("a trainer must have parameters", [&] { from.minimize(e, y); }));
  CHECK(refused<ct::graph_error>("a trainer must have parameters", [&] { from.apply_gradients(); }));
  to.minimize(e, y);
  CHECK(x.item() == 1.6);
}

TEST_CASE("A recorder that was moved from is refused") {
  dynamic::eager e;
  auto const x = e.parameter(1.0);
  auto f = std::move(e);
  CHECK(refused<ct::graph_error>("a recorder must not be used after it was moved from",
                                 [&] { (void)e.parameter(1.0); }));
  CHECK(refused<ct::graph_error>("a recorder must not be used after it was moved from",
                                 [&] { (void)e.live(); }));
  f.backward(x * 2.0);
  CHECK(x.grad().item() == 2);
}

TEST_CASE("Lists of variables may be vectors of any variables") {
  dynamic::eager e;
  std::vector<dynamic::variable<double>> const x{e.parameter(2.0), e.parameter(3.0)};
  auto const y = x[0] * x[1];
  auto const d = e.grad({y}, x);
  CHECK(d[0].item() == 3);
  CHECK(d[1].item() == 2);
  CHECK(e.depends_on(y, x) == std::vector<bool>{true, true});
}

} // namespace
