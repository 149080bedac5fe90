// SPDX-License-Identifier: Apache-2.0
//
// What benchmarks/ measures the core against: the time to read the bytes once, and to write the
// result's once, by the same threads and the same instructions.
#pragma once

#include <cstdint>

#include "parallel.h"

namespace onnx_argmax {

struct LimitRequest {
  const void* data;
  int64_t bytes;
  void* out;  // overwritten with whatever
  int64_t out_bytes;
  bool past_caches;  // write with stores that go past the caches
  Executor executor;
};

// Gives a number that depends on every byte of the data.
uint64_t read_and_write(const LimitRequest& request) noexcept;

}  // namespace onnx_argmax
