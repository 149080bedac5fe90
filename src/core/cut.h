// SPDX-License-Identifier: Apache-2.0
//
// Cutting a plan: tiles of positions, parts of the reduced axis.
#pragma once

#include <cstdint>

#include "kernels.h"
#include "plan.h"

namespace onnx_argmax {

// Keys of a tile, and as much again for indices. The longer the tile, the longer the runs of
// memory that each channel is read in. Measured from 2 to 64 KiB: 16 KiB is best where the tile
// is read and written for several passes of channels; where one pass does, everything is in
// registers and a smaller tile leaves more of the first-level cache to the result.
inline constexpr int64_t kTileBytes = 16 * 1024;
inline constexpr int64_t kOnePassTileBytes = 4 * 1024;
// Tiles with wide indices or keys that are merged need 16 bytes more for each position.
inline constexpr int64_t kWideTilePositions = 2048;
// Tiles of arbitrary positions keep two offsets for each.
inline constexpr int64_t kPlacedPositions = 256;
inline constexpr int64_t kPackBytes = 16 * 1024;

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Where part `part` begins when so many are cut into parts of about one size; without overflow
// as long as parts * parts fits.
constexpr int64_t share(int64_t count, int64_t part, int64_t parts) {
  return count / parts * part + count % parts * part / parts;
}

// Channels that lane-wide indices can number.
constexpr int64_t lane_window(int item_size) {
  return item_size >= 8 ? INT64_MAX : int64_t{1} << (8 * item_size);
}

// Units (and tasks of several units) for each thread, so that a thread that is held up costs the
// others little.
inline constexpr int64_t kUnitsPerThread = 4;

// How a plan is cut. A unit is one tile over one part of the reduced axis.
struct Cut {
  int64_t run_tiles;  // tiles of one run of the innermost dimension; 0: tiles cross runs
  int64_t tile;       // positions of a tile, at most
  int64_t tiles;      // of all positions
  int64_t parts;      // of the reduced axis
};

// threads: how many the units should keep busy.
Cut make_cut(const Plan& plan, const Kernels& kernels, int threads) noexcept;

// A tile over a part of the reduced axis.
struct Unit {
  int64_t position;  // first of the tile
  int64_t count;
  int64_t part;
  int64_t from;  // part of the reduced axis, in the order of the walk
  int64_t to;
  int64_t channels() const { return to - from; }
};

// Units are counted over all tiles of the first part, then of the second...
Unit unit_at(const Plan& plan, const Cut& cut, int64_t number) noexcept;

}  // namespace onnx_argmax
