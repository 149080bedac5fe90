// SPDX-License-Identifier: Apache-2.0
//
// The runtime's own threads as the core's executor: the session's number of threads, or a pool
// that sessions share, is what the application has set.
#pragma once

#include "parallel.h"
#include "runtime.h"

namespace onnx_argmax::ort {

struct RuntimePool {
  const Runtime& runtime;
  const KernelContext& context;
};

// `pool` outlives the call that the executor is for.
Executor runtime_pool(RuntimePool& pool, int threads) noexcept;

}  // namespace onnx_argmax::ort
