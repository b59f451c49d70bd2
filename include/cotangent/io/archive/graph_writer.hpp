// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_GRAPH_WRITER_HPP
#define COTANGENT_IO_ARCHIVE_GRAPH_WRITER_HPP

#include <cotangent/io/archive/layout.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/graph/graph.hpp>
#  include <cotangent/graph/operation.hpp>

#  include <cstdint>
#  include <map>
#  include <string>
#  include <tuple>
#  include <vector>

// Writes a graph as JSON. Defaults are omitted: no name, the outer region, nodes that merge with equal ones.

namespace cotangent::detail::archived {

class graph_writer {
  graph_view g_;
  std::map<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>, int> places_;
  json list_of_places_ = json::array();

public:
  explicit graph_writer(graph_view const& g) : g_(g) {}

  json write() {
    json j{{"tensors", json::array()}, {"nodes", json::array()}, {"regions", json::array()}};
    for (symbol t = 0; t < g_.tensor_count; ++t) j["tensors"].push_back(tensor(t));
    for (std::int32_t i = 0; i < g_.node_count; ++i) j["nodes"].push_back(node_at(i));
    for (std::int32_t r = 0; r < g_.region_count; ++r) j["regions"].push_back(region_at(r));
    for (std::int32_t k = 0; k < g_.extent_count; ++k) j["extents"].push_back(g_.extents[k].text);
    if (g_.block_count > 0) j["blocks"] = list(g_.blocks, g_.block_count);
    if (!list_of_places_.empty()) j["places"] = std::move(list_of_places_);
    return j;
  }

private:
  /// Fails to compile if one of these types gains a member that is not written below.
  static void has_no_other_members(graph const& g, tensor_symbol const& t, node const& n, region const& r) {
    [[maybe_unused]] auto const& [tensors, nodes, ids, numbers, shapes, extents, regions, names, blocks] = g;
    [[maybe_unused]] auto const& [type, depth, shape, producer, base, window, region, name] = t;
    [[maybe_unused]] auto const& [op, first, operands, results, attribute, attributes, of_region, flags, where] = n;
    [[maybe_unused]] auto const& [merges, exact, repeated, read_once, of_carried, of_gradient, block] = flags;
    [[maybe_unused]] auto const& [first_input, inputs, first_output, outputs, owner, parent] = r;
  }
  template <class T> static json list(T const* first, int count) {
    json j = json::array();
    for (int k = 0; k < count; ++k) j.push_back(first[k]);
    return j;
  }

  json tensor(symbol t) const {
    tensor_symbol const& s = g_.tensors[t];
    dimensions const& d = g_.shape(t);
    std::vector<std::int64_t> sizes;
    for (int k = 0; k < d.rank; ++k) sizes.push_back(d.size[k]);
    if (!is_believable(sizes))
      refuse<refusals::archive_large>(g_.name(t) == nullptr ? "" : g_.name(t));
    json j{{"element", name_of(s.type)}, {"shape", list(d.size, d.rank)}};
    if (s.name != none) j["name"] = g_.name(t);
    if (s.depth != 0) j["depth"] = s.depth;
    if (s.region != 0) j["region"] = s.region;
    if (s.base != none) {
      j["of"] = s.base;
      j["window"] = list(g_.numbers + s.window, d.rank + 1);
    }
    return j;
  }
  json node_at(std::int32_t i) {
    node const& n = g_.nodes[i];
    json j{{"op", n.op->name},
           {"in", list(g_.ids + n.first, n.operand_count)},
           {"out", list(g_.ids + n.first + n.operand_count, n.result_count)}};
    if (n.attribute_count > 0) j["attributes"] = list(g_.numbers + n.attribute, n.attribute_count);
    if (n.region != 0) j["region"] = n.region;
    if (!n.flags.merges) j["merges"] = false;
    if (n.flags.exact) j["exact"] = true;
    if (n.flags.repeated) j["repeated"] = true;
    if (n.flags.read_once) j["once"] = true;
    if (n.flags.of_carried) j["carried"] = true;
    if (n.flags.block != 0) j["block"] = n.flags.block;
    if (n.flags.of_gradient) j["gradient"] = true;
    if (n.where.line() != 0) j["place"] = place(n.where);
    return j;
  }
  json region_at(std::int32_t r) const {
    region const& at = g_.regions[r];
    json j{{"in", list(g_.ids + at.first_input, at.input_count)},
           {"out", list(g_.ids + at.first_output, at.output_count)}};
    if (r == 0) return j;
    j["owner"] = at.owner;
    j["parent"] = at.parent;
    return j;
  }
  int place(std::source_location const& w) {
    auto const [at, is_new] = places_.try_emplace({w.file_name(), w.function_name(), w.line(), w.column()},
                                                  static_cast<int>(list_of_places_.size()));
    if (is_new) list_of_places_.push_back({w.file_name(), w.function_name(), w.line(), w.column()});
    return at->second;
  }
};

} // namespace cotangent::detail::archived

#endif
#endif
