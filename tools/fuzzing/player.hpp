// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TOOLS_FUZZING_PLAYER_HPP
#define COTANGENT_TOOLS_FUZZING_PLAYER_HPP

#include "../../tests/functions.hpp"

#include <cotangent/cotangent.hpp>

#include <cotangent/eager.hpp>
#include <cotangent/images.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

// Recipes as text, and their statements as expressions of a graph or as eager variables.
//
//     v3,v4 = split v1 axis=0 sizes=1,2      names are joined by commas; - is an empty list
//     v5 = for v3 trips=2 {                  a block for each body
//       take n1,a1
//       v6 = sin a1
//       give v6
//     }

namespace player {

namespace ct = cotangent;

struct malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using names = std::vector<std::string>;

inline names listed(std::string const& text) {
  names all;
  if (text == "-") return all;
  std::stringstream s(text);
  for (std::string one; std::getline(s, one, ',');) all.push_back(one);
  return all;
}

struct statement;
struct block {
  names takes, gives;
  std::vector<statement> statements;
};
struct statement {
  names to, of;
  std::string op;
  std::map<std::string, std::string> has;
  std::vector<block> blocks;

  std::string const& word(char const* key) const {
    auto const at = has.find(key);
    if (at == has.end()) throw malformed(op + " needs " + key);
    return at->second;
  }
  std::vector<std::int64_t> integers(char const* key) const {
    std::vector<std::int64_t> all;
    for (auto const& one : listed(word(key))) all.push_back(std::stoll(one));
    return all;
  }
  std::vector<int> axes(char const* key) const {
    auto const all = integers(key);
    return {all.begin(), all.end()};
  }
  std::int64_t integer(char const* key) const { return std::stoll(word(key)); }
  int small(char const* key) const { return static_cast<int>(integer(key)); }
  double number(char const* key) const { return std::stod(word(key)); }
};
struct input {
  std::string name;
  bool integer = false;
  std::vector<std::int64_t> shape;
  std::vector<double> at;

  template <class T> std::vector<T> elements() const {
    std::vector<T> all;
    for (double const x : at) all.push_back(static_cast<T>(x));
    return all;
  }
};
struct recipe {
  std::string name, real;
  std::vector<input> inputs;
  block body;
  names outputs, wrt;
  std::map<std::string, std::vector<double>> along; // by wrt
  std::set<std::string> only;                       // ways of execution; empty: all
};

inline block parsed_block(std::istream& in);

inline statement parsed_statement(std::string const& line, std::istream& in) {
  std::stringstream words(line);
  std::string to, sign, of;
  statement s;
  if (!(words >> to >> sign >> s.op >> of) || sign != "=") throw malformed(line);
  s.to = listed(to);
  s.of = listed(of);
  for (std::string word; words >> word;) {
    if (word == "{") s.blocks.push_back(parsed_block(in));
    else if (auto const at = word.find('='); at != std::string::npos) s.has[word.substr(0, at)] = word.substr(at + 1);
    else throw malformed(line);
  }
  return s;
}
inline block parsed_block(std::istream& in) {
  block b;
  for (std::string line; std::getline(in, line);) {
    std::stringstream words(line);
    std::string first, rest;
    words >> first >> rest;
    if (first == "}") return b;
    if (first == "take") b.takes = listed(rest);
    else if (first == "give") b.gives = listed(rest);
    else b.statements.push_back(parsed_statement(line, in));
  }
  throw malformed("a block has no end");
}
/// Every operation of the library.
inline std::vector<ct::operation const*> const& library() {
  static auto const all = []<class... Op>(ct::operations<Op...>) {
    return std::vector<ct::operation const*>{ct::info_of<Op>()...};
  }(ct::detail::all_operations{});
  return all;
}

/// The next recipe; false at the end.
inline bool parsed(std::istream& in, recipe& r) {
  r = {};
  for (std::string line; std::getline(in, line);) {
    std::stringstream words(line);
    std::string first, name, more;
    words >> first;
    auto const doubles = [&] {
      std::vector<double> all;
      for (double x = 0; words >> x;) all.push_back(x);
      return all;
    };
    if (first == "case") words >> r.name >> r.real;
    else if (first == "input" || first == "integers") {
      words >> name >> more;
      input i{name, first == "integers", {}, {}};
      for (auto const& n : listed(more)) i.shape.push_back(std::stoll(n));
      i.at = doubles();
      r.inputs.push_back(i);
    } else if (first == "along") {
      words >> name;
      r.along[name] = doubles();
    } else if (first == "outputs") words >> name, r.outputs = listed(name);
    else if (first == "wrt") words >> name, r.wrt = listed(name);
    else if (first == "only") words >> name, r.only = {name};
    else if (first == "end") return true;
    else if (!first.empty()) r.body.statements.push_back(parsed_statement(line, in));
  }
  return false;
}

/// The statements of a recipe on `E<T>`: expressions of a graph, or eager variables. `Host` makes what has no operands.
template <template <class> class E, class T, class Host> class builder_of {
public:
  using real = E<T>;
  using whole = E<std::int64_t>;
  using truth = E<bool>;
  using item = std::variant<real, whole, truth>;

private:
  static constexpr bool in_graph = std::is_same_v<real, ct::dynamic::expr<T>>;
  Host& host_;
  std::map<std::string, item> known_;

  using one = std::function<real(real const&)>;
  using two = std::function<real(real const&, real const&)>;
  using comparison = std::function<truth(real const&, real const&)>;
  using many = std::function<item(builder_of&, statement const&)>;

  /// The elementwise functions are those of tests/functions.hpp.
  template <class F> static void add_unary(std::map<std::string, one>& to, F const& f) {
    if constexpr (std::is_same_v<decltype(f.traced(real(), real(), real())), real>)
      to[f.name] = [&f](real const& x) -> real { return f.traced(x, x, x); };
  }
  static std::map<std::string, one> const& unary() {
    static std::map<std::string, one> const table = [] {
      std::map<std::string, one> all{
          {"flatten", [](real const& x) -> real { return ct::flatten(x); }},
          {"transpose", [](real const& x) -> real { return ct::transpose(x); }},
#define COTANGENT_ALL(NAME) {"all_" #NAME, [](real const& x) -> real { return ct::NAME(x); }}
          COTANGENT_ALL(sum), COTANGENT_ALL(mean), COTANGENT_ALL(max), COTANGENT_ALL(min), COTANGENT_ALL(logsumexp),
#undef COTANGENT_ALL
          {"minus", [](real const& x) -> real { return -x; }},
          {"plus", [](real const& x) -> real { return +x; }},
          {"wide", [](real const& x) -> real { return ct::convert<T>(0.5 * ct::convert<double>(x)); }},
      };
      std::apply([&](auto const&... f) { (add_unary(all, f), ...); }, functions::one_operand);
      all["stop_gradient"] = [](real const& x) -> real { return ct::stop_gradient(x); };
      return all;
    }();
    return table;
  }
  static std::map<std::string, two> const& binary() {
    static std::map<std::string, two> const table{
        {"add", [](real const& a, real const& b) -> real { return a + b; }},
        {"subtract", [](real const& a, real const& b) -> real { return a - b; }},
        {"multiply", [](real const& a, real const& b) -> real { return a * b; }},
        {"divide", [](real const& a, real const& b) -> real { return a / b; }},
        {"pow", [](real const& a, real const& b) -> real { return ct::pow(a, b); }},
        {"min", [](real const& a, real const& b) -> real { return ct::min(a, b); }},
        {"max", [](real const& a, real const& b) -> real { return ct::max(a, b); }},
        {"binary_cross_entropy_with_logits", [](real const& a, real const& b) -> real { return ct::binary_cross_entropy_with_logits(a, b); }},
        {"matmul", [](real const& a, real const& b) -> real { return ct::matmul(a, b); }},
        {"dot", [](real const& a, real const& b) -> real { return ct::dot(a, b); }},
        {"update",
         [](real const& a, real const& b) -> real {
           real z = a;
           z += b;
           z *= b;
           z -= 0.5;
           z /= 1.25;
           return z;
         }},
    };
    return table;
  }
  static std::map<std::string, comparison> const& compared() {
    static std::map<std::string, comparison> const table{
        {"less", [](real const& a, real const& b) -> truth { return a < b; }},
        {"greater", [](real const& a, real const& b) -> truth { return a > b; }},
        {"less_equal", [](real const& a, real const& b) -> truth { return a <= b; }},
        {"greater_equal", [](real const& a, real const& b) -> truth { return a >= b; }},
    };
    return table;
  }

  real const& x(statement const& s, std::size_t k = 0) const { return get<real>(s.of.at(k)); }
  whole const& i(statement const& s, std::size_t k) const { return get<whole>(s.of.at(k)); }

  template <int Most, class F> static item chosen(std::int64_t k, F const& f) {
    item made;
    bool const found = [&]<int... K>(std::integer_sequence<int, K...>) {
      return ((k == K && (made = f.template operator()<K>(), true)) || ...);
    }(std::make_integer_sequence<int, Most + 1>());
    if (!found) throw malformed("a template argument that the player was not compiled for");
    return made;
  }
  template <class Index> static real indexed(real const& x, std::int64_t axis, Index const& at) {
    switch (axis) {
    case 0: return x(at);
    case 1: return x(ct::all, at);
    case 2: return x(ct::all, ct::all, at);
    default: return x(ct::all, ct::all, ct::all, at);
    }
  }
  static ct::convolution convolution_of(statement const& s) {
    return {.stride = s.small("stride"), .padding = s.small("padding"), .padding_end = s.small("padding_end"),
            .dilation = s.small("dilation"), .groups = s.small("groups")};
  }
  static ct::pooling pooling_of(statement const& s) {
    return {.window = s.small("window"), .stride = s.small("stride"), .padding = s.small("padding"),
            .padding_end = s.small("padding_end")};
  }

  static std::map<std::string, many> const& others() {
    using b = builder_of;
    static std::map<std::string, many> const table{
        {"times", [](b& m, statement const& s) -> item { return m.x(s) * s.number("by"); }},
        {"more", [](b& m, statement const& s) -> item { return s.number("by") + m.x(s); }},
        {"from", [](b& m, statement const& s) -> item { return s.number("by") - m.x(s); }},
        {"over", [](b& m, statement const& s) -> item { return m.x(s) / s.number("by"); }},
        {"under", [](b& m, statement const& s) -> item { return s.number("by") / m.x(s); }},
        {"to_the", [](b& m, statement const& s) -> item { return ct::pow(m.x(s), s.number("by")); }},
#define COTANGENT_AXES(NAME)                                                                                           \
  {#NAME "_of", [](b& m, statement const& s) -> item {                                                                 \
     return s.small("keep") != 0 ? ct::NAME(m.x(s), ct::dynamic::axis_list(s.axes("axes")), ct::keep)                  \
                                 : ct::NAME(m.x(s), ct::dynamic::axis_list(s.axes("axes")));                           \
   }}
        COTANGENT_AXES(sum), COTANGENT_AXES(mean), COTANGENT_AXES(max), COTANGENT_AXES(min), COTANGENT_AXES(logsumexp),
#undef COTANGENT_AXES
        {"softmax", [](b& m, statement const& s) -> item { return ct::softmax(m.x(s), s.small("axis")); }},
        {"log_softmax", [](b& m, statement const& s) -> item { return ct::log_softmax(m.x(s), s.small("axis")); }},
        {"cumsum", [](b& m, statement const& s) -> item { return ct::cumsum(m.x(s), s.small("axis")); }},
        {"cumprod", [](b& m, statement const& s) -> item { return ct::cumprod(m.x(s), s.small("axis")); }},
        {"argmax", [](b& m, statement const& s) -> item { return ct::argmax(m.x(s), s.small("axis")); }},
        {"reshape", [](b& m, statement const& s) -> item { return ct::reshape(m.x(s), s.integers("to")); }},
        {"broadcast_to", [](b& m, statement const& s) -> item { return ct::broadcast_to(m.x(s), s.integers("to")); }},
        {"permute", [](b& m, statement const& s) -> item { return ct::permute(m.x(s), ct::dynamic::axis_list(s.axes("by"))); }},
        {"concatenate",
         [](b& m, statement const& s) -> item {
           return chosen<3>(s.integer("axis"), [&]<int A>() -> item {
             if (s.of.size() == 2) return ct::concatenate<A>(m.x(s), m.x(s, 1));
             return ct::concatenate<A>(m.x(s), m.x(s, 1), m.x(s, 2));
           });
         }},
        {"index", [](b& m, statement const& s) -> item { return indexed(m.x(s), s.integer("axis"), s.integer("at")); }},
        {"range",
         [](b& m, statement const& s) -> item {
           return indexed(m.x(s), s.integer("axis"),
                          ct::dynamic::between(s.integer("start"), s.integer("stop"), s.integer("step")));
         }},
        {"gather", [](b& m, statement const& s) -> item { return ct::gather(m.x(s), m.i(s, 1)); }},
        {"scatter_add",
         [](b& m, statement const& s) -> item {
           return chosen<4>(s.integer("rows"), [&]<int R>() -> item { return ct::scatter_add<R>(m.x(s), m.i(s, 1)); });
         }},
        {"one_hot",
         [](b& m, statement const& s) -> item {
           return chosen<4>(s.integer("classes"), [&]<int C>() -> item { return ct::one_hot<C, T>(m.i(s, 0)); });
         }},
        {"batch_take", [](b& m, statement const& s) -> item { return ct::batch_take(m.x(s), m.i(s, 1)); }},
        {"cross_entropy", [](b& m, statement const& s) -> item { return ct::cross_entropy(m.x(s), m.i(s, 1)); }},
        {"conv2d", [](b& m, statement const& s) -> item { return ct::conv2d(m.x(s), m.x(s, 1), convolution_of(s)); }},
        {"max_pool2d", [](b& m, statement const& s) -> item { return ct::max_pool2d(m.x(s), pooling_of(s)); }},
        {"avg_pool2d", [](b& m, statement const& s) -> item { return ct::avg_pool2d(m.x(s), pooling_of(s)); }},
        {"random_uniform", [](b& m, statement const& s) -> item { return ct::random_uniform<T>(m.i(s, 0), s.integers("to")); }},
        {"random_normal", [](b& m, statement const& s) -> item { return ct::random_normal<T>(m.i(s, 0), s.integers("to")); }},
        {"dropout", [](b& m, statement const& s) -> item { return ct::dropout(m.x(s), s.number("by"), m.i(s, 1)); }},
        {"equal", [](b& m, statement const& s) -> item { return m.i(s, 0) == m.i(s, 1); }},
        {"not_equal", [](b& m, statement const& s) -> item { return m.i(s, 0) != m.i(s, 1); }},
        {"both", [](b& m, statement const& s) -> item { return m.template get<truth>(s.of[0]) && m.template get<truth>(s.of[1]); }},
        {"either", [](b& m, statement const& s) -> item { return m.template get<truth>(s.of[0]) || m.template get<truth>(s.of[1]); }},
        {"not", [](b& m, statement const& s) -> item { return !m.template get<truth>(s.of[0]); }},
        {"select", [](b& m, statement const& s) -> item { return ct::select(m.template get<truth>(s.of[0]), m.x(s, 1), m.x(s, 2)); }},
        {"integer", [](b& m, statement const& s) -> item { return ct::convert<std::int64_t>(m.x(s)); }},
        {"real",
         [](b& m, statement const& s) -> item {
           auto const at = m.known_.find(s.of[0]);
           if (at == m.known_.end()) return ct::convert<T>(real{});
           return std::visit([](auto const& v) -> item { return ct::convert<T>(v); }, at->second);
         }},
        {"tensor", [](b& m, statement const& s) -> item { return m.host_.tensor(s.to[0], s.integers("shape")); }},
        {"view",
         [](b& m, statement const& s) -> item {
           return m.host_.view(m.x(s), {.offset = s.integers("offset"), .shape = s.integers("shape"), .stride = s.integers("stride")});
         }},
        {"write", [](b& m, statement const& s) -> item { return m.host_.write(m.x(s), m.x(s, 1)); }},
    };
    return table;
  }

  std::vector<item> played(block const& b, std::vector<item> const& given) {
    auto const before = known_;
    for (std::size_t k = 0; k < b.takes.size(); ++k) known_[b.takes[k]] = given.at(k);
    run(b);
    std::vector<item> results;
    for (auto const& name : b.gives) results.push_back(known_.at(name));
    known_ = before;
    return results;
  }
  template <std::size_t N> static auto reals_of(std::vector<item> const& v) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple(std::get<real>(v.at(K))...);
    }(std::make_index_sequence<N>());
  }
  template <class Result> static std::vector<item> items_of(Result const& y) {
    if constexpr (std::is_same_v<Result, real>) return {y};
    else
      return std::apply([](auto const&... e) { return std::vector<item>{e...}; }, y);
  }
  template <std::size_t N> auto body(block const& b) {
    return [this, &b](auto const&... a) { return reals_of<N>(played(b, {item(a)...})); };
  }

  /// Loops, branches and blocks with N results.
  template <std::size_t N> std::vector<item> control(statement const& s) {
    auto const& b = s.blocks;
    std::size_t const first = s.op == "case" || s.op == "cond" ? 1 : 0;
    std::vector<item> given;
    for (std::size_t k = first; k < s.of.size(); ++k) given.push_back(x(s, k));
    auto const with = [&](auto const& f) {
      return items_of(std::apply(f, reals_of<N>(given)));
    };
    if constexpr (in_graph) {
      if (s.op == "for")
        return with([&](auto const&... a) { return ct::for_loop(s.integer("trips"), body<N>(b[0]), a...); });
      if (s.op == "while")
        return with([&](auto const&... a) {
          return ct::while_loop(
              [&](auto const& k, auto const& x0, auto const&...) { return k < s.integer("trips") && ct::sum(x0) < s.number("limit"); },
              body<N>(b[0]), a...);
        });
      if (s.op == "case")
        return with([&](auto const&... a) { return ct::case_of(i(s, 0), body<N>(b[0]), body<N>(b[1]))(a...); });
      return with([&](auto const&... a) { return ct::cond(get<truth>(s.of[0]), body<N>(b[0]), body<N>(b[1]))(a...); });
    } else {
      if (s.op == "case") {
        auto const k = static_cast<std::size_t>(i(s, 0).item());
        return k < b.size() ? played(b[k], given) : given;
      }
      if (s.op == "cond") return played(b[get<truth>(s.of[0]).item() ? 0 : 1], given);
      for (std::int64_t k = 0; k < s.integer("trips"); ++k) {
        if (s.op == "while" && !(static_cast<double>(ct::sum(std::get<real>(given[0])).item()) < s.number("limit"))) break;
        given.insert(given.begin(), host_.number(k));
        given = played(b[0], given);
      }
      return given;
    }
  }

  template <std::size_t N> std::vector<item> checkpoint(statement const& s) {
    return {std::apply([&](auto const&... a) {
      return ct::checkpoint([&](auto const&... z) { return std::get<real>(played(s.blocks[0], {item(z)...}).at(0)); })(a...);
    }, reals_of<N>([&] {
      std::vector<item> v;
      for (std::size_t k = 0; k < N; ++k) v.push_back(x(s, k));
      return v;
    }()))};
  }
  template <class F> static auto counted(std::size_t n, F const& f) {
    switch (n) {
    case 1: return f(std::integral_constant<std::size_t, 1>());
    case 2: return f(std::integral_constant<std::size_t, 2>());
    case 3: return f(std::integral_constant<std::size_t, 3>());
    default: throw malformed("more operands than the player was compiled for");
    }
  }

  std::vector<item> result(statement const& s) {
    if constexpr (requires { host_.special(*this, s); })
      if (auto made = host_.special(*this, s)) return *made;
    if (auto const f = unary().find(s.op); f != unary().end()) return {f->second(x(s))};
    if (auto const f = binary().find(s.op); f != binary().end()) return {f->second(x(s), x(s, 1))};
    if (auto const f = compared().find(s.op); f != compared().end()) return {f->second(x(s), x(s, 1))};
    if (auto const f = others().find(s.op); f != others().end()) return {f->second(*this, s)};
    if (s.op == "split") {
      std::vector<item> parts;
      for (auto const& part : ct::split(x(s), s.integers("sizes"), s.small("axis"))) parts.push_back(part);
      return parts;
    }
    if (s.op == "gradient") {
      std::vector<real> wrt;
      for (auto const& name : listed(s.word("wrt"))) wrt.push_back(get<real>(name));
      std::vector<item> all;
      for (auto const& d : host_.gradient(x(s), wrt)) all.push_back(d);
      return all;
    }
    if (s.op == "checkpoint") return counted(s.of.size(), [&](auto n) { return checkpoint<n()>(s); });
    if (s.op == "for" || s.op == "while" || s.op == "case" || s.op == "cond")
      return counted(s.to.size(), [&](auto n) { return control<n()>(s); });
    throw malformed("no operation " + s.op);
  }

public:
  std::map<std::string, item> const& known() const { return known_; }
  builder_of(recipe const& r, Host& host) : host_(host) {
    for (auto const& in : r.inputs) {
      if (in.integer) known_[in.name] = host.template input<std::int64_t>(in.name, in.shape, in.elements<std::int64_t>());
      else known_[in.name] = host.template input<T>(in.name, in.shape, in.elements<T>());
    }
  }
  template <class X> X const& get(std::string const& name) const {
    static X const nothing{};
    auto const at = known_.find(name);
    if (at == known_.end() && host_.takes_nothing) return nothing;
    if (at == known_.end()) throw malformed("no value " + name);
    if (auto const* const v = std::get_if<X>(&at->second)) return *v;
    if (host_.takes_nothing) return nothing;
    throw malformed(name + " has other elements");
  }
  void run(statement const& s) {
    auto const made = result(s);
    for (std::size_t k = 0; k < s.to.size(); ++k) known_[s.to[k]] = made.at(k);
  }
  void run(block const& b) {
    for (statement const& s : b.statements) run(s);
  }
  /// A number that depends on every element of the outputs in another way.
  real loss(names const& outputs) const {
    real s = T(0);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      real const& y = get<real>(outputs[k]);
      s = s + 0.3 * static_cast<double>(k + 1) * ct::sum(y) + 0.1 * ct::sum(y * y);
    }
    return s;
  }
};

} // namespace player

#endif
