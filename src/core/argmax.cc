// SPDX-License-Identifier: Apache-2.0
#include "argmax.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "cut.h"
#include "dispatch.h"
#include "plan.h"
#include "walk.h"

namespace onnx_argmax {
namespace {

// A thread costs some ten microseconds to wake, in a virtual machine up to fifty; a mebibyte takes
// about as long.
constexpr int64_t kGrainBytes = 1 << 20;
// Long rows that lie in a cache go at three times the speed of anything else (rows of 1000
// float32, one thread and two that had slept: 4 MB 53 and 67 us, 6 MB 82 and 90, 8 MB 114 and 108,
// 12 MB 197 and 155).
constexpr int64_t kLongRowGrains = 3;
std::atomic<int64_t> grain_bytes{kGrainBytes};

struct Job {
  const Plan& plan;
  const Kernels& kernels;
  const Cut& cut;
  int64_t units;
  int64_t tasks;
  Partial* partials;  // null where results are written at once
  std::atomic<bool>& out_of_memory;

  // Flattened, each task merges into a partial result of its own.
  static void run(void* context, int64_t task) {
    const auto& job = *static_cast<const Job*>(context);
    const int64_t first = share(job.units, task, job.tasks);
    const int64_t last = share(job.units, task + 1, job.tasks);
    Partial* const into =
        job.partials != nullptr && job.plan.flatten ? job.partials + task : job.partials;
    if (run_units(job.plan, job.kernels, job.cut, first, last, {into}) != Status::kOk) {
      job.out_of_memory.store(true, std::memory_order_relaxed);
    }
  }
};

// Merges rows of partial results into the first row.
void merge_rows(Partial* partials, int64_t rows, int64_t count, bool select_last_index) {
  for (int64_t row = 1; row < rows; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      merge(partials[i], partials[row * count + i], select_last_index);
    }
  }
}

int threads_worth(const Plan& plan, int threads) {
  if (plan.walk == Walk::kConstant) return 1;  // a small part of what writing the result costs
  int64_t bytes = plan.item_size;
  if (__builtin_mul_overflow(bytes, plan.positions, &bytes) ||
      __builtin_mul_overflow(bytes, plan.length, &bytes)) {
    return threads;  // broadcast axes: more than any memory has
  }
  const bool long_rows =
      plan.walk == Walk::kRows && plan.length > short_row_bytes(plan.item_size) / plan.item_size;
  const int64_t grains = bytes / grain_bytes.load(std::memory_order_relaxed);
  return static_cast<int>(
      std::clamp<int64_t>(long_rows ? grains / kLongRowGrains : grains, 1, std::max(threads, 1)));
}

}  // namespace

Status argmax(const Request& request) noexcept {
  const Kernels& kernels = request.kernels != nullptr ? *request.kernels : *active_level().kernels;
  const Plan plan = make_plan(request, kernels.vector_bytes);
  if (plan.positions == 0) return Status::kOk;
  const int threads = threads_worth(plan, request.executor.threads);
  const Cut cut = make_cut(plan, kernels, threads);
  const int64_t units = cut.tiles * cut.parts;
  const int64_t tasks = threads == 1 ? 1 : std::min<int64_t>(units, threads * kUnitsPerThread);
  const bool partial = cut.parts > 1 || (plan.flatten && plan.walk != Walk::kConstant);

  const int64_t rows = plan.flatten ? tasks : cut.parts;
  const int64_t count = plan.flatten ? 1 : plan.positions;
  Partial alone = kNothingYet;
  std::unique_ptr<Partial[]> many;
  Partial* partials = nullptr;
  if (partial && rows * count == 1) {
    partials = &alone;
  } else if (partial) {
    many.reset(new (std::nothrow) Partial[static_cast<size_t>(rows * count)]);
    if (many == nullptr) return Status::kOutOfMemory;
    std::fill_n(many.get(), rows * count, kNothingYet);
    partials = many.get();
  }

  std::atomic<bool> out_of_memory{false};
  Job job{plan, kernels, cut, units, tasks, partials, out_of_memory};
  if (tasks == 1) {
    Job::run(&job, 0);
  } else {
    request.executor.run(request.executor.state, threads, tasks, Job::run, &job);
  }
  if (out_of_memory.load(std::memory_order_relaxed)) return Status::kOutOfMemory;
  if (!partial) return Status::kOk;
  merge_rows(partials, rows, count, request.select_last_index);
  return store_partials(plan, kernels, partials);
}

void set_grain_bytes(int64_t bytes) noexcept {
  grain_bytes.store(bytes < 1 ? kGrainBytes : bytes, std::memory_order_relaxed);
}

}  // namespace onnx_argmax
