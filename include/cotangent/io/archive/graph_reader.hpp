// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_GRAPH_READER_HPP
#define COTANGENT_IO_ARCHIVE_GRAPH_READER_HPP

#include <cotangent/io/archive/layout.hpp>
#include <cotangent/io/archive/source_places.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/graph/builder.hpp>
#  include <cotangent/graph/order.hpp>
#  include <cotangent/graph/verify.hpp>
#  include <cotangent/ops/all.hpp>

#  include <cstdint>
#  include <string>
#  include <string_view>
#  include <unordered_map>
#  include <utility>
#  include <vector>

// Reads a graph from JSON that `graph_writer` wrote; the JSON may have been modified since.

namespace cotangent::detail::archived {

/// Operations by name.
class operation_names {
  std::unordered_map<std::string_view, operation const*> known_;

public:
  template <class... Ops> operation_names& add(operations<Ops...>) {
    (add(info_of<Ops>()), ...);
    return *this;
  }
  void add(operation const* op) {
    if (op->has_address) refuse<refusals::archive_address>(op->name);
    if (known_.emplace(op->name, op).first->second != op) refuse<refusals::archive_one_name>(op->name);
  }
  operation const* find(std::string const& name) const {
    auto const at = known_.find(name);
    return at == known_.end() ? nullptr : at->second;
  }
};

using graph_parts = parts<refusals::archive_graph>;

[[noreturn]] inline void refuse_graph(std::string const& why) { refuse<refusals::archive_graph>(why); }

/// Reads a graph and checks that all indices lie within their pools and that arithmetic on its sizes cannot
/// overflow; `check_graph` checks the rest. Throws: `io_error`.
class graph_reader {
  operation_names const& known_;
  graph g_;
  builder shapes_; // gives equal shapes one number
  std::vector<std::source_location> places_;
  std::int64_t tensor_count_ = 0, node_count_ = 0, region_count_ = 0;

public:
  explicit graph_reader(operation_names const& known) : known_(known) {}

  graph read(json const& j) {
    graph_parts::object(j, {"tensors", "nodes", "regions", "extents", "blocks", "places"});
    json const &tensors = graph_parts::list(graph_parts::member(j, "tensors")),
               &nodes = graph_parts::list(graph_parts::member(j, "nodes")),
               &regions = graph_parts::list(graph_parts::member(j, "regions"));
    tensor_count_ = count_of(tensors);
    node_count_ = count_of(nodes);
    region_count_ = count_of(regions);
    if (region_count_ < 1) refuse_graph("it has no region");
    if (json const* const x = graph_parts::member_if(j, "extents")) extents(*x);
    if (json const* const x = graph_parts::member_if(j, "places")) places(*x);
    if (json const* const x = graph_parts::member_if(j, "blocks")) {
      (void)count_of(graph_parts::list(*x));
      for (json const& around : *x) g_.blocks.push(index(around, g_.blocks.size() + std::int64_t{1}));
    }
    for (json const& t : tensors) tensor(t);
    for (symbol t = 0; t < g_.tensors.size(); ++t) window(t);
    g_.shapes = shapes_.get().shapes;
    for (json const& n : nodes) node_at(n);
    g_.regions.clear();
    for (json const& r : regions) region_at(r);
    if (cotangent::detail::regions_from_outside(g_).size() != g_.regions.size())
      refuse_graph("a region is inside itself");
    each_region_is_run_once();
    return static_cast<graph&&>(g_);
  }

private:
  static constexpr std::int64_t most_reach = std::int64_t{1} << 60;
  // the largest number of anything: sums of several such still fit an int
  static constexpr std::int64_t most = 1 << 28;

  static std::int64_t count_of(json const& list) {
    if (list.size() > static_cast<std::size_t>(most)) refuse_graph("it is too large");
    return static_cast<std::int64_t>(list.size());
  }
  static std::int32_t index(json const& j, std::int64_t count, std::int64_t low = 0) {
    return static_cast<std::int32_t>(graph_parts::integer(j, low, count - 1));
  }
  std::int32_t region_of(json const& j) const {
    json const* const r = graph_parts::member_if(j, "region");
    return r == nullptr ? 0 : index(*r, region_count_);
  }
  /// Appends a list of indices and returns its length.
  std::int32_t ids(json const& list, std::int64_t count, std::int64_t low = 0) {
    std::int64_t const length = count_of(graph_parts::list(list));
    if (g_.ids.size() + length > most) refuse_graph("it is too large");
    for (json const& id : list) g_.ids.push(index(id, count, low));
    return static_cast<std::int32_t>(length);
  }

  void extents(json const& all) {
    // each extent is compared with all others
    if (graph_parts::list(all).size() > 1024) refuse_graph("it is too large");
    for (json const& j : all) {
      std::string const& text = graph_parts::text(j);
      extent e;
      if (text.size() == 17 && text[0] == '#') { // a formula too long to store
        std::uint64_t hash = 0;
        for (char const c : std::string_view(text).substr(1)) {
          std::size_t const digit = std::string_view("0123456789abcdef").find(c);
          if (digit == std::string_view::npos) refuse_graph("an extent is no formula");
          hash = hash << 4 | digit;
        }
        e = unkept_extent(hash);
      } else {
        if (text.size() < static_cast<std::size_t>(formula_capacity))
          e = extent::named(text.c_str(), static_cast<int>(text.size()));
        if (!e.is_symbol() || text != e.text) refuse_graph("an extent is no formula");
      }
      g_.extents.push(e);
      if (shapes_.size(e) != -g_.extents.size()) refuse_graph("two extents are equal");
    }
  }
  void places(json const& all) {
    (void)count_of(graph_parts::list(all));
    for (json const& p : all) {
      graph_parts::list(p, 4);
      places_.push_back(place_at(graph_parts::text(p[0]), graph_parts::text(p[1]),
                                 static_cast<std::uint32_t>(graph_parts::integer(p[2], 0, UINT32_MAX)),
                                 static_cast<std::uint32_t>(graph_parts::integer(p[3], 0, UINT32_MAX))));
    }
  }

  void tensor(json const& j) {
    graph_parts::object(j, {"element", "shape", "name", "depth", "region", "of", "window"});
    tensor_symbol t;
    std::string const& word = graph_parts::text(graph_parts::member(j, "element"));
    int e = 0;
    while (e < element_count && word != name_of(static_cast<element>(e))) ++e;
    if (e == element_count) refuse_graph("the element type is unknown: " + word);
    t.type = static_cast<element>(e);
    dimensions d;
    std::vector<std::int64_t> sizes;
    for (json const& size : graph_parts::list(graph_parts::member(j, "shape")))
      sizes.push_back(graph_parts::integer(size, -g_.extents.size(), INT64_MAX));
    if (sizes.size() > max_rank || !is_believable(sizes)) refuse<refusals::archive_large>(word);
    for (std::int64_t const size : sizes) d.size[d.rank++] = size;
    t.shape = shapes_.shape(d);
    t.region = region_of(j);
    if (json const* const depth = graph_parts::member_if(j, "depth"))
      t.depth = static_cast<unsigned char>(graph_parts::integer(*depth, 0, 64));
    if (json const* const name = graph_parts::member_if(j, "name"))
      t.name = name_at(graph_parts::text(*name));
    json const *const of = graph_parts::member_if(j, "of"), *const window =
                                                                graph_parts::member_if(j, "window");
    if ((of == nullptr) != (window == nullptr)) refuse_graph("a view lacks its tensor or its window");
    if (of != nullptr) {
      t.base = index(*of, tensor_count_);
      t.window = g_.numbers.size();
      for (json const& n : graph_parts::list(*window, d.rank + 1))
        g_.numbers.push(graph_parts::integer(n, INT64_MIN, INT64_MAX));
    }
    g_.tensors.push(t);
  }
  std::int32_t name_at(std::string const& name) {
    if (name.find('\0') != std::string::npos) refuse<refusals::archive_name>(name_in_quotes(name) + " has a zero");
    if (g_.names.size() > most) refuse<refusals::archive_name>("they are too long");
    return g_.add_name(name.data(), static_cast<int>(name.size()));
  }
  /// Checks that a view lies within its tensor; numbers in a file may be arbitrary.
  void window(symbol t) const {
    tensor_symbol const& s = g_.tensors[t];
    if (s.base == none) return;
    tensor_symbol const& of = g_.tensors[s.base];
    if (of.base != none || of.type != s.type || of.region != s.region || of.depth != 0 || s.depth != 0)
      refuse_graph("a view and its tensor do not fit");
    dimensions const &d = shapes_.get().shapes[s.shape], &from = shapes_.get().shapes[of.shape];
    std::int64_t const* const w = g_.numbers.data() + s.window;
    std::int64_t low = w[0], high = w[0], elements = 1;
    bool empty = false, fits = numbers_only(d) && numbers_only(from);
    for (int k = 0; k < from.rank; ++k) elements *= from.size[k];
    for (int k = 0; k < d.rank; ++k) {
      empty = empty || d.size[k] == 0;
      // Also checks axes of size 1, so that arithmetic on strides cannot overflow.
      std::int64_t reach = 0;
      std::int64_t const steps = d.size[k] > 1 ? d.size[k] - 1 : 0;
      fits = fits && w[1 + k] >= -most_elements && w[1 + k] <= most_elements &&
             !__builtin_mul_overflow(steps, w[1 + k], &reach) &&
             !__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
      fits = fits && low >= -most_reach && high <= most_reach;
    }
    if (fits && empty) fits = w[0] >= 0 && w[0] <= elements;
    else fits = fits && low >= 0 && high < elements;
    if (!fits) refuse_graph("a view reaches outside of its tensor");
  }

  void node_at(json const& j) {
    graph_parts::object(j, {"op", "in", "out", "attributes", "region", "merges", "exact", "repeated", "once", "carried", "block", "gradient", "place"});
    node n;
    std::string const& name = graph_parts::text(graph_parts::member(j, "op"));
    n.op = known_.find(name);
    if (n.op == nullptr) refuse<refusals::archive_operation>(name);
    n.first = g_.ids.size();
    n.operand_count = ids(graph_parts::member(j, "in"), tensor_count_, none);
    n.result_count = ids(graph_parts::member(j, "out"), tensor_count_);
    n.attribute = g_.numbers.size();
    if (json const* const all = graph_parts::member_if(j, "attributes")) {
      n.attribute_count = static_cast<std::int32_t>(count_of(graph_parts::list(*all)));
      if (g_.numbers.size() + std::int64_t{n.attribute_count} > most) refuse_graph("it is too large");
      for (json const& a : *all) g_.numbers.push(graph_parts::integer(a, INT64_MIN, INT64_MAX));
      if (n.op == info_of<op::loop>() && n.attribute_count == loop_layout::attribute_count - 1) add_tape_limit(n);
    }
    bool const needs_one = n.op == info_of<op::convert>() || n.op == info_of<op::label>();
    if (needs_one && n.attribute_count != 1) refuse_graph(name + " needs one attribute");
    if (n.op == info_of<op::label>() && g_.numbers[n.attribute] < -g_.extents.size())
      refuse_graph("a label chooses among positions of no extent");
    n.region = region_of(j);
    if (json const* const b = graph_parts::member_if(j, "merges")) n.flags.merges = graph_parts::truth(*b);
    if (json const* const b = graph_parts::member_if(j, "exact")) n.flags.exact = graph_parts::truth(*b);
    if (json const* const b = graph_parts::member_if(j, "repeated")) n.flags.repeated = graph_parts::truth(*b);
    if (json const* const b = graph_parts::member_if(j, "once")) n.flags.read_once = graph_parts::truth(*b);
    if (json const* const b = graph_parts::member_if(j, "carried")) n.flags.of_carried = graph_parts::truth(*b);
    if (json const* const b = graph_parts::member_if(j, "gradient")) n.flags.of_gradient = graph_parts::truth(*b);
    if (json const* const b = graph_parts::member_if(j, "block"))
      n.flags.block = index(*b, g_.blocks.size() + std::int64_t{1}, -g_.blocks.size());
    if (json const* const p = graph_parts::member_if(j, "place"))
      n.where = places_[static_cast<std::size_t>(index(*p, static_cast<std::int64_t>(places_.size())))];
    for (int k = 0; k < n.result_count; ++k) {
      tensor_symbol& y = g_.tensors[g_.ids[n.first + n.operand_count + k]];
      if (y.producer != none) refuse_graph("a symbol is assigned twice");
      y.producer = g_.nodes.size();
    }
    g_.nodes.push(n);
  }

  /// Of files from before loops had that attribute.
  void add_tape_limit(node& n) {
    g_.numbers.push(0);
    for (int k = g_.numbers.size() - 1; k > n.attribute + loop_layout::first_region - 1; --k)
      std::swap(g_.numbers[k], g_.numbers[k - 1]);
    ++n.attribute_count;
  }

  void region_at(json const& j) {
    graph_parts::object(j, {"in", "out", "owner", "parent"});
    region r;
    r.first_input = g_.ids.size();
    r.input_count = ids(graph_parts::member(j, "in"), tensor_count_);
    r.first_output = g_.ids.size();
    r.output_count = ids(graph_parts::member(j, "out"), tensor_count_, none);
    if (g_.regions.size() > 0) {
      r.owner = index(graph_parts::member(j, "owner"), node_count_);
      // any index, also a larger one: loops are moved into others
      r.parent = index(graph_parts::member(j, "parent"), region_count_);
      if (g_.nodes[r.owner].region != r.parent) refuse_graph("a region's owner does not live in its parent");
    }
    g_.regions.push(r);
  }
  void each_region_is_run_once() const {
    std::vector<int> runs(static_cast<std::size_t>(region_count_), 0);
    auto const run = [&](std::int32_t r) {
      if (r > 0 && r < region_count_) ++runs[static_cast<std::size_t>(r)];
    };
    graph_view const g = g_;
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      node const& n = g.nodes[i];
      if (n.op == info_of<op::loop>() || n.op == info_of<op::case_of>())
        if (char const* const why = n.op->check(g, n); why != nullptr) refuse_graph(why);
      if (n.op == info_of<op::loop>()) {
        loop_layout const at = loop_layout::of(g, n);
        run(at.condition);
        run(at.body);
      } else if (n.op == info_of<op::case_of>()) {
        case_layout const at = case_layout::of(g, n);
        for (int k = 0; k < at.branches; ++k) run(at.branch(k));
      }
    }
    for (std::int32_t r = 1; r < g.region_count; ++r) {
      // (a deleted region is empty, and its owner is op::nothing)
      bool const gone = g.nodes[g.regions[r].owner].op == info_of<op::nothing>() && g.input_count(r) == 0 &&
                        g.output_count(r) == 0;
      if (runs[static_cast<std::size_t>(r)] != (gone ? 0 : 1))
        refuse_graph("a region must be run by one node");
    }
  }
};

/// Throws `io_error` unless the graph is valid with inputs `given` and outputs `seen`. Its nodes may be
/// listed in any order, but a valid execution order must exist.
inline void check_graph(graph const& g, std::vector<symbol> const& given, std::vector<symbol> const& seen,
                        array<dependency> const& edges = {}) {
  ordering const order = order_of(g, edges.data(), edges.size());
  if (!order) refuse_graph("there is no order in which its nodes can run");
  builder b(reordered(g, order));
  b.set_inputs(given.data(), static_cast<int>(given.size()));
  b.set_outputs(seen.data(), static_cast<int>(seen.size()));
  if (verification const v = verify(b.get()); !v) refuse_graph(v.text);
}

} // namespace cotangent::detail::archived

#endif
#endif
