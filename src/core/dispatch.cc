// SPDX-License-Identifier: Apache-2.0
#include "dispatch.h"

#include <atomic>
#include <cstring>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace onnx_argmax {

#if defined(__x86_64__)
extern const Kernels kernels_x86_64;
extern const Kernels kernels_x86_64_v3;
extern const Kernels kernels_x86_64_v4;
#elif defined(__aarch64__)
extern const Kernels kernels_aarch64;
#else
extern const Kernels kernels_generic;
#endif

namespace {

bool always() noexcept { return true; }

#if defined(__x86_64__)

// What the psABI's level x86-64-v3 has and Clang 16's __builtin_cpu_supports() cannot be asked
// for.
bool has_lzcnt_movbe_f16c() noexcept {
  constexpr unsigned kMovbe = 1u << 22;
  constexpr unsigned kF16c = 1u << 29;
  constexpr unsigned kLzcnt = 1u << 5;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  if ((c & kMovbe) == 0 || (c & kF16c) == 0) return false;
  return __get_cpuid(0x80000001u, &a, &b, &c, &d) != 0 && (c & kLzcnt) != 0;
}

// The levels are those of the x86-64 psABI: all that the compiler may use for kernels.cc.
bool has_v3() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has_lzcnt_movbe_f16c();
}

bool has_v4() noexcept {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

constexpr Level kLevels[] = {
    {"x86-64-v4", &kernels_x86_64_v4, has_v4},
    {"x86-64-v3", &kernels_x86_64_v3, has_v3},
    {"x86-64", &kernels_x86_64, always},
};

#elif defined(__aarch64__)

constexpr Level kLevels[] = {{"aarch64", &kernels_aarch64, always}};

#else

constexpr Level kLevels[] = {{"generic", &kernels_generic, always}};

#endif

const Level& best_level() noexcept {
  for (const Level& level : kLevels) {
    if (level.supported()) return level;
  }
  return kLevels[std::size(kLevels) - 1];
}

std::atomic<const Level*> active{nullptr};

}  // namespace

const Level* all_levels() noexcept { return kLevels; }

int level_count() noexcept { return static_cast<int>(std::size(kLevels)); }

const Level& active_level() noexcept {
  const Level* level = active.load(std::memory_order_acquire);
  if (level == nullptr) {
    level = &best_level();
    const Level* expected = nullptr;
    if (!active.compare_exchange_strong(expected, level)) level = expected;
  }
  return *level;
}

const Level* level_named(const char* name) noexcept {
  for (const Level& level : kLevels) {
    if (std::strcmp(level.name, name) == 0) return &level;
  }
  return nullptr;
}

void set_level(const Level& level) noexcept { active.store(&level, std::memory_order_release); }

}  // namespace onnx_argmax
