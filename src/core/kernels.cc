// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each level, with the level's flags and ONNX_ARGMAX_TABLE naming the one
// symbol that the object defines.
#include "kernels.h"

#include "columns-inl.h"
#include "limit-inl.h"
#include "move-inl.h"
#include "order.h"
#include "pairs-inl.h"
#include "rows-inl.h"
#include "short-rows-inl.h"

namespace onnx_argmax {
namespace {

template <class Order>
constexpr TypeKernels type_kernels() {
  return {columns<Order>, rows<Order>, short_rows<Order>, merge_window<Order>, order_keys<Order>};
}

template <class Index>
constexpr void set_store(Kernels& table) {
  auto& by_result = table.store[size_slot(sizeof(Index))];
  by_result[0] = store_indices<Index, uint8_t>;
  by_result[1] = store_indices<Index, uint16_t>;
  by_result[2] = store_indices<Index, uint32_t>;
  by_result[3] = store_indices<Index, uint64_t>;
  table.store_pairs[size_slot(sizeof(Index))] = store_pairs<Index>;
}

constexpr Kernels make_kernels() {
  Kernels table{};
  table.vector_bytes = kVectorBytes;
  const auto set = [&](ElementType type, TypeKernels kernels) {
    table.types[static_cast<int>(type)] = kernels;
  };
  set(ElementType::kFloat, type_kernels<FloatOrder32>());
  set(ElementType::kUint8, type_kernels<IntegerOrder<uint8_t>>());
  set(ElementType::kInt8, type_kernels<IntegerOrder<int8_t>>());
  set(ElementType::kUint16, type_kernels<IntegerOrder<uint16_t>>());
  set(ElementType::kInt16, type_kernels<IntegerOrder<int16_t>>());
  set(ElementType::kInt32, type_kernels<IntegerOrder<int32_t>>());
  set(ElementType::kInt64, type_kernels<IntegerOrder<int64_t>>());
  set(ElementType::kBool, type_kernels<BoolOrder>());
  set(ElementType::kFloat16, type_kernels<Float16Order>());
  set(ElementType::kDouble, type_kernels<DoubleOrder>());
  set(ElementType::kUint32, type_kernels<IntegerOrder<uint32_t>>());
  set(ElementType::kUint64, type_kernels<IntegerOrder<uint64_t>>());
  set(ElementType::kBfloat16, type_kernels<Bfloat16Order>());

  table.pack[0] = pack<uint8_t>;
  table.pack[1] = pack<uint16_t>;
  table.pack[2] = pack<uint32_t>;
  table.pack[3] = pack<uint64_t>;

  set_store<uint8_t>(table);
  set_store<uint16_t>(table);
  set_store<uint32_t>(table);
  set_store<uint64_t>(table);

  table.finish_streams = finish_streams;
  table.merge_pairs = merge_pairs;

  table.read = read_bytes;
  table.write = write_bytes;
  return table;
}

}  // namespace

extern const Kernels ONNX_ARGMAX_TABLE;
constinit const Kernels ONNX_ARGMAX_TABLE = make_kernels();

}  // namespace onnx_argmax
