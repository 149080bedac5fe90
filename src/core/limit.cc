// SPDX-License-Identifier: Apache-2.0
#include "limit.h"

#include <algorithm>
#include <atomic>

#include "dispatch.h"

namespace onnx_argmax {
namespace {

// Small enough that a thread which is held up leaves the rest to the others, large enough that
// drawing a share costs nothing beside reading it.
constexpr int64_t kShareBytes = 1 << 18;
// Reads and writes alternate at a distance that stays in L1, as they do in a tile of the core.
constexpr int64_t kBlockBytes = 1 << 14;
constexpr int64_t kLineBytes = 64;

struct Job {
  const LimitRequest& request;
  const Kernels& kernels;
  int64_t tasks;
  std::atomic<uint64_t> seen{0};

  int64_t edge(int64_t bytes, int64_t number, int64_t of) const {
    return number == of ? bytes : bytes / of * number / kLineBytes * kLineBytes;
  }

  static void run(void* context, int64_t task) {
    auto& job = *static_cast<Job*>(context);
    const LimitRequest& request = job.request;
    const auto* const data = static_cast<const uint8_t*>(request.data);
    auto* const out = static_cast<uint8_t*>(request.out);
    const int64_t from = job.edge(request.bytes, task, job.tasks);
    const int64_t bytes = job.edge(request.bytes, task + 1, job.tasks) - from;
    const int64_t out_from = job.edge(request.out_bytes, task, job.tasks);
    const int64_t out_bytes = job.edge(request.out_bytes, task + 1, job.tasks) - out_from;
    const int64_t blocks = std::max<int64_t>(1, std::max(bytes, out_bytes) / kBlockBytes);
    uint64_t seen = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t at = job.edge(bytes, block, blocks);
      seen |= job.kernels.read(data + from + at, job.edge(bytes, block + 1, blocks) - at);
      const int64_t out_at = job.edge(out_bytes, block, blocks);
      const int64_t count = job.edge(out_bytes, block + 1, blocks) - out_at;
      if (count > 0) job.kernels.write(out + out_from + out_at, count, seen, request.past_caches);
    }
    job.seen.fetch_or(seen, std::memory_order_relaxed);
  }
};

}  // namespace

uint64_t read_and_write(const LimitRequest& request) noexcept {
  const int64_t bytes = std::max(request.bytes, request.out_bytes);
  const int threads = static_cast<int>(
      std::clamp<int64_t>(bytes / (1 << 20), 1, std::max(request.executor.threads, 1)));
  const int64_t tasks = threads == 1 ? 1 : std::max<int64_t>(threads, bytes / kShareBytes);
  Job job{request, *active_level().kernels, tasks};
  if (threads == 1) {
    Job::run(&job, 0);
  } else {
    request.executor.run(request.executor.state, threads, tasks, Job::run, &job);
  }
  return job.seen.load(std::memory_order_relaxed);
}

}  // namespace onnx_argmax
