// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_STATE_HPP
#define COTANGENT_DYNAMIC_EAGER_STATE_HPP

#include <cotangent/dynamic/eager/storages.hpp>
#include <cotangent/dynamic/expressions/data.hpp>

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// The state of a recorder: tensors, and the record of the operations that computed them. A record is kept
// alive by its results and by later records that depend on it. Elements are kept alive by the variables that
// name them, and by records whose adjoints read them. Everything else is freed.

namespace cotangent::dynamic::inline COTANGENT_ABI {

/// The action of backward on the gradient of a tensor: none, replace it, or add to it.
enum class gradients : unsigned char { none, last, sum };

namespace detail {

struct eager_state;
struct eager_value;
struct eager_record;

/// An edge from a record to the record of an operand; null if that has no gradient.
struct edge {
  eager_record* from = nullptr;
  std::int32_t which = 0; // of its results
};

/// The record of an operation, or of a parameter.
struct eager_record {
  std::int32_t users = 1;
  std::int32_t operand_count = 0, result_count = 1;
  bool needed = false;   // by a walk
  bool released = false; // its adjoint can no longer be computed
  bool writes = false;   // its second operand was written to a window of its first; `code` reads that window
  eager_code* code = nullptr;
  adjoint_code* adjoint = nullptr; // toward all operands with a gradient
  eager_value* owner = nullptr;    // the tensor of its result, while that is alive
  eager_record* next = nullptr;    // in the list of dying records
  std::uint64_t born = 0;          // its operands are older
  std::uint64_t walk = 0;          // the last walk that visited it
  std::int64_t slot = 0;           // in that walk

  edge* edges() noexcept { return reinterpret_cast<edge*>(this + 1); }
  /// By operand and result: the values that the adjoint reads.
  storage** kept() noexcept { return reinterpret_cast<storage**>(edges() + operand_count); }
  /// By result: true if it was detached.
  bool* detached() noexcept { return reinterpret_cast<bool*>(kept() + operand_count + result_count); }
  static std::size_t bytes(int operands, int results) noexcept {
    return sizeof(eager_record) + static_cast<std::size_t>(operands) * (sizeof(edge) + sizeof(storage*)) +
           static_cast<std::size_t>(results) * (sizeof(storage*) + 1);
  }
};

/// A value with counted memory and record.
class held {
public:
  eager_state* s = nullptr;
  storage* data = nullptr;
  eager_record* from = nullptr;
  std::int32_t which = 0, shape = 0;
  element type = element::float64;

  held() = default;
  inline held(held const& other) noexcept;
  held(held&& other) noexcept
      : s(other.s), data(std::exchange(other.data, nullptr)), from(std::exchange(other.from, nullptr)),
        which(other.which), shape(other.shape), type(other.type) {}
  held& operator=(held other) noexcept {
    std::swap(s, other.s);
    std::swap(data, other.data);
    std::swap(from, other.from);
    which = other.which;
    shape = other.shape;
    type = other.type;
    return *this;
  }
  inline ~held();
  explicit operator bool() const noexcept { return data != nullptr; }
};

/// A window on another tensor, updated when that tensor changes.
struct eager_view {
  eager_value* base = nullptr; // never a view
  eager_code* code = nullptr;
  tensor_window window;
  std::uint64_t seen = 0; // the base's version at the last update
};

/// The tensor that variables name.
struct eager_value {
  std::int64_t users = 1;
  std::uint64_t version = 0; // the number of changes of its elements
  held now;
  eager_value* gradient = nullptr;
  eager_view* view = nullptr;
  std::vector<bool>* written = nullptr; // by element, of a tensor that is written in pieces
  std::string* name = nullptr;
  gradients wanted = gradients::none;
};

/// The key of a prepared operation: its function and the types of its operands.
struct eager_key {
  static constexpr int most = 16;
  void const* function = nullptr;
  std::int64_t words[most]{};
  int count = 0;
  void put(std::int64_t w) noexcept {
    if (count < most) words[count] = w;
    ++count;
  }
  bool fits() const noexcept { return count <= most; }
  std::uint64_t hash() const noexcept {
    std::uint64_t h = reinterpret_cast<std::uintptr_t>(function);
    for (int k = 0; k < count; ++k) {
      h = (h ^ static_cast<std::uint64_t>(words[k])) * 0x9E3779B97F4A7C15ull;
      h ^= h >> 29;
    }
    return h | 1;
  }
  friend bool operator==(eager_key const& a, eager_key const& b) noexcept {
    if (a.function != b.function || a.count != b.count) return false;
    for (int k = 0; k < a.count; ++k)
      if (a.words[k] != b.words[k]) return false;
    return true;
  }
};

/// Whether operations are recorded: if it is on, and no guard stops it but those that a scope ignores. Guards end in any order.
struct recording_state {
  bool on = true;
  int guards = 0, ignored = 0;
  explicit operator bool() const noexcept { return on && guards <= ignored; }
};

/// The live objects of a recorder.
struct live_counts {
  std::int64_t operations = 0; // recorded
  std::int64_t tensors = 0;    // with elements in memory
  std::int64_t bytes = 0;      // of these elements
  friend bool operator==(live_counts const&, live_counts const&) = default;
};

struct eager_state {
  small_blocks blocks; // of records and values, and of the origins of storages
  eager_storages storages{blocks};
  std::int64_t operations = 0; // recorded
  std::int64_t values = 0; // tensors named by variables, and guards; they keep the state alive
  bool open = true;        // its recorder is alive
  recording_state recording;
  std::uint64_t walks = 0, births = 0, recomputations = 0;
  builder sizes; // its shapes are all known shapes
  std::vector<std::int64_t> counts;
  eager_record* dying = nullptr; // records to be freed
  bool releasing = false;
  block workspace;
  tape own_tape;

  // ---- prepared operations

  struct entry {
    std::uint64_t hash = 0;
    eager_key key;
    eager_code* code = nullptr;
  };
  std::vector<entry> table = std::vector<entry>(256); // open addressing
  std::vector<std::unique_ptr<eager_code>> codes;
  interpret::kernel_list kernels; // of the users' operations
  struct hash_of_words {
    std::size_t operator()(std::vector<std::int64_t> const& words) const noexcept {
      std::uint64_t h = words.size();
      for (std::int64_t const w : words) {
        h = (h ^ static_cast<std::uint64_t>(w)) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 29;
      }
      return h;
    }
  };
  std::unordered_map<std::vector<std::int64_t>, eager_code*, hash_of_words> described; // by their graphs
  static constexpr std::size_t most_codes = 4096;

  eager_state() { counts.push_back(1); }
  eager_state(eager_state const&) = delete;
  eager_state& operator=(eager_state const&) = delete;

  live_counts live() const noexcept { return {operations, storages.tensors(), storages.bytes()}; }

  std::int32_t shape_id(dimensions const& d) {
    std::int32_t const id = sizes.shape(d);
    if (static_cast<std::size_t>(id) == counts.size()) {
      std::int64_t n = 1;
      for (int k = 0; k < d.rank; ++k) n *= d.size[k];
      counts.push_back(n);
    }
    return id;
  }
  dimensions const& dims(std::int32_t shape) const noexcept { return sizes.get().shapes[shape]; }
  tensor_type type_of(element e, std::int32_t shape) const noexcept {
    return {e, shape, counts[static_cast<std::size_t>(shape)]};
  }

  eager_code* find(eager_key const& key, std::uint64_t hash) const noexcept {
    std::size_t const mask = table.size() - 1;
    for (std::size_t p = hash >> 7 & mask; table[p].hash != 0; p = (p + 1) & mask)
      if (table[p].hash == hash && table[p].key == key) return table[p].code;
    return nullptr;
  }
  void add(eager_key const& key, std::uint64_t hash, eager_code* code) {
    if (2 * (codes.size() + 1) > table.size()) rehash(2 * table.size());
    insert({hash, key, code});
  }
  /// Removes prepared operations that no record needs, if there are too many.
  void make_room() {
    if (codes.size() < most_codes) return;
    std::vector<entry> const before = std::move(table);
    std::vector<std::unique_ptr<eager_code>> kept;
    table = std::vector<entry>(before.size());
    for (entry const& e : before)
      if (e.hash != 0 && e.code->users > 0) insert(e);
    for (auto at = described.begin(); at != described.end();)
      if (at->second->users > 0) ++at;
      else at = described.erase(at);
    for (auto& c : codes)
      if (c->users > 0) kept.push_back(std::move(c));
    codes = std::move(kept);
  }

  // ---- records

  eager_record* new_record(int operands, int results) {
    void* const at = blocks.take(eager_record::bytes(operands, results));
    eager_record* const r = new (at) eager_record;
    r->born = ++births;
    r->operand_count = operands;
    r->result_count = results;
    for (int k = 0; k < operands; ++k) new (r->edges() + k) edge;
    for (int k = 0; k < operands + results; ++k) r->kept()[k] = nullptr;
    for (int k = 0; k < results; ++k) r->detached()[k] = false;
    return r;
  }
  /// Frees iteratively: a chain may have a million records.
  void release(eager_record* r) noexcept {
    if (r == nullptr || --r->users != 0) return;
    r->next = dying;
    dying = r;
    if (releasing) return;
    releasing = true;
    while (eager_record* const d = dying) {
      dying = d->next;
      cut(*d);
      blocks.give_back(d, eager_record::bytes(d->operand_count, d->result_count));
    }
    releasing = false;
  }
  /// Removes the history of a record.
  void cut(eager_record& r) noexcept {
    if (r.code != nullptr) {
      --operations;
      --r.code->counted();
    }
    r.code = nullptr;
    forget(r);
    for (int k = 0; k < r.operand_count; ++k) release(std::exchange(r.edges()[k].from, nullptr));
  }
  void forget(eager_record& r) noexcept {
    for (int k = 0; k < r.operand_count + r.result_count; ++k) storages.release(std::exchange(r.kept()[k], nullptr));
  }

  eager_value* new_value(held h) {
    auto* const v = new (blocks.take(sizeof(eager_value))) eager_value;
    v->now = static_cast<held&&>(h);
    if (v->now.from != nullptr && v->now.from->owner == nullptr && v->now.from->result_count == 1)
      v->now.from->owner = v;
    ++values;
    return v;
  }
  /// The last value frees the state itself, if its recorder has ended.
  static void release(eager_value* v) noexcept {
    if (v == nullptr || --v->users != 0) return;
    eager_state* const s = v->now.s;
    if (v->now.from != nullptr && v->now.from->owner == v) v->now.from->owner = nullptr;
    v->now = held();
    eager_value* const gradient = v->gradient;
    eager_value* const base = v->view == nullptr ? nullptr : v->view->base;
    if (v->view != nullptr) --v->view->code->counted();
    delete v->view;
    delete v->written;
    delete v->name;
    s->blocks.give_back(v, sizeof(eager_value));
    release(gradient);
    release(base);
    s->leave();
  }
  /// One value or guard less.
  void leave() noexcept {
    if (--values == 0 && !open) delete this;
  }

private:
  void insert(entry const& e) {
    std::size_t const mask = table.size() - 1;
    std::size_t p = e.hash >> 7 & mask;
    while (table[p].hash != 0) p = (p + 1) & mask;
    table[p] = e;
  }
  void rehash(std::size_t n) {
    std::vector<entry> const before = std::move(table);
    table = std::vector<entry>(n);
    for (entry const& e : before)
      if (e.hash != 0) insert(e);
  }
};

/// While it lives, operations are recorded or not, whatever the guards that it finds.
class recording_scope {
  recording_state& state_;
  recording_state const before_;

public:
  recording_scope(eager_state& s, bool on) : state_(s.recording), before_(s.recording) {
    state_.on = on;
    state_.ignored = state_.guards;
  }
  recording_scope(recording_scope const&) = delete;
  recording_scope& operator=(recording_scope const&) = delete;
  ~recording_scope() {
    state_.on = before_.on;
    state_.ignored = before_.ignored;
  }
};

inline held::held(held const& other) noexcept
    : s(other.s), data(other.data), from(other.from), which(other.which), shape(other.shape),
      type(other.type) {
  if (data != nullptr) ++data->users;
  if (from != nullptr) ++from->users;
}
inline held::~held() {
  if (data != nullptr) s->storages.release(data);
  if (from != nullptr) s->release(from);
}

} // namespace detail
} // namespace cotangent::dynamic

#endif
