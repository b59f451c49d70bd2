// SPDX-License-Identifier: BSL-1.0
// Plays recipes that tools/fuzz draws: builds each as a graph at run time, runs it in every way that the library offers,
// compares these with each other, and prints the numbers for the oracle. One recipe after another comes by standard input.
#include "player.hpp"

#include <cotangent/archive.hpp>
#include <cotangent/eager.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace {

using namespace player;
namespace dynamic = ct::dynamic;

template <class T> using numbers = std::vector<T>;

template <class T> bool same_bits(numbers<T> const& a, numbers<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
template <class T> bool near(numbers<T> const& a, numbers<T> const& b) {
  bool good = a.size() == b.size();
  double const tolerance = sizeof(T) == 4 ? 2e-3 : 1e-8;
  for (std::size_t k = 0; good && k < a.size(); ++k)
    good = std::abs(double(a[k]) - double(b[k])) <= tolerance * (1 + std::abs(double(b[k]))) || (a[k] != a[k] && b[k] != b[k]);
  return good;
}
template <class T> void print(char const* name, numbers<T> const& v) {
  std::printf("%s", name);
  for (T const x : v) std::printf(" %.17g", double(x));
  std::printf("\n");
}

/// A case as a graph: outputs, their loss, gradients of that, gradients of a product with these.
template <class T> struct built {
  using real = dynamic::expr<T>;
  static constexpr bool takes_nothing = false;
  dynamic::graph g;
  builder_of<dynamic::expr, T, built> made;
  std::vector<dynamic::any_expr> outputs, wrt, slopes, curves;
  std::set<ct::extend::symbol> symbols; // of the outputs
  real loss;

  built(recipe const& r, dynamic::gradient_options const& how = {}) : made(r, *this) {
    made.run(r.body);
    for (auto const& name : r.outputs) outputs.push_back(made.template get<real>(name));
    for (auto const& y : outputs) symbols.insert(y.id());
    for (auto const& name : r.wrt) wrt.push_back(made.template get<real>(name));
    loss = made.loss(r.outputs);
    if (wrt.empty()) return;
    slopes = g.gradient({loss}, wrt, {}, how);
    real product = loss * T(0);
    for (std::size_t k = 0; k < wrt.size(); ++k) {
      auto const& along = r.along.at(r.wrt[k]);
      auto const d = slopes[k].template as<T>();
      product = product + ct::sum(d * g.constant(numbers<T>(along.begin(), along.end()), dynamic::sizes(d.shape())));
    }
    curves = g.gradient({product}, wrt, {}, how);
  }

  // what `builder_of` asks for
  template <class E> dynamic::expr<E> input(std::string const& name, dynamic::sizes const& s, std::vector<E> const&) {
    return g.input<E>(name, s);
  }
  real view(real const& x, dynamic::window const& w) { return g.view(x, w); }
  real tensor(std::string const& name, dynamic::sizes const& s) { return g.tensor<T>(name, s); }
  real write(real const& to, real const& value) { return g.write(to, value); }
  std::vector<real> gradient(real const& y, std::vector<real> const& x) {
    return g.gradient({y}, x);
  }

  std::vector<dynamic::any_expr> all() const {
    std::vector<dynamic::any_expr> e = outputs;
    e.push_back(loss);
    e.insert(e.end(), slopes.begin(), slopes.end());
    e.insert(e.end(), curves.begin(), curves.end());
    return e;
  }
  template <class Program> void bind(Program& p, recipe const& r) {
    for (auto const& in : r.inputs) {
      if (in.integer) p.bind(made.template get<dynamic::expr<std::int64_t>>(in.name), in.template elements<std::int64_t>());
      else p.bind(made.template get<real>(in.name), in.template elements<T>());
    }
  }
};

template <class T, class Values> numbers<T> copied(Values const& v) { return {v.data(), v.data() + v.size()}; }

template <class T, class Program> std::vector<numbers<T>> results(Program& p, std::vector<dynamic::any_expr> const& e) {
  std::vector<numbers<T>> all;
  for (auto const& one : e) all.push_back(copied<T>(p.value(one.template as<T>())));
  return all;
}

template <class E> void copy_into(dynamic::program& p, dynamic::expr<E> const& x, input const& in) {
  std::size_t k = 0;
  for (E& e : p.memory(x)) e = static_cast<E>(in.at[k++]);
}

/// A case in eager mode.
template <class T> struct recorded {
  using real = dynamic::variable<T>;
  static constexpr bool takes_nothing = false;
  dynamic::eager e;

  template <class E> dynamic::variable<E> input(std::string const& name, std::vector<std::int64_t> const& s, std::vector<E> const& at) {
    if constexpr (std::is_same_v<E, T>) return e.parameter(at, dynamic::sizes(s), name);
    else return e.constant(at, dynamic::sizes(s));
  }
  dynamic::variable<std::int64_t> number(std::int64_t k) { return e.constant(k); }
  real view(real const& x, dynamic::window const& w) { return e.view(x, w); }
  real tensor(std::string const& name, dynamic::sizes const& s) { return e.template tensor<T>(s, name); }
  real write(real const& to, real const& value) { return e.write(to, value), to; }
  std::vector<real> gradient(real const& y, std::vector<real> const& x) {
    std::vector<dynamic::any_variable> wrt(x.begin(), x.end());
    std::vector<real> all;
    for (auto const& d : e.grad({y}, wrt, {}, {.record = true})) {
      all.emplace_back();
      static_cast<dynamic::any_variable&>(all.back()) = d;
    }
    return all;
  }
};
template <class T> std::vector<numbers<T>> eagerly(recipe const& r) {
  using real = dynamic::variable<T>;
  recorded<T> host;
  builder_of<dynamic::variable, T, recorded<T>> made(r, host);
  made.run(r.body);
  std::vector<numbers<T>> all;
  auto const keep = [&](real const& y) {
    auto const v = y.value();
    all.push_back({v.data(), v.data() + v.size()});
  };
  std::vector<real> wrt;
  for (auto const& name : r.outputs) keep(made.template get<real>(name));
  for (auto const& name : r.wrt) wrt.push_back(made.template get<real>(name));
  real const loss = made.loss(r.outputs);
  keep(loss);
  if (wrt.empty()) return all;
  auto const slopes = host.gradient(loss, wrt);
  real product = loss * T(0);
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    auto const& along = r.along.at(r.wrt[k]);
    product = product + ct::sum(slopes[k] * host.e.constant(numbers<T>(along.begin(), along.end()), dynamic::sizes(wrt[k].shape())));
  }
  for (auto const& d : slopes) keep(d);
  for (auto const& d : host.gradient(product, wrt)) keep(d);
  return all;
}

/// Ways of execution against the first one.
template <class T> struct ways {
  recipe const& r;
  std::vector<std::string> labels;
  std::vector<numbers<T>> first;

  std::string label(std::size_t k) const { return k < labels.size() ? labels[k] : std::to_string(k); }
  void compare(std::string const& name, bool bits, std::vector<numbers<T>> const& got, std::vector<numbers<T>> const& want) const {
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (bits ? same_bits(got[k], want[k]) : near(got[k], want[k])) continue;
      std::printf("differs %s %s\n", name.c_str(), label(k).c_str());
      print("  there", want[k]);
      print("  here", got[k]);
    }
  }
  /// `run` gives the same results as the first way, or nothing.
  template <class Run> void operator()(std::string const& name, bool bits, Run const& run) const {
    if (!r.only.empty() && r.only.count(name) == 0) return;
    std::printf("way %s\n", name.c_str());
    std::fflush(stdout);
    try {
      compare(name, bits, run(), first);
    } catch (std::exception const& e) {
      std::printf("throws %s %s\n", name.c_str(), e.what());
    }
  }
};

std::set<std::string> operations_seen;

template <class T> void play(recipe const& r) {
  built<T> b(r);
  auto const all = b.all();
  ways<T> way{r, {}, {}};
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::size_t const y = b.outputs.size(), x = b.slopes.size();
    way.labels.push_back(k < y        ? "output " + std::to_string(k)
                         : k == y     ? "loss 0"
                         : k <= y + x ? "slope " + std::to_string(k - y - 1)
                                      : "curve " + std::to_string(k - y - x - 1));
  }
  for (auto const& n : b.g.get().nodes) operations_seen.insert(n.op->name);
  std::printf("way compile\n");
  std::fflush(stdout);
  auto p = b.g.compile(all);
  b.bind(p, r);
  p.run();
  way.first = results<T>(p, all);
  for (std::size_t k = 0; k < all.size(); ++k) print(("value " + way.labels[k]).c_str(), way.first[k]);

  auto const compiled = [&](built<T>& c, dynamic::compile_options const& how) {
    auto q = c.g.compile(c.all(), {}, how);
    c.bind(q, r);
    q.run();
    return results<T>(q, c.all());
  };
  constexpr bool bits = !ct::math::is_fast; // -ffast-math: compilers reassociate, otherwise in other loops
  way("again", true, [&] { return p.run(), results<T>(p, all); });
  way("exact", false, [&] { return compiled(b, {.exact = true}); });
  way("mirror", bits, [&] { return compiled(b, {.mirror = &ct::is_cheap}); });
  way("own_memory", true, [&] {
    auto q = b.g.compile(all, {}, {.own_memory = true});
    for (auto const& in : r.inputs) {
      if (in.integer) copy_into(q, b.made.template get<dynamic::expr<std::int64_t>>(in.name), in);
      else copy_into(q, b.made.template get<dynamic::expr<T>>(in.name), in);
    }
    q.run();
    return results<T>(q, all);
  });
  way("memory_budget", bits, [&]() -> std::vector<numbers<T>> {
    for (int part = 4; part < 8; ++part) {
      try {
        return compiled(b, {.memory_budget = p.workspace_bytes() * part / 8 + 1});
      } catch (ct::graph_error const& e) {
        if (std::string(e.what()).find("memory_budget") == std::string::npos) throw;
      }
    }
    return {};
  });
  way("moved", true, [&] { // expressions belong to the graph that made them, also after it was moved
    dynamic::graph other = std::move(b.g);
    b.g = std::move(other);
    return compiled(b, {});
  });
  way("outputs", false, [&] {
    auto q = b.g.compile(b.outputs);
    b.bind(q, r);
    q.run();
    return results<T>(q, b.outputs);
  });
  for (std::int64_t const limit : {1, 64, 400})
    way("tape_limit_" + std::to_string(limit), bits, [&] {
      built<T> c(r, {.tape = {.limit = limit}});
      return compiled(c, {});
    });
  way("sum", false, [&] {
    built<T> c(r, {.sum = [](std::vector<dynamic::any_expr> const& parts) -> dynamic::any_expr {
                     auto s = parts.back().template as<T>();
                     for (std::size_t k = parts.size() - 1; k-- > 0;) s = parts[k].template as<T>() + s;
                     return s;
                   }});
    return compiled(c, {});
  });
  // (two outputs that are one value have one cotangent)
  for (int kind = 0; !b.wrt.empty() && b.symbols.size() == b.outputs.size() && kind < 4; ++kind) {
    std::string const name = "split_" + std::to_string(kind);
    way(name, true, [&]() -> std::vector<numbers<T>> {
      built<T> c(r);
      auto seeds = c.outputs, together = c.outputs;
      for (auto& s : seeds) s = c.g.template input<T>("", dynamic::sizes(s.template as<T>().shape()));
      for (auto const& d : c.g.gradient(c.outputs, c.wrt, seeds)) together.push_back(d);
      auto joint = c.g.compile(together);
      auto s = c.g.vjp(c.outputs, c.wrt,
                         {.gradient = {.tape = {.limit = kind == 3 ? 64 : 0}},
                          .saving = {.move = kind != 1, .recompute = kind != 1, .records = kind != 2}});
      c.bind(joint, r);
      c.bind(s, r);
      auto back = s.run();
      for (std::size_t k = 0; k < c.outputs.size(); ++k) {
        numbers<T> dy(static_cast<std::size_t>(c.outputs[k].template as<T>().size()));
        for (std::size_t j = 0; j < dy.size(); ++j) dy[j] = static_cast<T>(0.5 + 0.25 * double(j % 3) - double(k % 2));
        back.bind(c.outputs[k].template as<T>(), numbers<T>(dy)); // (temporaries are copied)
        joint.bind(seeds[k].template as<T>(), numbers<T>(dy));
      }
      joint.run();
      back.run();
      auto halves = results<T>(s, c.outputs);
      for (auto& v : results<T>(back, c.wrt)) halves.push_back(v);
      way.compare(name, true, halves, results<T>(joint, together));
      return {};
    });
  }
  way("archive", true, [&] {
    std::vector<ct::archive::named> listed;
    for (std::size_t k = 0; k < all.size(); ++k) listed.push_back({"result " + std::to_string(k), all[k]});
    auto file = ct::archive::load_bytes(ct::archive::bytes_of(b.g, {}, listed), ct::detail::all_operations{});
    std::vector<dynamic::any_expr> found;
    for (auto const& one : listed) found.push_back(file.find(one.name));
    auto q = file.graph.compile(found);
    for (auto const& in : r.inputs) {
      if (in.integer) q.bind(file.template find<std::int64_t>(in.name), in.template elements<std::int64_t>());
      else q.bind(file.template find<T>(in.name), in.template elements<T>());
    }
    q.run();
    return results<T>(q, found);
  });
  way("eager", false, [&] { return eagerly<T>(r); });
}

} // namespace

int main(int arguments, char**) {
  std::ios::sync_with_stdio(false);
  for (recipe r; parsed(std::cin, r);) {
    std::printf("case %s\n", r.name.c_str());
    try {
      if (r.real == "f32") play<float>(r);
      else play<double>(r);
    } catch (std::exception const& e) {
      std::printf("throws compile %s\n", e.what());
    }
    std::printf("done %s\n", r.name.c_str());
    std::fflush(stdout);
  }
  if (arguments < 2) return 0; // else the operations of the library that no graph had
  std::printf("unseen");
  for (auto const* const op : library())
    if (operations_seen.count(op->name) == 0) std::printf(" %s", op->name);
  std::printf("\n");
}
