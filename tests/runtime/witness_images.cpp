// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Convolution and pooling by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <auto const& Table, class T> using pictured =
    group<Table, false, drawn<ct::expr<T, "n", 5, 4, "m">>, drawn<ct::expr<T, 3, 2, "m", 3>>,
          drawn<ct::expr<T, 6, 5, 2>>, drawn<ct::expr<T, 2, 3, 1, 4>>>;
using functions::images;
/// Some, to be compiled: as they stand in the list.
inline constexpr std::tuple compiled_images{std::get<1>(images), std::get<4>(images), std::get<5>(images),
                                            std::get<8>(images)};
} // namespace

TEST_CASE("every operation of images is in a function or its derivatives") {
  check_covered(ct::detail::convolution_operations{}, {pictured<images, double>::view()});
  check_covered(ct::detail::pooling_operations{}, {pictured<images, double>::view()});
}
TEST_CASE("convolution and pooling agree with their witnesses") {
  for (std::int64_t const n : {0, 1, 2})
    for (std::int64_t const m : {0, 1, 5}) {
      INFO(n << " images of " << m << " channels");
      check_functions(pictured<images, double>::view(), n, m);
      check_program<pictured<compiled_images, double>>(n, m);
    }
  check_functions(pictured<images, float>::view(), 1, 3);
}
