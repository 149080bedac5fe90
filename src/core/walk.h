// SPDX-License-Identifier: Apache-2.0
//
// Walking a plan in tiles: each tile is packed where it must be, reduced by a kernel of the
// level, and handed to the result or to partial results.
#pragma once

#include <cstdint>

#include "argmax.h"
#include "cut.h"
#include "kernels.h"
#include "partial.h"
#include "plan.h"

namespace onnx_argmax {

// Where the results of one unit go.
struct Sink {
  // null: written to the plan's result. Otherwise merged, flattened into one partial result,
  // else into the one of the unit's part and each position: [parts][positions].
  Partial* partials;
};

// Runs the units [first, last) of the plan, counted over all tiles of the first part, then of
// the second...
Status run_units(const Plan& plan, const Kernels& kernels, const Cut& cut, int64_t first,
                 int64_t last, Sink sink) noexcept;

// Writes merged partial results: one for each position, or one alone where flattened.
Status store_partials(const Plan& plan, const Kernels& kernels, const Partial* partials) noexcept;

}  // namespace onnx_argmax
