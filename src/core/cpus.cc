// SPDX-License-Identifier: Apache-2.0
//
// How many CPUs the process may use.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "parallel.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace onnx_argmax {
namespace {

#if defined(__linux__)

// CPUs that the numbers in a quota and a period amount to; 0 for no quota ("max", or -1).
double cpus_of(const std::string& quota, const std::string& period) {
  const double share = std::strtod(quota.c_str(), nullptr);
  const double whole = std::strtod(period.c_str(), nullptr);
  return share > 0 && whole > 0 ? share / whole : 0;
}

std::string first_words(const std::string& path, std::string* second = nullptr) {
  std::ifstream file(path);
  std::string first;
  std::string rest;
  file >> first >> (second != nullptr ? *second : rest);
  return first;
}

bool has_word(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

// The tightest quota of a control group and those above it, under where they are mounted.
double tightest(std::string group, const std::string& mount, bool version_2) {
  double least = 0;
  for (;;) {
    const std::string folder = mount + group;
    std::string period;
    std::string quota;
    if (version_2) {
      quota = first_words(folder + "/cpu.max", &period);
    } else {
      quota = first_words(folder + "/cpu.cfs_quota_us");
      period = first_words(folder + "/cpu.cfs_period_us");
    }
    const double cpus = cpus_of(quota, period);
    if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
    if (group.empty()) return least;
    group.erase(group.rfind('/'));
  }
}

// A line of /proc/self/cgroup is "number:controllers:/group"; version 2's has no controllers.
double quota_cpus() {
  double least = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t controllers = line.find(':') + 1;
    const size_t group = line.find(':', controllers) + 1;
    if (controllers == 0 || group == 0) continue;
    const std::string names = line.substr(controllers, group - 1 - controllers);
    const bool version_2 = names.empty();
    if (!version_2 && !has_word(names, "cpu")) continue;
    std::string path = line.substr(group);
    if (path == "/" || path.empty() || path[0] != '/') path.clear();
    const double cpus =
        tightest(path, version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", version_2);
    if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
  }
  return least;
}

int affinity_cpus() {
  // The kernel refuses a set that is smaller than its own; grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(cpus);
    if (set == nullptr) return 0;
    const size_t size = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(size, set);
    const bool known = sched_getaffinity(0, size, set) == 0;
    const int count = known ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (known) return count;
  }
  return 0;
}

#else

double quota_cpus() { return 0; }
int affinity_cpus() { return 0; }

#endif

}  // namespace

int available_cpus() noexcept {
  int cpus = affinity_cpus();
  if (cpus <= 0) cpus = static_cast<int>(std::thread::hardware_concurrency());
  try {
    const double quota = quota_cpus();
    if (quota > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(quota)));
  } catch (const std::exception&) {  // out of memory for a line of text: no quota is known
  }
  return std::max(cpus, 1);
}

}  // namespace onnx_argmax
