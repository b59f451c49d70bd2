// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_SEPARATE_HPP
#define COTANGENT_SEPARATE_HPP

// The most expensive headers to compile: the interpreter with its kernels, and the passes that prepare a
// graph for it. If the units of a program are compiled with -DCOTANGENT_SEPARATE, only one of them includes
// this header. (A unit with other instruction set or arithmetic flags does not link, since COTANGENT_ABI
// differs: code for one processor never runs in place of code for another.)

#include <cotangent/dynamic.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/run/interpreter/interpreter.hpp>

#if COTANGENT_EXCEPTIONS
#  include <cotangent/dynamic/graph/sparse.hpp>
#  include <cotangent/dynamic/graph/transformations.hpp>
#endif

namespace cotangent {

template interpreter::interpreter(extend::graph_view const&, std::int64_t const*, detail::interpret::kernel_list const&,
                                  interpreter_memory const&);
template interpreter::interpreter(detail::interpret::kernel_list const&, extend::graph_view const&, interpreter_memory const&);

namespace detail::interpret {
inline namespace COTANGENT_ABI {
[[gnu::weak]] further_kernels separate_kernels() noexcept { return all_further_kernels<void>(); }
} // namespace COTANGENT_ABI
} // namespace detail::interpret

#if COTANGENT_EXCEPTIONS
namespace dynamic::inline COTANGENT_ABI::detail {
template message words_of(builder const&, failure const&, request const&);
template void keep_in_step(graph_state&);
template void tell_made(graph_state&);
template exec_order order_in(graph_state const&, std::int32_t, bool, std::vector<std::int32_t> const*);
template void realize(graph_state&, std::int32_t, bool);
template lowered lower(graph_state&, lowering const&, request const&);
template void restore(graph_state&, graph_state&);
template std::vector<symbol> gradient_symbols(graph_state&, std::vector<symbol> const&, std::vector<symbol> const&,
                                              std::vector<symbol> const&, gradient_options const&, request, bool,
                                              std::vector<bool> const*);
template program compiled_as<program>(graph_state const&, lowering const&, std::vector<binding> const&,
                                      compile_options const&, request const&);
template vjp_program vjp_graph(graph_state&, std::vector<symbol> const&, std::vector<symbol> const&, vjp_options const&,
                                   request const&);
template void append_gradient_to(graph_state&, gradient_request, symbol*);
template void append_tangents_to(graph_state&, symbol const*, symbol const*, int, symbol const*, int,
                                 symbol*);
template void append_jacobian_to(graph_state&, jacobian_request const&, bool, symbol*);
template void append_batch_to(graph_state&, batch_request const&, symbol*);
template symbol append_sparse_to(graph_state&, symbol, symbol, sparse_pattern&);
template failure prepare(eager_code&, interpret::kernel_list const&);
template std::unique_ptr<adjoint_code> make_adjoint(eager_code&, chosen const&, chosen const&, chosen const&, interpret::kernel_list const&);
} // namespace dynamic::detail
#endif
} // namespace cotangent

#endif
