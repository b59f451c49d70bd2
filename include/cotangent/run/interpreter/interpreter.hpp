// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_INTERPRETER_HPP
#define COTANGENT_RUN_INTERPRETER_INTERPRETER_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/graph/failure.hpp>
#include <cotangent/graph/order.hpp>
#include <cotangent/graph/reports.hpp>
#include <cotangent/run/interpreter/prepare/maker.hpp>
#include <cotangent/run/labels.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

namespace cotangent {

inline namespace COTANGENT_ABI {

/// Runs a graph that is known only at run time. It is prepared once for the sizes of its extents, then run
/// any number of times, also concurrently, each run with its own workspace and tape.
///
/// Value: the same bits as the static program if no sum is reordered.
/// Cost: preparing is n log n in the number of nodes; `run` allocates nothing, except to grow a tape.
class interpreter {
public:
  interpreter() = default;

  /// `sizes`: the sizes of the graph's extents. User-defined operations run faster if they are listed here
  /// (`operations<softsign>{}`), and run slower otherwise. A refusal is in `failed()`.
  template <class Later = void>
  explicit interpreter(extend::graph_view const& g, std::int64_t const* sizes = nullptr,
                       detail::interpret::kernel_list const& users = {}, interpreter_memory const& memory = {}) {
    detail::interpret::kernel_list all = users;
    all.add_named<Later>();
    in_some_order<Later>(g, sizes, all, memory);
  }
  /// For a graph whose functions have listed their kernels. Operations without kernels run element by element.
  template <class Later = void>
  explicit interpreter(detail::interpret::kernel_list const& listed, extend::graph_view const& g, interpreter_memory const& memory) {
    in_some_order<Later>(g, nullptr, listed, memory);
  }

  detail::failure const& failed() const noexcept { return failed_; }
  /// The text of an error, with the operations that may have reported this status.
  detail::message& put(detail::message& text, status s) const {
    return reports_.put(text, s);
  }
  /// The bytes of the workspace, which is aligned to `workspace_alignment`.
  std::int64_t workspace_bytes() const noexcept {
    return codes_.empty() ? 0 : detail::capped_sum(codes_[0].table_bytes, codes_[0].memory_bytes);
  }
  static constexpr std::int64_t workspace_alignment = 64;
  /// The part of the workspace for values that outlive their step.
  std::int64_t value_bytes() const noexcept { return codes_.empty() ? 0 : codes_[0].root_bytes; }
  /// The graph itself and the sub-graphs that steps run, each with a record of its memory layout.
  detail::array<detail::interpret::region_code> const& codes() const noexcept { return codes_; }
  /// The number of steps of a run: fused nodes count once, steps of loop bodies and branches not at all.
  int step_count() const noexcept { return codes_.empty() ? 0 : codes_[0].program.steps.size(); }
  /// True if loops record values: then a run without a tape from the caller allocates.
  bool records() const noexcept { return records_; }

  int input_count() const noexcept { return input_elements_.size(); }
  int output_count() const noexcept { return output_elements_.size(); }
  std::int64_t input_elements(int k) const noexcept { return input_elements_[k]; }
  /// True if any computed value depends on this input.
  bool reads_input(int k) const noexcept { return input_read_[k]; }
  std::int64_t output_elements(int k) const noexcept { return output_elements_[k]; }

  /// The offset in the workspace where an input must be before a run, which may overwrite it, or where an
  /// output is after it; -1 for memory of the caller.
  std::int64_t input_place(int k) const noexcept { return place(input_places_[k]); }
  std::int64_t output_place(int k) const noexcept { return place(output_places_[k]); }

  /// True if output k may alias input j exactly, when outputs and inputs are otherwise declared apart: the
  /// last read of the input precedes the first write of the output.
  bool may_replace(int k, int j) const noexcept {
    return detail::interpret::is_free(codes_[0].inputs_read[j], codes_[0].outputs_written[k]);
  }

  /// Inputs and outputs are contiguous; pointers to those in the workspace are ignored. An output may alias
  /// an input exactly (if declared apart: only if it `may_replace` it), or must overlap none.
  status run(void const* const* inputs, void* const* outputs, void* workspace,
             detail::tape* record = nullptr) const noexcept {
    if (failed_.why != nullptr || workspace == nullptr ||
        reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0)
      return status::workspace_too_small;
    detail::interpret::region_code const& code = codes_[0];
    char** const bases = code.begin(workspace, static_cast<char*>(workspace) + code.table_bytes);
    char** next = bases + detail::interpret::base::first_argument;
    auto const inside = [&](std::int64_t at) {
      return at < 0 ? nullptr : static_cast<char*>(workspace) + at;
    };
    for (int k = 0; k < input_count(); ++k) {
      if (char* const in = inside(input_place(k)); in != nullptr) {
        *next++ = in;
        continue;
      }
      if (inputs[k] == nullptr && input_elements_[k] != 0) return status::null_argument;
      *next++ = const_cast<char*>(static_cast<char const*>(inputs[k])); // never written
    }
    for (int k = 0; k < output_count(); ++k) {
      if (char* const out = inside(output_place(k)); out != nullptr) {
        *next++ = out;
        continue;
      }
      if (outputs[k] == nullptr && output_elements_[k] != 0) return status::null_argument;
      *next++ = static_cast<char*>(outputs[k]);
    }
    if (!records_) return finish(bases, nullptr);
    if (record != nullptr) return finish(bases, record);
    detail::tape own;
    return finish(bases, &own);
  }

private:
  detail::array<detail::interpret::region_code> codes_; // the graph itself first
  detail::array<std::int64_t> input_elements_, output_elements_, input_places_, output_places_;
  detail::array<bool> input_read_;
  detail::array<detail::label_check> label_checks_; // with sizes resolved
  bool records_ = false;
  detail::failure failed_;
  detail::status_sites reports_;
  std::vector<std::shared_ptr<void const>> held_; // by operations with their address

  std::int64_t place(std::int64_t root) const noexcept {
    return root < 0 ? -1 : codes_[0].table_bytes + codes_[0].scratch_bytes + root;
  }
  status finish(char** bases, detail::tape* record) const noexcept {
    detail::interpret::run_context c = detail::interpret::context_of(codes_, bases, record);
    if (record != nullptr) record->begin();
    for (detail::label_check const& l : label_checks_) // before anything is written, which may be in place
      if (!detail::are_labels(l, bases[detail::interpret::base::first_argument + l.input],
                              input_elements_[l.input], l.classes))
        c.state = status::index_out_of_range;
    for (detail::interpret::step const& s : codes_[0].program.steps) s.run(codes_[0].program, s.which, c);
    if (record != nullptr) record->end();
    return c.state;
  }

  template <class Later>
  void in_some_order(extend::graph_view const& g, std::int64_t const* sizes, detail::interpret::kernel_list const& users,
                     interpreter_memory const& memory) {
    if (detail::in_order(g)) {
      prepare_reporting<Later>(g, sizes, users, memory);
      return;
    }
    detail::ordering const order = detail::order_of(g);
    if (!order) failed_ = {detail::why<refusals::order_cycle>(), {}, {}, order.cycle, g.nodes[order.cycle].where};
    else prepare_reporting<Later>(reordered(g, order), sizes, users, memory);
  }

  /// Steps over tiles report no status: elementwise operations that do are functions of whole tensors here.
  template <class Later> void prepare_reporting(extend::graph_view const& g, std::int64_t const* sizes,
                                                detail::interpret::kernel_list const& users,
                                                interpreter_memory const& memory) {
    bool reports = false;
    for (std::int32_t i = 0; i < g.node_count; ++i) reports = reports || g.nodes[i].op->reporting != nullptr;
    reports_ = detail::status_sites(g);
    if (!reports) return prepare<Later>(g, sizes, users, memory);
    graph changed(g);
    for (extend::node& n : changed.nodes)
      if (n.op->reporting != nullptr) n.op = n.op->reporting;
    prepare<Later>(changed, sizes, users, memory);
  }

  template <class Later> void prepare(extend::graph_view const& g, std::int64_t const* sizes,
                                      detail::interpret::kernel_list const& users,
                                      interpreter_memory const& memory) {
    detail::interpret::region_maker<Later> made(g, sizes, users, memory);
    failed_ = made.failed;
    if (failed_.why != nullptr) return;
    held_ = users.held();
    codes_ = static_cast<detail::array<detail::interpret::region_code>&&>(made.codes);
    input_elements_ = static_cast<detail::array<std::int64_t>&&>(made.input_elements);
    output_elements_ = static_cast<detail::array<std::int64_t>&&>(made.output_elements);
    input_places_ = static_cast<detail::array<std::int64_t>&&>(made.input_places);
    output_places_ = static_cast<detail::array<std::int64_t>&&>(made.output_places);
    label_checks_ = detail::array<detail::label_check>(detail::count_label_checks(g));
    detail::find_label_checks(g, label_checks_.data());
    for (detail::label_check& l : label_checks_)
      if (l.classes < 0) l.classes = sizes[-1 - l.classes];
    for (int k = 0; k < g.input_count(); ++k) input_read_.push(made.values.needed[g.input(k)]);
    for (detail::interpret::region_code const& c : codes_) {
      for (detail::interpret::loop_step const& l : c.program.loops) records_ = records_ || l.stacks.count > 0;
      records_ = records_ || c.program.sums.size() > 0;
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent

#ifdef COTANGENT_SEPARATE
namespace cotangent {
extern template interpreter::interpreter(detail::graph_view const&, std::int64_t const*, detail::interpret::kernel_list const&,
                                         interpreter_memory const&);
extern template interpreter::interpreter(detail::interpret::kernel_list const&, detail::graph_view const&, interpreter_memory const&);
} // namespace cotangent
#endif

#endif
