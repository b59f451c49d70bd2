// SPDX-License-Identifier: BSL-1.0
// Sequences of calls of graphs at run time with arguments that may be anything. What is wrong must be refused by an exception
// of the library, and must leave the graph as it was: at the end the outputs are computed, for the oracle.
#include "player.hpp"

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include <cstdio>
#include <iostream>
#include <new>

namespace {

using namespace player;
namespace dynamic = ct::dynamic;

class tried {
  using real = dynamic::expr<double>;
  using builder = builder_of<dynamic::expr, double, tried>;
  using item = builder::item;
  using answer = std::optional<std::vector<item>>;

public:
  static constexpr bool takes_nothing = true; // a name of what was refused is an expression without a graph
  dynamic::graph g, other;
  recipe const& r;

  explicit tried(recipe const& of) : r(of) {}

  template <class E> dynamic::expr<E> input(std::string const& name, dynamic::sizes const& s, std::vector<E> const&) {
    return g.input<E>(name, s);
  }
  real view(real const& x, dynamic::window const& w) { return g.view(x, w); }
  real tensor(std::string const& name, dynamic::sizes const& s) { return g.tensor<double>(name, s); }
  real write(real const& to, real const& value) { return g.write(to, value); }
  std::vector<real> gradient(real const& y, std::vector<real> const& x) {
    return g.gradient({y}, x);
  }

  answer special(builder& m, statement const& s) {
    auto const any = [&](std::size_t k) { return any_of(m, s.of.at(k)); };
    if (s.op == "foreign") return {{other.input<double>("f", s.integers("shape"))}};
    if (s.op == "declare") return {{g.input<double>("d", s.integers("shape"))}};
    if (s.op == "detached") return {{real{}}};
    if (s.op == "number") return {{real(s.number("by"))}};
    if (s.op == "full") return {{g.full(s.integers("shape"), s.number("by"))}};
    if (s.op == "constant") return {{g.constant(std::vector<double>(static_cast<std::size_t>(s.integer("count")), .5), s.integers("shape"))}};
    if (s.op == "element") return {{any(0).as<double>()}};
    if (s.op == "gradient_of") return {{g.gradient_of(m.get<real>(s.of[0]))}};
    if (s.op == "extent") {
      (void)m.get<real>(s.of[0]).extent(s.small("axis"));
      return {std::vector<item>{real(0.)}};
    }
    if (s.op == "derive") {
      std::vector<dynamic::any_expr> y{any(0)}, wrt, seeds;
      for (auto const& x : listed(s.word("wrt"))) wrt.push_back(any_of(m, x));
      for (auto const& x : listed(s.word("seeds"))) seeds.push_back(any_of(m, x));
      auto const all = g.gradient(y, wrt, seeds, {s.small("strict") != 0 ? ct::unreachable::error : ct::unreachable::zeros,
                                                  {.limit = s.integer("limit")}, {}});
      return {std::vector<item>(s.to.size(), item(all.at(0).as<double>()))};
    }
    if (s.op == "compile" || s.op == "vjp_program") return compiled(m, s), answer(std::vector<item>(s.to.size(), real(0.)));
    if (s.op == "save") return saved(m, s), answer(std::vector<item>(s.to.size(), real(0.)));
    if (s.op == "exec") return executed(m, s);
    if (s.op == "free") {
      auto const symbols = g.symbolic();
      symbols.free(symbols.symbol_of(any(0)));
      return {std::vector<item>{real(0.)}};
    }
    if (s.op == "program") return unmade(s.small("kind")), answer(std::vector<item>(s.to.size(), real(0.)));
    return {};
  }

private:
  static dynamic::any_expr any_of(builder const& m, std::string const& name) {
    auto const at = m.known().find(name);
    if (at == m.known().end()) return {};
    return std::visit([](auto const& x) { return dynamic::any_expr(x); }, at->second);
  }
  /// Memory of as many elements as an expression has, and `more`.
  template <class T> static std::vector<T> memory(dynamic::expr<T> const& x, std::int64_t more) {
    std::int64_t const n = x.size() + more;
    return std::vector<T>(static_cast<std::size_t>(n < 0 ? 0 : n < 4096 ? n : 4096));
  }
  template <class P> void bind(P& p, builder const& m, std::string const& name, std::int64_t more) {
    auto const at = m.known().find(name);
    if (at == m.known().end()) return p.bind(real{}, std::vector<double>(2));
    std::visit([&]<class T>(dynamic::expr<T> const& x) {
      if constexpr (!std::is_same_v<T, bool>) p.bind(x, memory(x, more));
    }, at->second);
  }
  void compiled(builder& m, statement const& s) {
    std::vector<dynamic::any_expr> y, wrt;
    for (auto const& name : s.of) y.push_back(any_of(m, name));
    for (auto const& name : listed(s.word("wrt"))) wrt.push_back(any_of(m, name));
    auto const bound = [&](auto& p) {
      for (auto const& name : listed(s.word("bind"))) bind(p, m, name, s.integer("more"));
    };
    auto const read = [&](auto& p) {
      double sum = 0;
      for (auto const& name : listed(s.word("read")))
        for (double const x : p.value(m.get<real>(name))) sum += x;
      if (sum == 1234.5) std::printf("sum\n"); // so that every element is read
    };
    if (s.op == "vjp_program") {
      auto p = g.vjp(y, wrt);
      bound(p);
      auto back = p.run();
      read(p);
      for (auto const& name : s.of) back.bind(m.get<real>(name), memory(m.get<real>(name), s.integer("more")));
      back.run();
      for (auto const& name : listed(s.word("wrt"))) (void)back.value(m.get<real>(name));
    } else {
      auto p = g.compile(y, {}, {.exact = s.small("exact") != 0, .own_memory = s.small("own") != 0,
                                 .memory_budget = s.integer("memory_budget")});
      bound(p);
      auto q = std::move(p);
      q.run();
      read(q);
      if (s.small("own") != 0)
        for (auto const& name : listed(s.word("read"))) (void)q.memory(m.get<real>(name));
      if (s.small("moved") != 0) p.run(); // NOLINT: what was moved from
    }
  }
  void saved(builder& m, statement const& s) {
    std::vector<ct::archive::named> named;
    for (auto const& name : s.of) named.push_back({name, any_of(m, name)});
    std::string bytes = ct::archive::bytes_of(g, {}, named);
    std::size_t const at = bytes.empty() ? 0 : static_cast<std::size_t>(s.integer("at")) % bytes.size();
    if (s.small("cut") != 0) bytes.resize(at);
    else bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(s.small("flip")));
    (void)ct::archive::load_bytes(bytes, ct::detail::all_operations{});
  }
  /// Any operation of the library on anything.
  answer executed(builder& m, statement const& s) {
    auto const symbols = g.symbolic();
    std::vector<dynamic::symbolic_tensor> from, to;
    for (auto const& name : s.of) from.push_back(symbols.symbol_of(any_of(m, name)));
    to.push_back(symbols.tensor<double>(s.integers("shape")));
    auto const* const op = library()[static_cast<std::size_t>(s.integer("operation")) % library().size()];
    symbols.exec(dynamic::command::of(op, s.integers("numbers")), from, to);
    return {{symbols.expression<double>(to[0])}};
  }
  void unmade(int kind) {
    if (kind == 0) dynamic::graph().compile(std::vector<dynamic::any_expr>{}).run();
    if (kind == 1) {
      dynamic::graph h;
      dynamic::graph const taken = std::move(h);
      (void)h.input<double>("x"); // NOLINT: what was moved from
    }
    if (kind == 2) {
      dynamic::program p = g.compile(std::vector<dynamic::any_expr>{});
      dynamic::program const taken = std::move(p);
      p.run(); // NOLINT
    }
    if (kind == 3) (void)g.symbolic().graph(999).symbol_of(real{});
  }
};

void try_calls(recipe const& r) {
  tried host(r);
  builder_of<dynamic::expr, double, tried> made(r, host);
  int place = 0;
  for (statement const& s : r.body.statements) {
    ++place;
    std::printf("way statement_%d_%s\n", place, s.op.c_str());
    std::fflush(stdout);
    try {
      made.run(s);
      if (s.has.count("wrong") != 0 && s.word("wrong") == "1") std::printf("taken %d\n", place);
    } catch (ct::error const& e) {
      if (s.has.count("wrong") == 0) std::printf("throws statement_%d_%s %s\n", place, s.op.c_str(), e.what());
    } catch (std::bad_alloc const&) { // documented for what does not fit into memory
      if (s.has.count("wrong") == 0) std::printf("throws statement_%d_%s bad_alloc\n", place, s.op.c_str());
    } catch (std::exception const& e) {
      std::printf("throws statement_%d_%s std::exception %s\n", place, s.op.c_str(), e.what());
    }
  }
  std::printf("way compile\n");
  std::fflush(stdout);
  std::vector<dynamic::any_expr> outputs;
  for (auto const& name : r.outputs) outputs.push_back(made.get<dynamic::expr<double>>(name));
  auto p = host.g.compile(outputs);
  for (auto const& in : r.inputs) {
    if (in.integer) p.bind(made.get<dynamic::expr<std::int64_t>>(in.name), in.elements<std::int64_t>());
    else p.bind(made.get<dynamic::expr<double>>(in.name), in.elements<double>());
  }
  p.run();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::printf("value output %zu", k);
    auto const v = p.value(outputs[k].as<double>());
    for (std::int64_t j = 0; j < v.size(); ++j) std::printf(" %.17g", v.data()[j]);
    std::printf("\n");
  }
}

} // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (recipe r; parsed(std::cin, r);) {
    std::printf("case %s\n", r.name.c_str());
    try {
      try_calls(r);
    } catch (std::exception const& e) {
      std::printf("throws compile %s\n", e.what());
    }
    std::printf("done %s\n", r.name.c_str());
    std::fflush(stdout);
  }
}
