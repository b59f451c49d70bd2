// SPDX-License-Identifier: BSL-1.0
// The half of run-time graphs that is compiled once for all files.
#include <cotangent/separate.hpp>
