// SPDX-License-Identifier: BSL-1.0
#include "executor.hpp"

// What only straight code does: components that share lanes, several values in one register, elements of
// every type.

using namespace executing;

namespace {

struct point {
  term x, y, z;
};
constexpr point at(term p) { return {extend::at(p, 0, 0), extend::at(p, 0, 1), extend::at(p, 0, 2)}; }
constexpr point operator-(point const& a, point const& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
constexpr term dot(point const& a, point const& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
constexpr point cross(point const& a, point const& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <element E> struct dihedral {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    for (int k = 0; k < 4; ++k) a.push({E, {1, {3}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* p) {
    point const u = at(p[1]) - at(p[0]), v = at(p[2]) - at(p[1]), w = at(p[3]) - at(p[2]), m = cross(u, v),
                n = cross(v, w);
    term const energy = 1 - dot(m, n) / extend::apply<op::sqrt>(dot(m, m) * dot(n, n));
    extend::symbol in[4], out[4];
    for (int k = 0; k < 4; ++k) in[k] = p[k].id;
    detail::gradient(b, {&energy.id, nullptr, 1, in, 4}, out);
    return {energy, term{&b, out[0]}, term{&b, out[1]}, term{&b, out[2]}, term{&b, out[3]}};
  }
};

/// Tensors of 1 to 20 elements, which fill vectors and do not, of all elements, moved about.
template <extend::dimension N> struct lanes {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    for (element e : {element::float32, element::float64, element::int32, element::int64, element::boolean})
      a.push({e, {1, {N}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    outputs_of out{};
    std::int64_t const back[]{N - 1, -1}, twice[]{1, 2}, axis = 0;
    for (int k = 0; k < 5; ++k) {
      extend::dimensions const wide{1, {2 * N + 1}};
      out.ids.push(op::slice::of(x[k], back, x[k].shape_id()).id);
      out.ids.push(op::pad::of(x[k], twice, b.shape(wide)).id);
      extend::symbol const three[3]{x[k].id, op::slice::of(x[k], back, x[k].shape_id()).id, x[k].id};
      out.ids.push(b.push(info_of<op::concatenate>(), three, 3, &axis, 1, b.place));
      if (k == 4) break;
      out.ids.push(extend::sum(x[k], 1).id);
      out.ids.push(extend::max(x[k], 1).id);
      term const chosen =
          extend::select(x[4] && x[k] > 0, x[k] * x[k], extend::convert(x[(k + 1) % 4], x[k].type()));
      out.ids.push(chosen.id);
      out.ids.push((!(chosen < x[k])).id);
      out.ids.push(extend::convert(x[4], x[k].type()).id);
      out.ids.push(extend::convert(x[k], element::boolean).id);
    }
    return out;
  }
};

/// A result of every argument and a number of each.
struct numbers {
  static constexpr detail::array<argument> arguments(extend::builder&) {
    detail::array<argument> a;
    a.push({element::float64, {}});
    a.push({element::boolean, {}});
    a.push({element::int32, {2, {1, 1}}});
    a.push({element::float64, {2, {0, 3}}});
    return a;
  }
  static constexpr outputs_of of(extend::builder& b, term const* x) {
    return {x[0],
            x[1],
            x[2],
            x[3],
            extend::select(x[1], x[0], -x[0]),
            extend::sum(x[3], 1),
            extend::max(x[3], 3),
            x[0] + 1,
            extend::constant(b, element::int64, b.shape(extend::dimensions{1, {3}}), 7),
            extend::iota(b, element::float32, 5)};
  }
};

} // namespace

TEST_CASE("The energy of a dihedral angle is right, with its gradients") {
  check<graph_of<dihedral<element::float64>>>(-1, 1, 1e-11);
  check<graph_of<dihedral<element::float32>>>(-1, 1, 1e-11);
  static_assert(run::executor<simple<graph_of<dihedral<element::float64>>>>::is_straight);
}
TEST_CASE("Vectors of every element type are right, whether they fill registers or not") {
  check<graph_of<lanes<1>>>();
  check<graph_of<lanes<3>>>();
  check<graph_of<lanes<9>>>();
}
TEST_CASE("Numbers, and tensors of one element and of none are right") {
  check<graph_of<numbers>>();
  check_plain<graph_of<numbers>>();
}
