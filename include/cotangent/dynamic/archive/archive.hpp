// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_ARCHIVE_ARCHIVE_HPP
#define COTANGENT_DYNAMIC_ARCHIVE_ARCHIVE_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

// Saves and loads graphs with their data. Needs nlohmann-json.

#include <cotangent/dynamic/archive/state.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/io/archive/tensors.hpp>
#  include <cotangent/run/convolution.hpp>
#  include <cotangent/run/linear_systems.hpp>
#  include <cotangent/run/pooling.hpp>
#  include <cotangent/trace/expressions/print.hpp>

#  include <filesystem>
#  include <map>
#  include <set>
#  include <source_location>
#  include <span>
#  include <string>
#  include <string_view>
#  include <utility>
#  include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
struct archive_access;
}

namespace cotangent::archive::inline COTANGENT_ABI {

/// An expression and the name by which it is found again.
struct named {
  std::string name;
  dynamic::any_expr what;
};

/// The contents of a file: a graph, and the data bound to it.
///
///     auto file = ct::archive::load("net.safetensors");
///     auto loss = file.find<float>("loss");
///     auto p = file.graph.compile({loss}, file.binds());
///     p.run();                             // reads the data in place: in `file`
///     file.data.elements<float>("w")[0] = 1;
class contents {
  std::map<std::string, extend::symbol, std::less<>> names_;
  std::vector<std::pair<extend::symbol, std::string>> bound_; // and the names of the data
  std::vector<std::pair<extend::symbol, extend::symbol>> updates_;

  friend struct dynamic::detail::archive_access;

public:
  dynamic::graph graph;
  tensors data;

  /// The result saved under a name; else the expression with data of that name; else the input or tensor of
  /// that name. Throws: `io_error` if there is none.
  dynamic::any_expr find(std::string_view name) const;
  /// With the element in the type. Throws: `graph_error` if the element type differs.
  template <class T>
  dynamic::expr<T> find(std::string_view name,
                        std::source_location where = std::source_location::current()) const {
    return find(name).template as<T>(where);
  }
  /// The names that `find` finds.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& [name, id] : names_) all.push_back(name);
    return all;
  }

  /// Bindings of expressions to the data, for `compile`. The data are in `data`, which must outlive the
  /// program.
  std::vector<dynamic::binding> binds();

  /// The updates of an optimizer, for `compile_options::updates`.
  std::vector<dynamic::update> updates() const;

  /// Copies, from another file, the tensors with names of this file's data.
  ///
  /// Throws: `io_error` if a tensor has another element type or shape; then nothing is copied.
  void take(tensors const& other);
};

/// Options of saving.
struct save_options {
  /// True if the written file is read again, and its graph compared, before it replaces the old one. This
  /// takes about as long as writing, and memory for the whole file.
  bool read_back = true;
};

/// Writes a graph as one safetensors file. Bound data become tensors with the names of their inputs; the
/// graph becomes JSON in the metadata, with names for results and the updates of an optimizer if given.
/// Readers see the old file until it is replaced atomically. Symbolic links are followed; permissions are
/// kept.
///
/// Throws: `io_error`, also if the file would not be read as the same graph; the old file then still exists.
/// `graph_error` for expressions of another graph.
/// Checked: tests/runtime/archive.cpp, tests/runtime/archive_damage.cpp
inline void save(std::filesystem::path const& path, dynamic::graph const& g,
                 std::vector<dynamic::binding> const& binds = {}, std::vector<named> const& results = {},
                 std::vector<dynamic::update> const& updates = {}, save_options const& options = {});
/// The bytes of such a file, checked in the same way.
inline std::string bytes_of(dynamic::graph const& g, std::vector<dynamic::binding> const& binds = {},
                            std::vector<named> const& results = {},
                            std::vector<dynamic::update> const& updates = {}, save_options const& options = {});

/// Loads a file of `save`. User-defined operations must be listed: `load(path, operations<softsign>{})`.
///
/// Throws: `io_error` for every file that does not contain a valid graph.
template <class... UserOps>
contents load(std::filesystem::path const& path, operations<UserOps...> = {});
template <class... UserOps> contents load_bytes(std::string_view bytes, operations<UserOps...> = {});

} // namespace cotangent::archive

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

namespace archived = cotangent::detail::archived;

struct archive_access {
  /// A file and its graph. The elements belong to the graph and to the bound memory.
  struct saved {
    archived::composed file;
    std::string text;
    archived::operation_names known; // the operations of the graph
  };
  static saved composed(graph const& g, std::vector<binding> const& binds,
                        std::vector<cotangent::archive::named> const& results,
                        std::vector<update> const& updates) {
    graph_state const& built = graph_access::state(g);
    if (!built.frames.empty()) archived::refuse<refusals::archive_open_body>();
    request const r{"save", 4, nullptr, 0, {}};
    archived_lists lists;
    lowering wanted;
    std::set<std::string_view> names;
    for (auto const& one : results) {
      if (one.name.empty()) archived::refuse<refusals::archive_name>("a result has an empty name");
      std::string const name = archived::name_in_quotes(one.name);
      if (one.name.find('\0') != std::string::npos) archived::refuse<refusals::archive_name>(name + " has a zero");
      if (!names.insert(one.name).second) archived::refuse<refusals::archive_name>("two results have the name " + name);
      std::string const asked = "save of the result " + name;
      wanted.outputs.push_back(graph_access::symbol_of(g, one.what, {asked.c_str(), static_cast<int>(asked.size()), nullptr, 0, {}}));
      lists.results.emplace_back(one.name, wanted.outputs.back());
    }
    for (update const& u : updates)
      lists.updates.emplace_back(graph_access::symbol_of(g, u.of, r), graph_access::symbol_of(g, u.to, r));
    for (binding const& b : binds)
      wanted.bound.push_back(graph_access::symbol_of(g, b.what, {"save", 4, nullptr, 0, b.where}));
    wanted.updates = lists.updates;
    settled const plain(built, wanted, r);
    graph_state const& s = plain.state();
    archived::operation_names known;
    for (node const& n : s.b.get().nodes) known.add(n.op);
    std::vector<archived::piece> pieces;
    std::map<std::string, symbol> taken; // names of tensors in the file
    auto const called = [&](std::string const& wish, char const* otherwise, symbol t) {
      std::string name = wish.empty() ? std::string(otherwise).append(std::to_string(t)) : wish;
      while (name == "__metadata__" || taken.find(name) != taken.end()) name.append(1, '.').append(std::to_string(t));
      taken.emplace(name, t);
      return name;
    };
    auto const shape = [&](symbol t) {
      dimensions const& d = s.b.dims(t);
      return std::vector<std::int64_t>(d.size, d.size + d.rank);
    };
    auto const bytes = [](void const* data, std::size_t count) {
      return std::string_view(count == 0 ? "" : static_cast<char const*>(data), count);
    };
    std::map<symbol, std::string> result_names;
    for (auto const& [name, t] : lists.results) result_names.emplace(t, name);
    std::set<symbol> bound;
    for (std::size_t k = 0; k < binds.size(); ++k) {
      binding const& b = binds[k];
      symbol const t = plain.input_for(wanted.bound[k]);
      if (!bound.insert(t).second && !is_written(s, t))
        raise_graph<refusals::bind_twice>(s.b, {"save", 4, &t, 1, b.where});
      std::string wish = name_in(s.b, t);
      if (auto const at = result_names.find(t); wish.empty() && at != result_names.end()) wish = at->second;
      std::int64_t count = 1, given = 1;
      for (std::int64_t const n : shape(t)) count *= n;
      for (std::int64_t const n : b.memory.shape) given *= n;
      bool const row = b.memory.shape.rank() == 1 && given == count;
      if (b.memory.type != s.b.tensor(t).type || !(row || sizes(shape_of(s.b, t)) == b.memory.shape))
        archived::refuse<refusals::archive_fit>(wish);
      std::string const name = called(wish, "tensor ", t);
      lists.binds.emplace_back(t, name);
      pieces.push_back({name, b.memory.type, shape(t),
                        bytes(b.memory.data, static_cast<std::size_t>(count) * size_of(b.memory.type))});
    }
    // (references: copies of constants would be destroyed too early)
    for (held_constant const& c : built.constants) {
      std::string const name = called("", "constant ", c.id);
      lists.constants.emplace_back(c.id, name);
      pieces.push_back({name, s.b.tensor(c.id).type, shape(c.id), bytes(c.bytes.data(), c.bytes.size())});
    }
    std::string text = archived::text_of(state_as_json(s, lists));
    return {archived::composed(std::move(pieces), {{"cotangent.graph", text}}), text, std::move(known)};
  }

  /// Throws: `io_error` unless the bytes contain the graph that was saved.
  static void check_read_back(std::string_view bytes, saved const& was) {
    std::string why = "it is another graph";
    try {
      archived_lists lists;
      auto const c = read(bytes, was.known, &lists);
      if (archived::text_of(state_as_json(graph_access::state(c.graph), lists)) == was.text) return;
    } catch (io_error const& e) { why = e.what(); }
    archived::refuse<refusals::archive_read_back>(why);
  }

  static cotangent::archive::contents read(std::string_view file, archived::operation_names const& known,
                                           archived_lists* lists = nullptr) {
    archived::file_layout layout = archived::checked_layout_of(file);
    auto const text = layout.texts.find("cotangent.graph");
    if (text == layout.texts.end()) archived::refuse<refusals::archive_no_graph>();
    if (!archived::has_sum(file)) archived::refuse<refusals::archive_changed>();
    cotangent::archive::contents c;
    state_reader reader(archived::parsed(text->second), known);
    c.data = cotangent::archive::tensors(std::move(layout));
    graph_state& s = graph_access::state(c.graph);
    archived_lists found = reader.read(s);
    // bound data; data of constants go to the graph
    for (auto const& [t, name] : found.constants) {
      check_fit(s, t, name, c.data);
      std::string_view const bytes = c.data.bytes(name);
      s.constants.push_back({t, {bytes.begin(), bytes.end()}, s.b.tensor(t).name != none}); // named: see optimizers
    }
    for (auto const& [t, name] : found.constants) c.data.remove(name);
    for (auto const& [t, name] : found.binds) {
      check_fit(s, t, name, c.data);
      c.bound_.emplace_back(t, name);
    }
    c.updates_ = found.updates;
    for (auto const& [name, t] : found.results) c.names_.emplace(name, t);
    for (auto const& [t, name] : found.binds) c.names_.emplace(name, t);
    for (symbol t = 0; t < s.b.get().tensors.size(); ++t)
      if (s.b.tensor(t).region == 0 && s.b.tensor(t).name != none) c.names_.emplace(name_in(s.b, t), t);
    c.data.texts.erase("cotangent.graph");
    if (lists != nullptr) *lists = std::move(found);
    return c;
  }

private:
  static void check_fit(graph_state const& s, symbol t, std::string const& name,
                        cotangent::archive::tensors const& data) {
    dimensions const& d = s.b.dims(t);
    std::vector<std::int64_t> const shape(d.size, d.size + d.rank);
    if (!data.has(name) || data.dtype(name) != archived::word_of(s.b.tensor(t).type) ||
        data.shape(name) != shape)
      archived::refuse<refusals::archive_fit>(name);
  }
};

} // namespace cotangent::dynamic::detail

namespace cotangent::archive::inline COTANGENT_ABI {

inline dynamic::any_expr contents::find(std::string_view name) const {
  auto const at = names_.find(name);
  if (at == names_.end()) cotangent::detail::archived::refuse<refusals::archive_unknown>(name);
  return dynamic::detail::graph_access::expression(graph, at->second);
}
inline std::vector<dynamic::binding> contents::binds() {
  std::vector<dynamic::binding> all;
  for (auto const& [t, name] : bound_) {
    data.lend(name);
    std::string_view const bytes = data.bytes(name);
    dynamic::detail::memory_of const m{bytes.data(), const_cast<char*>(bytes.data()), data.type(name),
                                       data.shape(name)};
    all.emplace_back(dynamic::detail::graph_access::expression(graph, t), m);
  }
  return all;
}
inline std::vector<dynamic::update> contents::updates() const {
  std::vector<dynamic::update> all;
  for (auto const& [of, to] : updates_)
    all.push_back({dynamic::detail::graph_access::expression(graph, of),
                   dynamic::detail::graph_access::expression(graph, to)});
  return all;
}
inline void contents::take(tensors const& other) {
  for (bool const copy : {false, true})
    for (auto const& [t, name] : bound_)
      if (other.has(name)) {
        if (!copy && (other.type(name) != data.type(name) || other.shape(name) != data.shape(name)))
          cotangent::detail::archived::refuse<refusals::archive_fit>(name);
        if (copy) data.overwrite(name, other.bytes(name));
      }
}

inline void save(std::filesystem::path const& path, dynamic::graph const& g,
                 std::vector<dynamic::binding> const& binds, std::vector<named> const& results,
                 std::vector<dynamic::update> const& updates, save_options const& options) {
  using access = dynamic::detail::archive_access;
  access::saved const made = access::composed(g, binds, results, updates);
  cotangent::detail::archived::replacement to(path);
  made.file.write(to);
  if (options.read_back) access::check_read_back(to.bytes(), made);
  to.finish();
}
inline std::string bytes_of(dynamic::graph const& g, std::vector<dynamic::binding> const& binds,
                            std::vector<named> const& results, std::vector<dynamic::update> const& updates,
                            save_options const& options) {
  using access = dynamic::detail::archive_access;
  access::saved const made = access::composed(g, binds, results, updates);
  std::string bytes = made.file.bytes();
  if (options.read_back) access::check_read_back(bytes, made);
  return bytes;
}
template <class... UserOps> contents load_bytes(std::string_view bytes, operations<UserOps...> own) {
  cotangent::detail::archived::operation_names known;
  known.add(own).add(detail::all_operations{}).add(operations<op::custom, op::placeholder, op::print, op::hold>{});
  contents c = dynamic::detail::archive_access::read(bytes, known);
  auto& kernels = dynamic::detail::graph_access::state(c.graph).kernels;
  kernels.add(own);
  kernels.template add_named<operations<UserOps...>>();
  // what not every interpreter has
  kernels.add(detail::geometry_operations{});
  kernels.add(detail::image_operations{});
  kernels.add(detail::linear_system_operations{});
  return c;
}
template <class... UserOps> contents load(std::filesystem::path const& path, operations<UserOps...> own) {
  return load_bytes(cotangent::detail::archived::bytes_of(path), own);
}

} // namespace cotangent::archive

#endif
COTANGENT_HEADER_END

#endif
