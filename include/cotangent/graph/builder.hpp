// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_BUILDER_HPP
#define COTANGENT_GRAPH_BUILDER_HPP

#include <cotangent/core/refusal.hpp>

#include <cotangent/graph/failure.hpp>
#include <cotangent/graph/graph.hpp>
#include <cotangent/graph/hash_index.hpp>
#include <cotangent/graph/inference.hpp>
#include <cotangent/graph/open_region.hpp>
#include <cotangent/graph/operation.hpp>

#include <cstdint>
#include <initializer_list>
#include <source_location>

COTANGENT_COLD_BEGIN
namespace cotangent::refusals {
COTANGENT_REFUSAL(too_many_nodes, at_most, number_of_nodes, nodes_allowed, "cotangent: compiled: the number of nodes must be one that the compiler can plan within its limits on constant evaluations; write long loops as ct::for_loop, or several functions")
COTANGENT_REFUSAL(shape_too_large, at_most, number_of_elements, elements_allowed, "cotangent: shape: a value must have fewer than 2^60 elements, axes of size 0 counted as 1")
COTANGENT_REFUSAL(region_leak, is, value_computed, computed_here, "cotangent: a value must not leave the loop or branch that it was computed in, except as its result")
COTANGENT_REFUSAL(half_operand, at_least, bytes_of_an_element, bytes_of_float, "cotangent: this operation computes with float; convert operands of half precision with ct::convert<float>(x)")
} // namespace cotangent::refusals

namespace cotangent {
namespace extend {

/// Fills a graph, merging nodes that are equal to one that stands already: the same operation on the same operands with
/// the same attributes in the same region. The first mistake is kept in `failed()` and everything after it is ignored.
class builder {
  graph g_;
  detail::hash_index nodes_, shapes_;
  detail::failure failed_;
  std::int32_t most_nodes_;  // every further node is refused
  std::int32_t beyond_ = 0; // nodes refused because of `most_nodes_`

public:
  std::int32_t region = 0;      // the sub-graph of the nodes that are pushed
  node_flags flags;             // their flags
  std::source_location place{}; // the line of the user's source behind them
  detail::open_region* open = nullptr; // the innermost body of a loop or branch under construction
  bool prints = false; // a node that prints was pushed
  void* owner = nullptr; // of a graph at run time: its state, which identifies nodes by position

  constexpr builder() : builder(INT32_MAX) {}
  constexpr explicit builder(std::int32_t most_nodes) : most_nodes_(most_nodes) { (void)shape(dimensions{}); }
  /// Takes up a finished graph in order to append to it.
  constexpr explicit builder(graph_view const& v, std::int32_t most_nodes = INT32_MAX) : most_nodes_(most_nodes) {
    append(v);
  }

  /// Reserves room for further symbols, nodes and ids.
  constexpr void reserve(int tensors, int nodes, int ids) {
    g_.tensors.reserve(g_.tensors.size() + tensors);
    g_.nodes.reserve(g_.nodes.size() + nodes);
    g_.ids.reserve(g_.ids.size() + ids);
    nodes_.reserve(g_.nodes.size() + nodes);
  }

  constexpr graph const& get() const noexcept { return g_; }
  constexpr graph& edit() noexcept { return g_; }
  constexpr detail::failure const& failed() const noexcept { return failed_; }
  constexpr void fail(detail::failure f) noexcept {
    if (failed_.why == nullptr) failed_ = f;
  }
  template <class Refusal>
  constexpr void refuse(dimension a = 0, dimension b = 0, std::source_location where = {}) noexcept {
    fail({detail::why<Refusal>(), extent_of(a), extent_of(b), none, where});
  }
  /// Two tensors must have the same type.
  template <class Refusal> constexpr void refuse_types(symbol a, symbol b, std::source_location where) noexcept {
    fail({detail::why<Refusal>(), extent_of(count(dims(a))), extent_of(count(dims(b))), none, where, {a, b}});
  }

  constexpr tensor_symbol const& tensor(symbol t) const noexcept { return g_.tensors[t]; }
  constexpr dimensions const& dims(symbol t) const noexcept { return g_.shapes[g_.tensors[t].shape]; }
  constexpr node const* producer(symbol t) const noexcept {
    return g_.tensors[t].producer == none ? nullptr : &g_.nodes[g_.tensors[t].producer];
  }

  /// The sizes of the pools. `take_back` removes everything that was added later.
  struct mark {
    std::int32_t tensors = 0, nodes = 0, ids = 0, numbers = 0, shapes = 0, extents = 0, regions = 0, names = 0,
                 blocks = 0;
  };
  constexpr mark here() const noexcept {
    return {g_.tensors.size(), g_.nodes.size(), g_.ids.size(), g_.numbers.size(), g_.shapes.size(),
            g_.extents.size(), g_.regions.size(), g_.names.size(), g_.blocks.size()};
  }
  /// Removes everything that was added since, and the failure.
  constexpr void take_back(mark const& m) {
    for (std::int32_t i = m.nodes; i < g_.nodes.size(); ++i)
      for (int k = 0; k < g_.nodes[i].result_count; ++k)
        g_.tensors[g_.ids[g_.nodes[i].first + g_.nodes[i].operand_count + k]].producer = none;
    nodes_.take_back(m.nodes);
    shapes_.take_back(m.shapes);
    g_.tensors.resize(m.tensors);
    g_.nodes.resize(m.nodes);
    g_.ids.resize(m.ids);
    g_.numbers.resize(m.numbers);
    g_.shapes.resize(m.shapes);
    g_.extents.resize(m.extents);
    g_.regions.resize(m.regions);
    g_.names.resize(m.names);
    g_.blocks.resize(m.blocks);
    failed_ = {};
  }

  // ---- sizes

  constexpr extent extent_of(dimension d) const noexcept {
    if (d < 0) return g_.extents[static_cast<int>(-1 - d)];
    return extent::of(d);
  }
  constexpr dimension size(extent const& e) {
    if (e.is_number()) return e.number;
    for (std::int32_t k = 0; k < g_.extents.size(); ++k)
      if (g_.extents[k] == e) return -1 - k;
    g_.extents.push(e);
    return -static_cast<dimension>(g_.extents.size());
  }
  constexpr dimension sum(dimension a, dimension b) {
    return a >= 0 && b >= 0 ? fitting(detail::capped_sum(a, b)) : size(extent_of(a) + extent_of(b));
  }
  constexpr dimension product(dimension a, dimension b) {
    return a >= 0 && b >= 0 ? fitting(detail::capped_product(a, b)) : size(extent_of(a) * extent_of(b));
  }
  /// The number of elements.
  constexpr dimension count(dimensions const& d) {
    dimension n = 1;
    for (int k = 0; k < d.rank; ++k) n = product(n, d.size[k]);
    return n;
  }
  constexpr std::int32_t shape(dimensions const& d) {
    std::uint32_t h = static_cast<std::uint32_t>(d.rank) + 2;
    for (int k = 0; k < d.rank; ++k) h = detail::mix(h, static_cast<std::uint64_t>(d.size[k]));
    h |= 1; // 0 says that an entry is not to be found
    if (std::int32_t const at = shapes_.find_or_add(h, [&](std::int32_t k) { return g_.shapes[k] == d; }); at != none)
      return at;
    dimension elements = 1; // axes of size 0 counted as 1, so that strides fit, too
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] > 0) elements = detail::capped_product(elements, d.size[k]);
    (void)fitting(elements);
    g_.shapes.push(d);
    return g_.shapes.size() - 1;
  }

  // ---- regions

  /// A new sub-graph of the one in which nodes go now; from here on they go there.
  constexpr std::int32_t open_region() {
    g_.regions.push({.parent = region});
    return region = g_.regions.size() - 1;
  }
  /// Back to where nodes went before region `r` was opened.
  constexpr void close_region(std::int32_t r) { region = g_.regions[r].parent; }

  /// The symbol of `t` in the current region: `t` itself, or the input that captures it, through every open body on the way.
  constexpr symbol inside(symbol t, std::source_location where) {
    return g_.tensors[t].region == region ? t : taken_inside(t, where);
  }
  /// The symbol of `t` in the body `into`; `none` if neither this body nor one around it can use `t`.
  constexpr symbol taken(symbol t, detail::open_region* into) {
    if (into == nullptr) return none;
    std::int32_t const home = g_.tensors[t].region;
    if (home == into->region) return t;
    if (home != g_.regions[into->region].parent && (t = taken(t, into->around)) == none) return none;
    if (!is_source(t)) return capture(t, *into);
    for (int k = into->sources.size(); k-- > 0;)
      if (into->sources[k] == t) return into->copies[k];
    symbol const y = computed_again(t, into->region);
    into->sources.push(t);
    into->copies.push(y);
    return y;
  }
  /// The input of `into` for a value of the region around it.
  constexpr symbol capture(symbol outer, detail::open_region& into) {
    detail::array<symbol>& all = *into.captures;
    int k = all.size() - 1;
    while (k >= 0 && all[k] != outer) --k;
    if (k < 0) k = all.push(outer);
    while (into.captured.size() <= k) into.captured.push(none);
    if (into.captured[k] != none) return into.captured[k];
    into.captured[k] = symbol_like(outer);
    g_.tensors[into.captured[k]].region = into.region;
    return into.captured[k];
  }
  /// True for the result of an operation without operands.
  constexpr bool is_source(symbol t) const noexcept {
    node const* const p = producer(t);
    return p != nullptr && p->operand_count == 0 && p->result_count == 1 && tensor(t).base == none && tensor(t).depth == 0;
  }
  /// The value of such an operation in another region.
  constexpr symbol computed_again(symbol source, std::int32_t other) {
    node const n = *producer(source);
    detail::array<std::int64_t> a(n.attribute_count);
    for (int k = 0; k < a.size(); ++k) a[k] = g_.numbers[n.attribute + k];
    std::int32_t const before = region;
    region = other;
    source = push(n.op, nullptr, 0, a.data(), a.size(), tensor(source).type, tensor(source).shape, n.where);
    region = before;
    return source;
  }

  // ---- blocks

  /// A new block inside the one that nodes belong to now; from here on they belong to it. Returns the one before.
  constexpr std::int32_t open_block() {
    std::int32_t const outer = flags.block;
    flags.block = g_.blocks.push(outer) + 1;
    return outer;
  }

  // ---- symbols and nodes

  /// A symbol that no node produces yet.
  constexpr symbol symbol_of(element type, std::int32_t shape_id, int depth = 0) {
    g_.tensors.push({type, static_cast<unsigned char>(depth), shape_id, none, none, none, region, none});
    return g_.tensors.size() - 1;
  }

  /// One like `t`, in the sub-graph that nodes go to now; of sequences nested deeper by so much.
  constexpr symbol symbol_like(symbol t, int deeper = 0) {
    return symbol_of(tensor(t).type, tensor(t).shape, tensor(t).depth + deeper);
  }

  constexpr symbol push(operation const* op, symbol const* operands, int operand_count,
                        std::int64_t const* attributes = nullptr, int attribute_count = 0,
                        std::source_location where = {}) {
    if (g_.nodes.size() >= most_nodes_) return too_many(where);
    inference rule{*this, operands, operand_count, attributes, attribute_count};
    op->infer(rule);
    for (int k = 0; k < operand_count && detail::computes(op->kind); ++k)
      if (detail::is_half(tensor(operands[k]).type)) rule.refuse<refusals::half_operand>(2, 4);
    if (failed_.why != nullptr) {
      if (failed_.where.line() == 0) failed_.where = where;
      return refused();
    }
    return push(op, operands, operand_count, attributes, attribute_count, rule.type, rule.shape, where);
  }
  constexpr symbol push(operation const* op, std::initializer_list<symbol> operands,
                        std::initializer_list<std::int64_t> attributes = {}, std::source_location where = {}) {
    return push(op, operands.begin(), static_cast<int>(operands.size()), attributes.begin(),
                static_cast<int>(attributes.size()), where);
  }
  /// The same where the type of the result is known already.
  constexpr symbol push(operation const* op, symbol const* operands, int operand_count, std::int64_t const* attributes,
                        int attribute_count, element type, std::int32_t shape_id, std::source_location where) {
    if (g_.nodes.size() >= most_nodes_) return too_many(where);
    symbol turned[2];
    if (op->commutative && operands[0] > operands[1]) {
      turned[0] = operands[1];
      turned[1] = operands[0];
      operands = turned;
    }
    std::uint32_t const h =
        hash_of(op, operands, operand_count, attributes, attribute_count, type, shape_id, region);
    auto const same = [&](std::int32_t i) {
      node const& n = g_.nodes[i];
      symbol const* const ids = g_.ids.data() + n.first;
      tensor_symbol const& t = g_.tensors[ids[n.operand_count]];
      if (n.op != op || n.operand_count != operand_count || n.attribute_count != attribute_count ||
          n.region != region || n.flags.exact != flags.exact || t.type != type || t.shape != shape_id)
        return false;
      for (int k = 0; k < operand_count; ++k)
        if (ids[k] != operands[k]) return false;
      for (int k = 0; k < attribute_count; ++k)
        if (g_.numbers[n.attribute + k] != attributes[k]) return false;
      return true;
    };
    if (!flags.merges) nodes_.add(h, false);
    else if (std::int32_t const found = nodes_.find_or_add(h, same); found != none)
      return g_.ids[g_.nodes[found].first + operand_count];
    std::int32_t const first = g_.ids.append(operands, operand_count),
                       attribute = attribute_count > 0 ? g_.numbers.append(attributes, attribute_count) : 0,
                       at = g_.nodes.push({op, first, operand_count, 1, attribute, attribute_count, region, flags, where});
    symbol const y = g_.tensors.push({type, 0, shape_id, at, none, none, region, none});
    g_.ids.push(y);
    return y;
  }

  /// A node whose results are symbols that stand already (`symbol_of`): any number of them; never merged.
  constexpr std::int32_t assign(operation const* op, symbol const* operands, int operand_count, symbol const* results,
                                int result_count, std::int64_t const* attributes, int attribute_count,
                                std::source_location where = {}) {
    node n{op, 0, 0, 0, 0, 0, region, flags, where};
    n.flags.merges = false;
    nodes_.add(0, false);
    return g_.add(n, operands, operand_count, results, result_count, attributes, attribute_count);
  }
  /// A copy of a node of any graph, with its flags and location, in the sub-graph that nodes go to now.
  constexpr std::int32_t assign(node n, detail::array<symbol> const& operands, detail::array<symbol> const& results,
                                std::int64_t const* attributes) {
    n.region = region;
    nodes_.add(0, false);
    return g_.add(n, operands.data(), operands.size(), results.data(), results.size(), attributes, n.attribute_count);
  }

  /// Permutes the nodes: node `order[k]` becomes the k-th. Symbols keep their numbers.
  constexpr void reorder(detail::array<std::int32_t> const& order) {
    detail::array<std::int32_t> position(g_.nodes.size(), none);
    detail::array<node> moved(order.size());
    for (std::int32_t k = 0; k < order.size(); ++k) {
      moved[k] = g_.nodes[order[k]];
      position[order[k]] = k;
    }
    g_.nodes = static_cast<detail::array<node>&&>(moved);
    for (tensor_symbol& t : g_.tensors)
      if (t.producer != none) t.producer = position[t.producer];
    for (extend::region& r : g_.regions)
      if (r.owner != none) r.owner = position[r.owner];
    nodes_ = {};
    for (std::int32_t k = 0; k < order.size(); ++k) list(k);
  }

  /// Some symbol, which replaces the result after a failure, so that building can continue.
  constexpr symbol refused() { return g_.tensors.size() == 0 ? symbol_of(element::float64, 0) : 0; }

  constexpr void set_inputs(symbol const* s, int n, int r = 0) { g_.set_inputs(s, n, r); }
  constexpr void set_outputs(symbol const* s, int n, int r = 0) { g_.set_outputs(s, n, r); }

  /// The number of nodes without the limit; beyond it, equal nodes count each time.
  constexpr std::int32_t nodes_wanted() const noexcept { return g_.nodes.size() + beyond_; }
  static constexpr std::uint32_t hash_of(operation const* op, symbol const* ids, int id_count,
                                         std::int64_t const* numbers, int number_count, element type,
                                         std::int32_t shape, std::int32_t region) noexcept {
    std::uint64_t h = (static_cast<std::uint64_t>(op->code) << 32 | static_cast<std::uint32_t>(shape * 64 + region)) +
                      static_cast<std::uint32_t>(type);
    for (; id_count > 0; --id_count, ++ids)
      h = (h ^ h >> 29 ^ static_cast<std::uint32_t>(*ids + 1)) * detail::odd_multiplier;
    for (; number_count > 0; --number_count, ++numbers)
      h = (h ^ h >> 29 ^ static_cast<std::uint64_t>(*numbers)) * detail::odd_multiplier;
    return static_cast<std::uint32_t>((h ^ h >> 32) * detail::odd_multiplier >> 32) | 1u;
  }

private:
  constexpr symbol taken_inside(symbol t, std::source_location where) {
    if (failed_.why != nullptr) return refused();
    if (symbol const y = taken(t, open); y != none) return y;
    refuse<refusals::region_leak>(t, region, where);
    return refused();
  }
  constexpr symbol too_many(std::source_location where) noexcept {
    ++beyond_;
    refuse<refusals::too_many_nodes>(0, most_nodes_, where.line() != 0 ? where : place);
    return refused();
  }
  /// A number of elements, which is refused where it is too large.
  constexpr dimension fitting(dimension n) noexcept {
    if (n <= detail::max_size) return n;
    refuse<refusals::shape_too_large>(n, detail::max_size, place);
    return 0;
  }
  /// Lets equal nodes merge with the next one that is not listed yet, `k`.
  constexpr void list(std::int32_t k) {
    node const& n = g_.nodes[k];
    if (!n.flags.merges || n.result_count != 1) return nodes_.add(0, false);
    tensor_symbol const& t = g_.tensors[g_.ids[n.first + n.operand_count]];
    nodes_.add(hash_of(n.op, g_.ids.data() + n.first, n.operand_count, g_.numbers.data() + n.attribute,
                       n.attribute_count, t.type, t.shape, n.region));
  }
  constexpr void append(graph_view const& v) {
    g_ = graph(v, 2);
    g_.shapes.clear();
    for (std::int32_t k = 0; k < v.shape_count; ++k) (void)shape(v.shapes[k]);
    for (std::int32_t k = 0; k < v.node_count; ++k) list(k);
  }
};

} // namespace extend

namespace detail {
using extend::builder;
} // namespace detail

constexpr extend::tensor_symbol const& inference::tensor(int k) const noexcept { return b.tensor(operand[k]); }
constexpr extend::dimensions const& inference::dims(int k) const noexcept { return b.dims(operand[k]); }
constexpr void inference::like(int k) noexcept {
  type = tensor(k).type;
  shape = tensor(k).shape;
}
constexpr void inference::result(element e, extend::dimensions const& d) noexcept {
  type = e;
  shape = b.shape(d);
}
template <class Refusal> constexpr void inference::refuse(extend::dimension a, extend::dimension c) noexcept {
  b.refuse<Refusal>(a, c);
}

} // namespace cotangent
COTANGENT_COLD_END

#endif
