// SPDX-License-Identifier: Apache-2.0
#include "parallel.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#endif

namespace onnx_argmax {
namespace {

// Many times what a task needs, which keeps its tiles elsewhere (walk.cc).
constexpr size_t kStackBytes = 256 * 1024;

struct Call : Tasks {
  int helpers = 0;  // pool threads at work on it; under the pool's mutex
};

// The caller never waits for a thread to become free: it takes its open invitations back when no
// task is left, and waits only for those that have begun. So calls from many threads at once,
// and calls from within a task, cannot block each other.
class Pool {
 public:
  void run(int threads, Call& call) {
    {
      std::lock_guard lock(mutex_);
      const int invited = std::min<int64_t>(threads, call.count) - 1;
      try {
        for (int i = 0; i < invited; ++i) invitations_.push_back(&call);
        while (started_ < static_cast<int>(invitations_.size()) + busy_ && start()) {
        }
      } catch (const std::bad_alloc&) {
        // Fewer helpers: the caller does all that is left.
      }
    }
    wake_.notify_all();
    call.work();
    std::unique_lock lock(mutex_);
    std::erase(invitations_, &call);
    done_.wait(lock, [&] { return call.helpers == 0; });
  }

 private:
  // Threads are detached and wait for ever: the process's end is theirs.
  bool start() {
    if (!start_thread(this)) return false;
    ++started_;
    return true;
  }

#if defined(__unix__) || defined(__APPLE__)
  // With a stack of its own size, since the default may have been made too small for a tile, and
  // with every signal blocked, since signals are for threads that the application knows.
  static bool start_thread(Pool* pool) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    const auto serve = [](void* pool_of_thread) -> void* {
      static_cast<Pool*>(pool_of_thread)->serve();
      return nullptr;
    };
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool started = pthread_create(&thread, &attributes, serve, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return started;
  }
#else
  static bool start_thread(Pool* pool) {
    try {
      std::thread([pool] { pool->serve(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }
#endif

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return !invitations_.empty(); });
      Call& call = *invitations_.front();
      invitations_.pop_front();
      ++call.helpers;
      ++busy_;
      lock.unlock();
      call.work();
      lock.lock();
      --busy_;
      if (--call.helpers == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Call*> invitations_;
  int started_ = 0;
  int busy_ = 0;
};

// Never destroyed: its threads may still wait on it when static objects go. A child process has
// none of its parent's threads, so it leaves the parent's pool as it is and takes a new one.
std::atomic<Pool*> pool{nullptr};

#if defined(__unix__) || defined(__APPLE__)
void after_fork_in_child() { pool.store(nullptr, std::memory_order_release); }

// Registered as the library loads, before there can be a pool to forget.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, after_fork_in_child);
#endif

Pool* the_pool() noexcept {
  Pool* found = pool.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  auto* const made = new (std::nothrow) Pool;
  if (made == nullptr) return nullptr;
  if (!pool.compare_exchange_strong(found, made)) {
    delete made;
    return found;
  }
  return made;
}

void run_on_pool(void* /*state*/, int threads, int64_t tasks,
                 void (*task)(void* context, int64_t i), void* context) {
  Call call{{task, context, tasks}};
  Pool* const shared = threads > 1 ? the_pool() : nullptr;
  if (shared == nullptr) {
    call.work();
  } else {
    shared->run(threads, call);
  }
}

}  // namespace

Executor own_pool(int threads) noexcept { return {run_on_pool, nullptr, threads}; }

}  // namespace onnx_argmax
