// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GEOMETRY_HPP
#define COTANGENT_GEOMETRY_HPP

// Geometry: quaternions; rotations of SO(3) and poses of SE(3), with exp and log; pinhole cameras. The functions take expressions of
// traced functions; with dynamic.hpp, included before or after this header, also of run-time graphs and eager variables.

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/geometry/cameras.hpp>
#include <cotangent/ops/geometry/jacobians.hpp>
#include <cotangent/ops/geometry/poses.hpp>
#include <cotangent/ops/geometry/rotations.hpp>
#include <cotangent/trace/expressions/lift.hpp>

COTANGENT_HEADER_END

#endif
