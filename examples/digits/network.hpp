// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_NETWORK_HPP
#define COTANGENT_EXAMPLES_DIGITS_NETWORK_HPP

// [include]
#include <cotangent/cotangent.hpp>
// [/include]

#include <boost/hana/accessors.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>

#include <cstdint>
#include <tuple>

namespace digits {

// [names]
namespace ct = cotangent;
namespace hana = boost::hana;
// [/names]

// [parameters]
template <template <class, ct::extent...> class Tensor>
struct mlp {
  BOOST_HANA_DEFINE_STRUCT(mlp, (Tensor<float, 64, 32>, w1), (Tensor<float, 32>, b1),
                           (Tensor<float, 32, 10>, w2), (Tensor<float, 10>, b2));
};

using parameters = mlp<ct::tensor>;
// [/parameters]

// [loss]
inline constexpr auto logits = [](auto const& p, auto x) {
  auto h = ct::tanh(ct::matmul(x, p.w1) + p.b1);
  return ct::matmul(h, p.w2) + p.b2;
};

inline constexpr auto loss = [](auto const& p, auto x, auto labels) {
  return ct::mean(ct::cross_entropy(digits::logits(p, x), labels));
};
// [/loss]

// [accuracy]
inline constexpr auto accuracy = [](auto const& p, auto x, auto labels) {
  auto const read = ct::argmax(digits::logits(p, x));
  return ct::mean(ct::convert<float>(read == ct::convert<std::int64_t>(labels)));
};
// [/accuracy]

// [adam]
inline constexpr auto adam = [](auto p, auto const& gradient, auto m, auto v, auto step) {
  hana::for_each(hana::accessors<decltype(p)>(), [&](auto const& member) {
    auto const of = hana::second(member);
    ct::adam{.learning_rate = 0.01}.update(of(p), of(gradient), of(m), of(v), step);
  });
  return std::tuple(p, m, v);
};
// [/adam]

// [batch]
inline constexpr int batch = 50;
using images = ct::tensor<float, batch, 64>;
using labels_of_images = ct::tensor<std::int32_t, batch>;

using gradient_step = ct::program<decltype(ct::value_and_grad(loss)), parameters, images, labels_of_images>;
using adam_step =
    ct::program<decltype(ct::compiled(adam)), parameters, parameters, parameters, parameters, float>;
// [/batch]

} // namespace digits

#endif
