// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
