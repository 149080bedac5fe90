// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

namespace onnx_argmax::ort {
namespace {

void take_part(void* tasks, size_t /*number*/) noexcept { static_cast<Tasks*>(tasks)->work(); }

// The runtime is asked for as many parts as threads are wanted, and each draws tasks until none is
// left, so that a thread which comes late costs nothing.
void run(void* state, int threads, int64_t count, void (*task)(void* context, int64_t i),
         void* context) {
  const auto& pool = *static_cast<const RuntimePool*>(state);
  Tasks tasks{task, context, count};
  const auto parts = static_cast<size_t>(threads < count ? threads : count);
  pool.runtime.succeeds(
      pool.runtime.api().parallel_for(&pool.context, take_part, parts, parts, &tasks));
  tasks.work();  // whatever the runtime left undone, if it refused
}

}  // namespace

Executor runtime_pool(RuntimePool& pool, int threads) noexcept { return {run, &pool, threads}; }

}  // namespace onnx_argmax::ort
