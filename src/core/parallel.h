// SPDX-License-Identifier: Apache-2.0
//
// Splitting work over threads: our own pool, or the caller's.
#pragma once

#include <atomic>
#include <cstdint>

namespace onnx_argmax {

// A call's tasks. Whoever takes part draws numbers until none is left.
struct Tasks {
  void (*task)(void* context, int64_t i);
  void* context;
  int64_t count;
  std::atomic<int64_t> next{0};

  void work() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(context, i);
  }
};

struct Executor {
  // Runs task(context, i) for every i in [0, tasks), in any order, on at most so many threads,
  // and returns when all have run.
  void (*run)(void* state, int threads, int64_t tasks, void (*task)(void* context, int64_t i),
              void* context);
  void* state;
  int threads;  // most threads that are wanted
};

// The process's own pool. The calling thread works too; the others are started when first
// needed, wait between calls, and are started anew after a fork.
Executor own_pool(int threads) noexcept;

// CPUs that the process's affinity and its control group's quota allow; at least 1.
int available_cpus() noexcept;

}  // namespace onnx_argmax
