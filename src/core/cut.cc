// SPDX-License-Identifier: Apache-2.0
#include "cut.h"

#include <algorithm>

namespace onnx_argmax {
namespace {

// Below this a tile's rows of memory are so short that prefetching does not set in: threads rather
// share the channels of a tile (4096 by 4096 float32, reduced along axis 0: 40 GB/s in tiles of
// 16 KiB, 27 of 4).
constexpr int64_t kLeastTileBytes = 8 * 1024;
// A packed channel of a tile: eight of them fill the packing buffer.
constexpr int64_t kPackedTileBytes = kPackBytes / 8;

// unit_at() moves the edges of tiles down to a grain, which must not make a tile too wide.
int64_t tiles_of_run(int64_t run, int64_t tile, int64_t grain) {
  const int64_t tiles = ceil_div(run, tile);
  const bool fits = run % (tiles * grain) == 0 || ceil_div(run, tiles) + grain <= tile;
  return tiles == 1 || fits ? tiles : ceil_div(run, tile - grain);
}

// The product without overflow: what does not fit is large enough.
int64_t saturated(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace

Cut make_cut(const Plan& plan, const Kernels& kernels, int threads) noexcept {
  const int64_t wanted = threads == 1 ? 1 : threads * kUnitsPerThread;
  const int64_t item = plan.item_size;
  const bool constant_runs =
      plan.walk == Walk::kConstant && plan.rank > 0 && plan.dimensions[0].size >= kPlacedPositions;
  const bool runs =
      constant_runs || plan.walk == Walk::kColumns || plan.walk == Walk::kFoldedColumns ||
      (plan.walk == Walk::kPackedColumns && plan.dimensions[0].stride_bytes == item &&
       plan.dimensions[0].size * item >= kernels.vector_bytes);
  Cut cut{0, 0, 0, 1};
  if (runs) {
    const int64_t run = plan.dimensions[0].size;
    const int64_t run_count = plan.positions / run;
    const int64_t bytes = plan.walk == Walk::kPackedColumns ? kPackedTileBytes
                          : plan.length <= kPassChannels    ? kOnePassTileBytes
                                                            : kTileBytes;
    const bool wide = constant_runs || plan.flatten || plan.out_keys ||
                      plan.length > lane_window(plan.item_size);
    const int64_t most = wide ? std::min(bytes / item, kWideTilePositions) : bytes / item;
    const int64_t least = std::min(kLeastTileBytes / item, most);
    const int64_t fair = ceil_div(saturated(run, run_count), wanted);
    cut.tile = std::clamp(fair, least, most);
    if (fair < least) cut.tile = std::min(cut.tile, kWideTilePositions);
    cut.run_tiles = tiles_of_run(run, cut.tile, kMaxVectorBytes / item);
    cut.tiles = cut.run_tiles * run_count;
  } else {
    cut.tile = std::clamp(ceil_div(plan.positions, wanted), int64_t{1}, kPlacedPositions);
    cut.tiles = ceil_div(plan.positions, cut.tile);
  }
  if (cut.tiles < wanted && plan.walk != Walk::kConstant && cut.tile <= kWideTilePositions) {
    // The folded columns of every part must fill a vector.
    const int64_t least = plan.walk == Walk::kFoldedColumns
                              ? ceil_div(kernels.vector_bytes / item, plan.dimensions[0].size)
                              : 1;
    cut.parts = std::clamp(wanted / cut.tiles, int64_t{1}, plan.length / least);
  }
  return cut;
}

Unit unit_at(const Plan& plan, const Cut& cut, int64_t number) noexcept {
  const int64_t part = number / cut.tiles;
  const int64_t tile = number % cut.tiles;
  Unit unit;
  unit.part = part;
  unit.from = share(plan.length, part, cut.parts);
  unit.to = share(plan.length, part + 1, cut.parts);
  if (cut.run_tiles == 0) {
    unit.position = tile * cut.tile;
    unit.count = std::min(cut.tile, plan.positions - unit.position);
    return unit;
  }
  // The tiles of a run are of about one width, so that none is narrower than a vector, and
  // begin at whole vectors of the widest level.
  const int64_t run = plan.dimensions[0].size;
  const int64_t grain = kMaxVectorBytes / plan.item_size;
  const auto edge = [&](int64_t i) {
    return i == cut.run_tiles ? run : share(run, i, cut.run_tiles) / grain * grain;
  };
  const int64_t within = tile % cut.run_tiles;
  unit.position = tile / cut.run_tiles * run + edge(within);
  unit.count = edge(within + 1) - edge(within);
  return unit;
}

}  // namespace onnx_argmax
