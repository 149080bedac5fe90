// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "parallel.h"

namespace onnx_argmax {
namespace {

std::atomic<int> threads_in_use{0};

// Null where the variable is not set, or set to nothing.
const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

std::string supported_levels() {
  std::string names;
  for (int i = 0; i < level_count(); ++i) {
    if (!all_levels()[i].supported()) continue;
    if (!names.empty()) names += ", ";
    names += all_levels()[i].name;
  }
  return names;
}

}  // namespace

std::optional<int> parse_threads(const char* text, int least) noexcept {
  int threads = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, threads);
  if (error != std::errc{} || stop != end || threads < least || threads > kMostThreads) return {};
  return threads;
}

std::string shown(const char* text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte >= 0x20 && byte < 0x7f) {
      result += *text;
    } else {
      result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

std::string find_level(const std::string& name, const Level*& level) {
  const Level* const found = level_named(name.c_str());
  if (found != nullptr && found->supported()) {
    level = found;
    return {};
  }
  return std::string(found == nullptr ? "unknown level" : "this machine cannot run level") + " '" +
         shown(name.c_str()) + "'; this machine runs " + supported_levels();
}

std::string apply_level(const std::string& name) {
  const Level* level = nullptr;
  std::string wrong = find_level(name, level);
  if (wrong.empty()) set_level(*level);
  return wrong;
}

std::string apply_environment() {
  int threads = 0;
  if (const char* const text = variable("ONNX_ARGMAX_NUM_THREADS"); text != nullptr) {
    const std::optional<int> found = parse_threads(text, 1);
    if (!found) {
      return std::string("ONNX_ARGMAX_NUM_THREADS: an integer from 1 to ") +
             std::to_string(kMostThreads) + " is needed, got '" + shown(text) +
             "'; unset it for the " + std::to_string(available_cpus()) + " CPUs available";
    }
    threads = *found;
  }
  if (const char* const name = variable("ONNX_ARGMAX_LEVEL"); name != nullptr) {
    if (const std::string wrong = apply_level(name); !wrong.empty()) {
      return "ONNX_ARGMAX_LEVEL: " + wrong + "; unset it for the best of these";
    }
  }
  set_default_threads(threads != 0 ? threads : available_cpus());
  return {};
}

int default_threads() noexcept {
  const int threads = threads_in_use.load(std::memory_order_relaxed);
  return threads > 0 ? threads : available_cpus();
}

void set_default_threads(int threads) noexcept {
  threads_in_use.store(threads, std::memory_order_relaxed);
}

}  // namespace onnx_argmax
