// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_COTANGENT_HPP
#define COTANGENT_COTANGENT_HPP

// Everything that needs no foreign header beyond Boost.Hana.

#endif
