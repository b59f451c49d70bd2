// SPDX-License-Identifier: BSL-1.0
// Two functions of four points in space, with the gradients in all of them: the energy of a dihedral angle, 1 - cos(phi),
// and the surface of a tetrahedron plus the square of its volume.
#include "hand.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <algorithm>
#include <cmath>

namespace {

using namespace bench::hand;

template <class T>
struct vec {
  T x, y, z;
  friend constexpr vec operator+(vec a, vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend constexpr vec operator-(vec a, vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend constexpr vec operator*(vec a, T s) { return {a.x * s, a.y * s, a.z * s}; }
  friend constexpr T dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
  friend constexpr vec cross(vec a, vec b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
  }
};

template <class T>
vec<T> read(T const* p) {
  return {p[0], p[1], p[2]};
}
template <class T>
void write(T* p, vec<T> v) {
  p[0] = v.x, p[1] = v.y, p[2] = v.z;
}

// p: four points one behind the other; so are the gradients.
template <class T>
void dihedral_by_hand(T const* p, T* value, T* dp) {
  auto const a = read(p), b = read(p + 3), c = read(p + 6), d = read(p + 9);
  auto const u = b - a, v = c - b, w = d - c, m = cross(u, v), n = cross(v, w);
  T const mn = dot(m, n), mm = dot(m, m), nn = dot(n, n), r = 1 / std::sqrt(mm * nn);
  T const cosine = mn * r;
  *value = 1 - cosine;
  auto const dm = m * (cosine / mm) - n * r, dn = n * (cosine / nn) - m * r;
  auto const du = cross(v, dm), dv = cross(dm, u) + cross(w, dn), dw = cross(dn, v);
  write(dp, du * T(-1)), write(dp + 3, du - dv), write(dp + 6, dv - dw), write(dp + 9, dw);
}

// One division: 1 / mm = nn r^2.
template <class T>
void dihedral_one_division(T const* p, T* value, T* dp) {
  auto const a = read(p), b = read(p + 3), c = read(p + 6), d = read(p + 9);
  auto const u = b - a, v = c - b, w = d - c, m = cross(u, v), n = cross(v, w);
  T const mn = dot(m, n), mm = dot(m, m), nn = dot(n, n), r = 1 / std::sqrt(mm * nn), k = mn * r * r * r;
  *value = 1 - mn * r;
  auto const dm = m * (k * nn) - n * r, dn = n * (k * mm) - m * r;
  auto const du = cross(v, dm), dv = cross(dm, u) + cross(w, dn), dw = cross(dn, v);
  write(dp, du * T(-1)), write(dp + 3, du - dv), write(dp + 6, dv - dw), write(dp + 9, dw);
}

// A vector in the first three lanes of four.
template <class V>
COTANGENT_INLINE V rotated(V const& a) {
  return __builtin_shufflevector(a, a, 1, 2, 0, 3);
}
template <class V>
COTANGENT_INLINE V cross(V const& a, V const& b) {
  return rotated<V>(a * rotated(b) - rotated(a) * b);
}

template <class T>
void dihedral_in_lanes(T const* p, T* value, T* dp) {
  using V = simd::pack<T, 4>;
  V const a = simd::load<V>(p), b = simd::load<V>(p + 3), c = simd::load<V>(p + 6),
          d = simd::load<V>(p + 9, 3);
  V const zero{}, three{1, 1, 1, 0};
  V const u = (b - a) * three, v = (c - b) * three, w = __builtin_shufflevector(V(d - c), zero, 0, 1, 2, 4);
  V const m = cross<V>(u, v), n = cross<V>(v, w);
  T const mn = simd::sum<V>(m * n), mm = simd::sum<V>(m * m), nn = simd::sum<V>(n * n),
          r = 1 / std::sqrt(mm * nn), k = mn * r * r * r;
  *value = 1 - mn * r;
  V const dm = m * (k * nn) - n * r, dn = n * (k * mm) - m * r;
  V const du = cross<V>(v, dm), dv = cross<V>(dm, u) + cross<V>(w, dn), dw = cross<V>(dn, v);
  simd::store<V>(dp, -du), simd::store<V>(dp + 3, du - dv), simd::store<V>(dp + 6, dv - dw),
      simd::store<V>(dp + 9, dw, 3);
}

template <class T>
void tetrahedron_by_hand(T const* p, T* value, T* dp) {
  auto const a = read(p), b = read(p + 3), c = read(p + 6), d = read(p + 9);
  auto const u = b - a, v = c - a, w = d - a;
  auto const uv = cross(u, v), vw = cross(v, w), wu = cross(w, u),
             all = uv + vw + wu; // all: normal of the far face
  T const l1 = std::sqrt(dot(uv, uv)), l2 = std::sqrt(dot(vw, vw)), l3 = std::sqrt(dot(wu, wu)),
          l4 = std::sqrt(dot(all, all));
  T const volume = dot(u, vw) / 6;
  *value = (l1 + l2 + l3 + l4) / 2 + volume * volume;
  auto const far = all * (T(0.5) / l4), g1 = uv * (T(0.5) / l1) + far, g2 = vw * (T(0.5) / l2) + far,
             g3 = wu * (T(0.5) / l3) + far;
  T const k = volume / 3;
  auto const du = cross(v, g1) + cross(g3, w) + vw * k;
  auto const dv = cross(g1, u) + cross(w, g2) + wu * k;
  auto const dw = cross(g2, v) + cross(u, g3) + uv * k;
  write(dp, (du + dv + dw) * T(-1)), write(dp + 3, du), write(dp + 6, dv), write(dp + 9, dw);
}

// The four roots and their reciprocals side by side.
template <class T>
void tetrahedron_roots_in_lanes(T const* p, T* value, T* dp) {
  using V = simd::pack<T, 4>;
  auto const a = read(p), b = read(p + 3), c = read(p + 6), d = read(p + 9);
  auto const u = b - a, v = c - a, w = d - a;
  auto const uv = cross(u, v), vw = cross(v, w), wu = cross(w, u), all = uv + vw + wu;
  V const l = math::sqrt<V>(V{dot(uv, uv), dot(vw, vw), dot(wu, wu), dot(all, all)}),
          h = math::broadcast<V>(T(0.5)) / l;
  T const volume = dot(u, vw) * T(1.0 / 6);
  *value = simd::sum<V>(l) / 2 + volume * volume;
  auto const far = all * h[3], g1 = uv * h[0] + far, g2 = vw * h[1] + far, g3 = wu * h[2] + far;
  T const k = volume * T(1.0 / 3);
  auto const du = cross(v, g1) + cross(g3, w) + vw * k;
  auto const dv = cross(g1, u) + cross(w, g2) + wu * k;
  auto const dw = cross(g2, v) + cross(u, g3) + uv * k;
  write(dp, (du + dv + dw) * T(-1)), write(dp + 3, du), write(dp + 6, dv), write(dp + 9, dw);
}

// Twelve numbers as three coordinates of four points, and back.
template <class V>
struct coordinates {
  V x, y, z;
  friend coordinates operator-(coordinates const& a, coordinates const& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend coordinates operator+(coordinates const& a, coordinates const& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  friend coordinates operator*(coordinates const& a, V const& s) { return {a.x * s, a.y * s, a.z * s}; }
  friend coordinates cross(coordinates const& a, coordinates const& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
  }
};
template <int... I, class V>
COTANGENT_INLINE coordinates<V> picked(coordinates<V> const& a, coordinates<V> const& b) {
  return {__builtin_shufflevector(a.x, b.x, I...), __builtin_shufflevector(a.y, b.y, I...),
          __builtin_shufflevector(a.z, b.z, I...)};
}

// The four faces in lanes.
template <class T>
void tetrahedron_faces_in_lanes(T const* p, T* value, T* dp) {
  using V = simd::pack<T, 4>;
  V const l0 = simd::load<V>(p), l1 = simd::load<V>(p + 4), l2 = simd::load<V>(p + 8);
  V const x01 = __builtin_shufflevector(l0, l1, 0, 3, 6, 6),
          y01 = __builtin_shufflevector(l0, l1, 1, 4, 7, 7),
          z01 = __builtin_shufflevector(l0, l1, 2, 5, 5, 5);
  coordinates<V> const at{__builtin_shufflevector(x01, l2, 0, 1, 2, 5),
                          __builtin_shufflevector(y01, l2, 0, 1, 2, 6),
                          __builtin_shufflevector(z01, l2, 0, 1, 4, 7)};
  auto const first = picked<0, 0, 0, 1>(at, at), e1 = picked<1, 2, 3, 2>(at, at) - first,
             e2 = picked<2, 3, 1, 3>(at, at) - first;
  auto const n = cross(e1, e2); // u x v, v x w, w x u, and of the far face
  V const l = math::sqrt<V>(n.x * n.x + n.y * n.y + n.z * n.z);
  T const volume = (e1.x[0] * n.x[1] + e1.y[0] * n.y[1] + e1.z[0] * n.z[1]) * T(1.0 / 6);
  *value = simd::sum<V>(l) * T(0.5) + volume * volume;
  auto const g = n * (math::broadcast<V>(T(0.5)) / l), de1 = cross(e2, g), de2 = cross(g, e1),
             dfirst = de1 + de2;
  T const k = volume * T(1.0 / 3);
  auto const far_and_near = picked<3, 1, 2, 0>(n, n) * V{-k, k, k, k};
  // contributions at each point: a: -first 0, 1, 2; b: e1 0, e2 2, -first 3; c: e2 0, e1 1, e1 3; d: e2 1, e1 2, e2 3
  coordinates<V> const minus = dfirst * math::broadcast<V>(T(-1));
  auto const s1 = picked<0, 4, 5, 6>(minus, de1), s2 = picked<1, 3, 7, 7>(minus, de1),
             s3 = picked<2, 6, 4, 7>(minus, de2);
  auto const s2d = picked<0, 1, 2, 5>(s2, de2);
  auto const d = (s1 + s2d) + (s3 + far_and_near);
  V const xy = __builtin_shufflevector(d.x, d.y, 0, 4, 1, 5),
          yz = __builtin_shufflevector(d.y, d.z, 1, 5, 2, 6),
          zx = __builtin_shufflevector(d.z, d.x, 2, 7, 3, 0);
  simd::store<V>(dp, __builtin_shufflevector(xy, d.z, 0, 1, 4, 2));
  simd::store<V>(dp + 4, __builtin_shufflevector(yz, d.x, 0, 1, 6, 2));
  simd::store<V>(dp + 8, __builtin_shufflevector(zx, d.y, 0, 1, 7, 2));
}

// Plain loops: an array for every vector, a loop for every operation, one statement of the chain rule after the other.
template <class T>
struct plain {
  static void cross(T const* a, T const* b, T* r) {
    for (int i = 0; i < 3; ++i) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
  }
  static T dot(T const* a, T const* b) {
    T s = 0;
    for (int i = 0; i < 3; ++i) s += a[i] * b[i];
    return s;
  }
  // The adjoint of r = a x b.
  static void cross_back(T const* a, T const* b, T const* dr, T* da, T* db) {
    T t[3];
    cross(b, dr, t);
    for (int i = 0; i < 3; ++i) da[i] += t[i];
    cross(dr, a, t);
    for (int i = 0; i < 3; ++i) db[i] += t[i];
  }

  static void dihedral(T const* p, T* value, T* dp) {
    T e[3][3], m[3], n[3], dm[3], dn[3], de[3][3] = {};
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) e[k][i] = p[3 * (k + 1) + i] - p[3 * k + i];
    cross(e[0], e[1], m), cross(e[1], e[2], n);
    T const mn = dot(m, n), mm = dot(m, m), nn = dot(n, n), lm = std::sqrt(mm), ln = std::sqrt(nn);
    *value = 1 - mn / (lm * ln);
    for (int i = 0; i < 3; ++i) {
      dm[i] = mn / (mm * lm * ln) * m[i] - n[i] / (lm * ln);
      dn[i] = mn / (nn * lm * ln) * n[i] - m[i] / (lm * ln);
    }
    cross_back(e[0], e[1], dm, de[0], de[1]), cross_back(e[1], e[2], dn, de[1], de[2]);
    for (int i = 0; i < 12; ++i) dp[i] = 0;
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) dp[3 * (k + 1) + i] += de[k][i], dp[3 * k + i] -= de[k][i];
  }

  static void tetrahedron(T const* p, T* value, T* dp) {
    constexpr int faces[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 2, 3}};
    T s = 0;
    for (int i = 0; i < 12; ++i) dp[i] = 0;
    for (auto const& f : faces) {
      T a[3], b[3], n[3], dn[3], da[3] = {}, db[3] = {};
      for (int i = 0; i < 3; ++i)
        a[i] = p[3 * f[1] + i] - p[3 * f[0] + i], b[i] = p[3 * f[2] + i] - p[3 * f[0] + i];
      cross(a, b, n);
      T const l = std::sqrt(dot(n, n));
      s += l / 2;
      for (int i = 0; i < 3; ++i) dn[i] = n[i] / (2 * l);
      cross_back(a, b, dn, da, db);
      for (int i = 0; i < 3; ++i)
        dp[3 * f[1] + i] += da[i], dp[3 * f[2] + i] += db[i], dp[3 * f[0] + i] -= da[i] + db[i];
    }
    T e[3][3], vw[3], t[3][3] = {};
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) e[k][i] = p[3 * (k + 1) + i] - p[i];
    cross(e[1], e[2], vw);
    T const volume = dot(e[0], vw) / 6;
    *value = s + volume * volume;
    T dvw[3];
    for (int i = 0; i < 3; ++i) t[0][i] = volume / 3 * vw[i], dvw[i] = volume / 3 * e[0][i];
    cross_back(e[1], e[2], dvw, t[1], t[2]);
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) dp[3 * (k + 1) + i] += t[k][i], dp[i] -= t[k][i];
  }
};

// As a user writes them, with the same little vector, of expressions.
inline constexpr auto point = [](auto const& p) { return vec{p(0), p(1), p(2)}; };

inline constexpr auto dihedral_energy = [](auto a, auto b, auto c, auto d) {
  auto const u = point(b) - point(a), v = point(c) - point(b), w = point(d) - point(c);
  auto const m = cross(u, v), n = cross(v, w);
  return 1.0 - dot(m, n) / ct::sqrt(dot(m, m) * dot(n, n));
};

inline constexpr auto surface_and_volume = [](auto a, auto b, auto c, auto d) {
  auto const u = point(b) - point(a), v = point(c) - point(a), w = point(d) - point(a);
  auto const area = [](auto const& p, auto const& q) {
    auto const n = cross(p, q);
    return 0.5 * ct::sqrt(dot(n, n));
  };
  auto const volume = dot(u, cross(v, w)) / 6.0;
  return area(u, v) + area(v, w) + area(w, u) + area(v - u, w - u) + volume * volume;
};

template <class T, class F>
bench::contestant ours_of(F f, T const* p, T* value, T* dp) {
  using input = ct::view<T const, 3>;
  using output = ct::view<T, 3>;
  return bench::ours(ct::value_and_grad<0, 1, 2, 3>(f),
                     bench::into(*value, output(dp), output(dp + 3), output(dp + 6), output(dp + 9)),
                     input(p), input(p + 3), input(p + 6), input(p + 9));
}

template <class T>
struct tetrahedron_buffers {
  bench::buffer<T> p{12}, dp{12}, value{1};
  tetrahedron_buffers() {
    T const points[12] = {T(0.1), T(-0.2), T(1.3), T(1.1), T(0.2), T(-0.1),
                          T(1.4), T(1.3),  T(0.2), T(0.3), T(1.9), T(1.2)};
    std::copy(points, points + 12, p.begin());
  }
  bench::comparison compared(char const* name) {
    bench::comparison c{name, bench::element_name<T>, "4x3", 12, {}, {}, {}, {}};
    c.results = {bench::written("value", value.data(), 1, 12), bench::written("dp", dp.data(), 12, 12)};
    return c;
  }
};

template <class T>
void measure_dihedral(bench::suite& suite) {
  tetrahedron_buffers<T> b;
  T *pp = b.p.data(), *pv = b.value.data(), *pd = b.dp.data();
  bench::comparison c = b.compared("dihedral angle");
  c.hand = {bench::named("scalars", [=] { dihedral_by_hand(pp, pv, pd); }),
            bench::named("scalars, one division", [=] { dihedral_one_division(pp, pv, pd); }),
            bench::named("a vector in lanes", [=] { dihedral_in_lanes(pp, pv, pd); })};
  c.ours = {ours_of(dihedral_energy, pp, pv, pd)};
  c.loops = {bench::named("loops", [=] { plain<T>::dihedral(pp, pv, pd); })};
  suite.run(c);
}

template <class T>
void measure_tetrahedron(bench::suite& suite) {
  tetrahedron_buffers<T> b;
  T *pp = b.p.data(), *pv = b.value.data(), *pd = b.dp.data();
  bench::comparison c = b.compared("tetrahedron");
  c.hand = {bench::named("scalars", [=] { tetrahedron_by_hand(pp, pv, pd); }),
            bench::named("roots in lanes", [=] { tetrahedron_roots_in_lanes(pp, pv, pd); }),
            bench::named("faces in lanes", [=] { tetrahedron_faces_in_lanes(pp, pv, pd); })};
  c.ours = {ours_of(surface_and_volume, pp, pv, pd)};
  c.loops = {bench::named("loops", [=] { plain<T>::tetrahedron(pp, pv, pd); })};
  suite.run(c);
}

bench::entry const angle("dihedral angle", [](bench::suite& suite) {
  measure_dihedral<double>(suite), measure_dihedral<float>(suite);
});
bench::entry const solid("tetrahedron", [](bench::suite& suite) {
  measure_tetrahedron<double>(suite), measure_tetrahedron<float>(suite);
});

} // namespace
