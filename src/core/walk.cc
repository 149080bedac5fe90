// SPDX-License-Identifier: Apache-2.0
#include "walk.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace onnx_argmax {
namespace {

// A result of so many bytes is written past the caches: little of it would still be in one when
// it is read, and a store through them first reads the line that it replaces (19 planes of uint8:
// 1.6 ms through, 1.4 past; rows of 19 uint8: 3.2 and 2.3).
constexpr int64_t kPastCachesBytes = 8 * 1024 * 1024;

// On the stack of the thread that runs the units: no call allocates memory for its tiles.
// A slot of one more vector than the tile takes the columns kernel's overlapping tail.
// A tile's keys, indices and packed items. Each thread that ever did work keeps one: 100 KiB would
// be too much for a small stack, and more than a small call may spend on asking for memory.
struct Scratch {
  alignas(kMaxVectorBytes) uint8_t keys[kTileBytes + kMaxVectorBytes];
  alignas(kMaxVectorBytes) uint8_t index[kTileBytes + kMaxVectorBytes];
  alignas(kMaxVectorBytes) uint8_t best_keys[kWideTilePositions * 4];  // wider lanes number all
  alignas(kMaxVectorBytes) int64_t best_index[kWideTilePositions];
  alignas(kMaxVectorBytes) int64_t ordered_keys[kWideTilePositions];
  alignas(kMaxVectorBytes) uint8_t pack[kPackBytes + kMaxVectorBytes];
  int64_t in_offsets[kPlacedPositions];
  int64_t out_offsets[kPlacedPositions];
};

// The calling thread's; null where there is no memory for it.
Scratch* scratch_of_thread() noexcept {
  thread_local std::unique_ptr<Scratch> scratch;
  if (scratch == nullptr) scratch.reset(new (std::nothrow) Scratch);
  return scratch.get();
}

// Memory is granted by pages of this size or a multiple of it.
constexpr uintptr_t kPageBytes = 4096;

bool is_past_caches(const Plan& plan) {
  return plan.positions >= kPastCachesBytes / plan.out_item_size;
}

// How far ahead of a tile that is packed memory is asked for (rows of 2 float32: 8.6 GB/s without,
// 17.5 with 4 to 16 KiB; of 3: 14, and 19 with 4 or 8).
constexpr uintptr_t kPackAheadBytes = 8 * 1024;

// The address may be nobody's, which a prefetch may name but a pointer must not.
void prefetch_lines(const uint8_t* tile, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += kLineBytes) {
    const uintptr_t address =
        reinterpret_cast<uintptr_t>(tile) + static_cast<uintptr_t>(line) + kPackAheadBytes;
    __builtin_prefetch(reinterpret_cast<const void*>(address));
  }
}

// Where a tile's positions lie: at a stride where they are in one run of the innermost
// dimension, else at offsets (Scratch).
struct Places {
  int64_t in_start;
  int64_t in_stride;
  int64_t out_start;
  int64_t out_stride;
  const int64_t* in_offsets;
  const int64_t* out_offsets;

  int64_t in(int64_t i) const {
    return in_offsets != nullptr ? in_offsets[i] : in_start + i * in_stride;
  }
  int64_t out(int64_t i) const {
    return out_offsets != nullptr ? out_offsets[i] : out_start + i * out_stride;
  }
};

// A tile's indices along its part of the reduced axis, in the order of the walk.
struct Found {
  const void* index;
  int index_bytes;
};

class Worker {
 public:
  Worker(const Plan& plan, const Kernels& kernels, Sink sink, Scratch& scratch)
      : plan_(plan),
        kernels_(kernels),
        type_(kernels.types[static_cast<int>(plan.type)]),
        sink_(sink),
        keys_wanted_(sink.partials != nullptr || plan.out_keys ||
                     plan.walk == Walk::kFoldedColumns),
        scratch_(scratch) {}

  void run(const Unit& unit) {
    const Places places = place(unit.position, unit.count);
    const Found found = reduce(unit, places);
    if (sink_.partials == nullptr) {
      write(unit, places, found);
    } else {
      merge_partials(unit, places, found);
    }
  }

  Places place(int64_t position, int64_t count);
  void write(const Unit& unit, const Places& places, const Found& found);
  void store_results(StoreArgs args, int index_bytes, const int64_t* ordered_keys,
                     const Places& places) const;

 private:
  // Channels at a stride; several of them make up what the columns kernel walks.
  struct Channels {
    const uint8_t* data;
    int64_t stride_bytes;
    int64_t count;
  };
  // How channels get to the columns kernel: as they lie, or packed by places.
  struct Packing {
    const Places* places;  // null: as they lie
    int64_t pitch_bytes;
  };

  Found reduce(const Unit& unit, const Places& places);
  Found rows(const Unit& unit, const Places& places);
  Found packed_rows(const Unit& unit, const Places& places);
  Found columns(const Unit& unit, const Places& places);
  Found packed_columns(const Unit& unit, const Places& places);
  Found folded_columns(const Unit& unit, const Places& places);
  Found reduce_channels(const Channels* channels, int segments, int64_t columns,
                        const Packing& packing);
  void reduce_rows(const uint8_t* const* rows, int64_t count, int64_t length, int64_t at);
  Found found_in_rows(int64_t count, int64_t length);
  void make_room(const uint8_t** rows, const Unit& unit, bool evenly_spaced);
  bool is_short(int64_t length) const {
    return length * plan_.item_size <= short_row_bytes(plan_.item_size);
  }
  void merge_partials(const Unit& unit, const Places& places, const Found& found);
  void tail_to_place(int64_t columns);
  void widen_index(const Found& found, int64_t count);
  void pack(const uint8_t* data, int64_t count, int64_t stride_bytes, const int64_t* offsets,
            uint8_t* to) const {
    kernels_.pack[size_slot(plan_.item_size)](
        {data, count, stride_bytes, offsets, plan_.byte_swapped, to});
  }

  const Plan& plan_;
  const Kernels& kernels_;
  const TypeKernels& type_;
  const Sink sink_;
  const bool keys_wanted_;  // reductions leave their keys in scratch_.ordered_keys
  int64_t constants_ = 0;   // kConstant: how many stand in scratch_.best_index
  Scratch& scratch_;
};

Places Worker::place(int64_t position, int64_t count) {
  int64_t at[kMaxRank];
  Places places{0, 0, plan_.flatten ? plan_.out_base : 0, 0, nullptr, nullptr};
  int64_t rest = position;
  for (int i = 0; i < plan_.rank; ++i) {
    const Dimension& d = plan_.dimensions[i];
    at[i] = i == plan_.rank - 1 ? rest : rest % d.size;
    rest /= d.size;
    places.in_start += at[i] * d.stride_bytes;
    places.out_start += at[i] * d.out_stride;
  }
  if (plan_.rank == 0) return places;
  const Dimension& inner = plan_.dimensions[0];
  places.in_stride = inner.stride_bytes;
  places.out_stride = inner.out_stride;
  if (at[0] + count <= inner.size) return places;

  int64_t in = places.in_start;
  int64_t out = places.out_start;
  for (int64_t i = 0;;) {
    for (; i < count && at[0] < inner.size; ++i, ++at[0]) {
      scratch_.in_offsets[i] = in;
      scratch_.out_offsets[i] = out;
      in += inner.stride_bytes;
      out += inner.out_stride;
    }
    if (i == count) break;
    for (int d = 0; at[d] == plan_.dimensions[d].size; ++d) {
      in += plan_.dimensions[d + 1].stride_bytes - at[d] * plan_.dimensions[d].stride_bytes;
      out += plan_.dimensions[d + 1].out_stride - at[d] * plan_.dimensions[d].out_stride;
      at[d] = 0;
      ++at[d + 1];
    }
  }
  places.in_offsets = scratch_.in_offsets;
  places.out_offsets = scratch_.out_offsets;
  return places;
}

Found Worker::reduce(const Unit& unit, const Places& places) {
  switch (plan_.walk) {
    case Walk::kRows:
      return rows(unit, places);
    case Walk::kPackedRows:
      return packed_rows(unit, places);
    case Walk::kColumns:
      return columns(unit, places);
    case Walk::kFoldedColumns:
      return folded_columns(unit, places);
    case Walk::kPackedColumns:
      return packed_columns(unit, places);
    case Walk::kConstant:
      break;
  }
  for (; constants_ < unit.count; ++constants_) scratch_.best_index[constants_] = plan_.constant;
  return {scratch_.best_index, 8};
}

// Rows of a tile, the results from number `at` on; all of a tile's rows are of one length.
void Worker::reduce_rows(const uint8_t* const* rows, int64_t count, int64_t length, int64_t at) {
  if (!is_short(length)) {
    type_.rows(
        {rows, count, length, plan_.last, scratch_.best_index + at, scratch_.ordered_keys + at});
    return;
  }
  // As many windows as lane-wide indices need, from the end that wins ties.
  uint8_t* const keys = scratch_.keys + at * plan_.item_size;
  uint8_t* const index = scratch_.index + at * plan_.item_size;
  const int64_t windows = (length - 1) / lane_window(plan_.item_size) + 1;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t window = plan_.last ? windows - 1 - i : i;
    const int64_t from = share(length, window, windows);
    const int64_t to = share(length, window + 1, windows);
    type_.short_rows({rows, from, count, to - from, plan_.last, keys, index});
    if (windows > 1) {
      type_.merge_window(keys, index, count, from, i == 0,
                         scratch_.best_keys + at * plan_.item_size, scratch_.best_index + at);
    }
  }
}

Found Worker::found_in_rows(int64_t count, int64_t length) {
  if (!is_short(length)) return {scratch_.best_index, 8};
  const bool wide = length > lane_window(plan_.item_size);
  if (keys_wanted_) {
    type_.order_keys(wide ? scratch_.best_keys : scratch_.keys, count, scratch_.ordered_keys);
  }
  if (wide) return {scratch_.best_index, 8};
  return {scratch_.index, plan_.item_size};
}
static_assert(kPlacedPositions <= kWideTilePositions);

// A row shorter than a quarter vector is read by a whole one. Inside the array that reads what
// lies behind the row; where it would pass the array's end, or a page's, the row is copied to
// where there is room. Of evenly spaced rows a group is looked at together.
void Worker::make_room(const uint8_t** rows, const Unit& unit, bool evenly_spaced) {
  constexpr int64_t kGroup = 16;
  uint8_t* room = scratch_.pack;
  const auto address = [&](int64_t i) { return reinterpret_cast<uintptr_t>(rows[i]); };
  const auto end = reinterpret_cast<uintptr_t>(plan_.data_end);
  const auto can_be_read = [&](int64_t first, int64_t last) {
    const uintptr_t reach = address(last) + kShortRowReach;
    return reach <= end && address(first) / kPageBytes == (reach - 1) / kPageBytes;
  };
  for (int64_t i = 0; i < unit.count; ++i) {
    if (evenly_spaced && i + kGroup <= unit.count && can_be_read(i, i + kGroup - 1)) {
      i += kGroup - 1;
    } else if (!can_be_read(i, i)) {
      std::memcpy(room, rows[i], static_cast<size_t>(unit.channels() * plan_.item_size));
      rows[i] = room;
      room += kShortRowReach;
    }
  }
}

Found Worker::rows(const Unit& unit, const Places& places) {
  const uint8_t* rows[kPlacedPositions];
  const uint8_t* const data = plan_.data + unit.from * plan_.stride_bytes;
  if (places.in_offsets == nullptr) {
    const uint8_t* const start = data + places.in_start;
    for (int64_t i = 0; i < unit.count; ++i) rows[i] = start + i * places.in_stride;
  } else {
    for (int64_t i = 0; i < unit.count; ++i) rows[i] = data + places.in_offsets[i];
  }
  if (unit.channels() * plan_.item_size < kShortRowReach) {
    make_room(rows, unit, places.in_offsets == nullptr);
  }
  reduce_rows(rows, unit.count, unit.channels(), 0);
  return found_in_rows(unit.count, unit.channels());
}
static_assert(kPackBytes >= kPlacedPositions * kShortRowReach);

// Rows that fit are packed side by side; of a longer one a piece at a time.
Found Worker::packed_rows(const Unit& unit, const Places& places) {
  const int64_t length = unit.channels();
  const int64_t pitch = round_up(length * plan_.item_size, kShortRowReach);
  const uint8_t* const data = plan_.data + unit.from * plan_.stride_bytes;
  if (pitch <= kPackBytes) {
    const int64_t batch = kPackBytes / pitch;
    const uint8_t* rows[kPlacedPositions];
    for (int64_t at = 0; at < unit.count; at += batch) {
      const int64_t count = std::min(batch, unit.count - at);
      for (int64_t i = 0; i < count; ++i) {
        uint8_t* const row = scratch_.pack + i * pitch;
        pack(data + places.in(at + i), length, plan_.stride_bytes, nullptr, row);
        rows[i] = row;
      }
      reduce_rows(rows, count, length, at);
    }
    return found_in_rows(unit.count, length);
  }
  // Pieces of about one size, so that none is a short row.
  const int64_t pieces = ceil_div(pitch, kPackBytes);
  const uint8_t* const row = scratch_.pack;
  for (int64_t i = 0; i < unit.count; ++i) {
    Partial best = kNothingYet;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int64_t from = share(length, piece, pieces);
      const int64_t count = share(length, piece + 1, pieces) - from;
      pack(data + places.in(i) + from * plan_.stride_bytes, count, plan_.stride_bytes, nullptr,
           scratch_.pack);
      reduce_rows(&row, 1, count, i);
      merge(best, {scratch_.ordered_keys[i], from + scratch_.best_index[i]}, plan_.last);
    }
    scratch_.ordered_keys[i] = best.ordered_key;
    scratch_.best_index[i] = best.index;
  }
  return {scratch_.best_index, 8};
}

// The kernel keeps the columns of a tail in a vector that overlaps its neighbour; here they move
// to where the column's number says.
void Worker::tail_to_place(int64_t columns) {
  const int64_t lanes = kernels_.vector_bytes / plan_.item_size;
  const int64_t tail = columns % lanes;
  if (tail == 0) return;
  const int64_t to = (columns - tail) * plan_.item_size;
  const int64_t from = to + (lanes - tail) * plan_.item_size;
  const auto bytes = static_cast<size_t>(tail * plan_.item_size);
  std::memmove(scratch_.keys + to, scratch_.keys + from, bytes);
  std::memmove(scratch_.index + to, scratch_.index + from, bytes);
}

// Runs the columns kernel over segments of channels. Lane-wide indices number 256 channels in
// 8-bit lanes and 65,536 in 16-bit ones: where there are more, a window of so many at a time is
// merged into wide indices.
Found Worker::reduce_channels(const Channels* channels, int segments, int64_t columns,
                              const Packing& packing) {
  const int64_t window = lane_window(plan_.item_size);
  int64_t total = 0;
  for (int s = 0; s < segments; ++s) total += channels[s].count;
  int64_t done = 0;    // channels in windows that are closed
  int64_t filled = 0;  // channels in the open window
  for (int s = 0; s < segments; ++s) {
    const Channels& segment = channels[s];
    for (int64_t c = 0; c < segment.count;) {
      int64_t take = std::min(segment.count - c, window - filled);
      const uint8_t* data = segment.data + c * segment.stride_bytes;
      int64_t stride = segment.stride_bytes;
      if (packing.places != nullptr) {
        take = std::min(take, kPackBytes / packing.pitch_bytes);
        const Places& places = *packing.places;
        for (int64_t i = 0; i < take; ++i) {
          pack(data + i * stride + (places.in_offsets == nullptr ? places.in_start : 0), columns,
               places.in_stride, places.in_offsets, scratch_.pack + i * packing.pitch_bytes);
        }
        data = scratch_.pack;
        stride = packing.pitch_bytes;
      }
      const int64_t width =
          packing.places != nullptr ? packing.pitch_bytes / plan_.item_size : columns;
      type_.columns(
          {data, stride, take, width, filled, filled > 0, scratch_.keys, scratch_.index});
      c += take;
      filled += take;
      if (filled < window && done + filled < total) continue;
      if (packing.places == nullptr) tail_to_place(columns);
      if (total > window) {
        type_.merge_window(scratch_.keys, scratch_.index, columns, done, done == 0,
                           scratch_.best_keys, scratch_.best_index);
      }
      done += filled;
      filled = 0;
    }
  }
  const bool wide = total > window;
  if (keys_wanted_) {
    type_.order_keys(wide ? scratch_.best_keys : scratch_.keys, columns, scratch_.ordered_keys);
  }
  if (wide) return {scratch_.best_index, 8};
  return {scratch_.index, plan_.item_size};
}

Found Worker::columns(const Unit& unit, const Places& places) {
  const Channels channels{plan_.data + unit.from * plan_.stride_bytes + places.in_start,
                          plan_.stride_bytes, unit.channels()};
  return reduce_channels(&channels, 1, unit.count, {nullptr, 0});
}

Found Worker::packed_columns(const Unit& unit, const Places& places) {
  const int64_t pitch = round_up(unit.count * plan_.item_size, kernels_.vector_bytes);
  const Channels channels{plan_.data + unit.from * plan_.stride_bytes, plan_.stride_bytes,
                          unit.channels()};
  if (places.in_offsets == nullptr && places.in_stride <= kLineBytes) {
    prefetch_lines(channels.data + places.in_start, unit.count * places.in_stride);
  }
  // Lanes beyond the last column are reduced and thrown away; they hold something defined.
  const int64_t used = unit.count * plan_.item_size;
  if (used < pitch) {
    for (int64_t end = pitch; end <= kPackBytes; end += pitch) {
      std::memset(scratch_.pack + end - pitch + used, 0, static_cast<size_t>(pitch - used));
    }
  }
  return reduce_channels(&channels, 1, unit.count, {&places, pitch});
}

// A run of few columns with the next channel right behind: several channels side by side are
// the columns of one wide channel. Channels that are left over at the end are had by one more
// wide channel that overlaps the one before; then the columns of each fold are merged.
Found Worker::folded_columns(const Unit& unit, const Places& places) {
  const int64_t columns = unit.count;
  const int64_t lanes = kernels_.vector_bytes / plan_.item_size;
  const int64_t vectors = unit.channels() * columns >= 64 * lanes ? 4 : 1;
  const int64_t folds = std::min(ceil_div(vectors * lanes, columns), unit.channels());
  const int64_t whole = unit.channels() / folds;
  const bool overlap = whole * folds != unit.channels();
  const int64_t last_fold = unit.channels() - folds;
  // The channels of a fold lie side by side upwards in memory, whichever way the walk goes.
  const int64_t to_lowest = plan_.stride_bytes < 0 ? (folds - 1) * plan_.stride_bytes : 0;
  const uint8_t* const data =
      plan_.data + unit.from * plan_.stride_bytes + places.in_start + to_lowest;
  const Channels channels[2] = {
      {data, folds * plan_.stride_bytes, whole},
      {data + last_fold * plan_.stride_bytes, 0, overlap ? 1 : 0},
  };
  const Found found = reduce_channels(channels, 2, folds * columns, {nullptr, 0});

  widen_index(found, folds * columns);
  for (int64_t column = 0; column < columns; ++column) {
    Partial best = kNothingYet;
    for (int64_t fold = 0; fold < folds; ++fold) {
      const int64_t at = fold * columns + column;
      const int64_t wide = scratch_.best_index[at];
      const int64_t first = wide < whole ? wide * folds : last_fold;
      const int64_t within = plan_.stride_bytes < 0 ? folds - 1 - fold : fold;
      merge(best, {scratch_.ordered_keys[at], first + within}, false);
    }
    scratch_.ordered_keys[column] = best.ordered_key;
    scratch_.best_index[column] = best.index;
  }
  return {scratch_.best_index, 8};
}

void Worker::widen_index(const Found& found, int64_t count) {
  if (found.index == scratch_.best_index) return;
  kernels_.store[size_slot(found.index_bytes)][size_slot(8)](
      {found.index, count, 0, false, reinterpret_cast<uint8_t*>(scratch_.best_index), false, 8,
       nullptr});
}

void Worker::write(const Unit& unit, const Places& places, const Found& found) {
  const int64_t bias = plan_.mirrored ? plan_.length - 1 - unit.from : unit.from;
  store_results({found.index, unit.count, plan_.index_offset + bias, plan_.mirrored, nullptr,
                 is_past_caches(plan_)},
                found.index_bytes, scratch_.ordered_keys, places);
}

// With a key in front of each index where the plan says so; places and the rest are filled in
// here.
void Worker::store_results(StoreArgs args, int index_bytes, const int64_t* ordered_keys,
                           const Places& places) const {
  args.out = plan_.out + (places.out_offsets != nullptr ? 0 : places.out_start);
  args.stride_bytes = places.out_stride;
  args.offsets = places.out_offsets;
  const int slot = size_slot(index_bytes);
  const int width = key_bytes(plan_.type);
  const bool adjacent = places.out_offsets == nullptr && places.out_stride == kPairBytes;
  if (plan_.out_keys && adjacent && width + plan_.out_item_size == kPairBytes) {
    args.out -= width;
    kernels_.store_pairs[slot](args, ordered_keys);
    return;
  }
  kernels_.store[slot][size_slot(plan_.out_item_size)](args);
  if (!plan_.out_keys) return;
  StoreArgs keys{ordered_keys, args.count};
  keys.out = args.out - width;
  keys.stride_bytes = args.stride_bytes;
  keys.offsets = args.offsets;
  kernels_.store[size_slot(8)][size_slot(width)](keys);
}

void Worker::merge_partials(const Unit& unit, const Places& places, const Found& found) {
  widen_index(found, unit.count);
  for (int64_t i = 0; i < unit.count; ++i) {
    const int64_t walked = unit.from + scratch_.best_index[i];
    const int64_t along = plan_.mirrored ? plan_.length - 1 - walked : walked;
    const int64_t index = plan_.flatten ? places.out(i) + along * plan_.index_scale : along;
    Partial& into =
        sink_.partials[plan_.flatten ? 0 : unit.part * plan_.positions + unit.position + i];
    merge(into, {scratch_.ordered_keys[i], index}, plan_.select_last_index);
  }
}

}  // namespace

Status run_units(const Plan& plan, const Kernels& kernels, const Cut& cut, int64_t first,
                 int64_t last, Sink sink) noexcept {
  Scratch* const scratch = scratch_of_thread();
  if (scratch == nullptr) return Status::kOutOfMemory;
  Worker worker(plan, kernels, sink, *scratch);
  for (int64_t number = first; number < last; ++number) worker.run(unit_at(plan, cut, number));
  if (is_past_caches(plan)) kernels.finish_streams();
  return Status::kOk;
}

Status store_partials(const Plan& plan, const Kernels& kernels, const Partial* partials) noexcept {
  Scratch* const scratch = scratch_of_thread();
  if (scratch == nullptr) return Status::kOutOfMemory;
  const int64_t count = plan.flatten ? 1 : plan.positions;
  Worker worker(plan, kernels, {nullptr}, *scratch);
  for (int64_t at = 0; at < count; at += kPlacedPositions) {
    const int64_t tile = std::min(kPlacedPositions, count - at);
    int64_t index[kPlacedPositions];
    int64_t ordered_keys[kPlacedPositions];
    for (int64_t i = 0; i < tile; ++i) {
      index[i] = partials[at + i].index;
      ordered_keys[i] = partials[at + i].ordered_key;
    }
    Places places = worker.place(at, tile);
    if (plan.flatten) places.out_start = 0;
    worker.store_results({index, tile, plan.index_offset}, 8, ordered_keys, places);
  }
  return Status::kOk;
}

}  // namespace onnx_argmax
