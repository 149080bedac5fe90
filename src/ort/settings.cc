// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <string_view>

#include "environment.h"
#include "names.h"

namespace onnx_argmax::ort {
namespace {

// The runtime keeps a provider's options among the session's entries, under the provider's name
// in lower case.
std::string prefix() {
  std::string words = "ep.";
  for (const char* at = kProviderName; *at != '\0'; ++at) {
    words += *at >= 'A' && *at <= 'Z' ? static_cast<char>(*at - 'A' + 'a') : *at;
  }
  return words + ".";
}

[[noreturn]] void refuse(const Runtime& runtime, const std::string& words) {
  runtime.fail(ErrorCode::kInvalidArgument, std::string(kProviderName) + ": " + words);
}

void set_threads(const Runtime& runtime, Settings& settings, const char* value) {
  const std::optional<int> threads = parse_threads(value, 0);
  if (!threads) {
    refuse(runtime, std::string("option threads: an integer from 0 to ") +
                        std::to_string(kMostThreads) + " is needed, got '" + shown(value) +
                        "'; 0 is the runtime's own pool, anything else a pool of the provider's");
  }
  settings.threads = *threads;
}

void set_level(const Runtime& runtime, Settings& settings, const char* value) {
  const std::string wrong = find_level(value, settings.level);
  if (!wrong.empty()) refuse(runtime, "option level: " + wrong);
}

void set_log(const Runtime& runtime, Settings& settings, const char* value) {
  const std::string_view name = value;
  if (name == "verbose") {
    settings.log = Severity::kVerbose;
  } else if (name == "info") {
    settings.log = Severity::kInfo;
  } else if (name == "warning") {
    settings.log = Severity::kWarning;
  } else {
    refuse(runtime, std::string("option log: verbose, info or warning is needed, got '") +
                        shown(value) + "'");
  }
}

void set_option(const Runtime& runtime, Settings& settings, const char* name, const char* value) {
  const std::string_view option = name;
  if (option == "threads") {
    set_threads(runtime, settings, value);
  } else if (option == "level") {
    set_level(runtime, settings, value);
  } else if (option == "log") {
    set_log(runtime, settings, value);
  } else {
    refuse(runtime, "there is no option '" + shown(name) + "'; it has threads, level, log");
  }
}

}  // namespace

Settings read_settings(const Runtime& runtime, const SessionOptions* options) {
  Settings settings;
  settings.level = &active_level();
  if (options == nullptr) return settings;
  KeyValuePairs* pairs = nullptr;
  runtime.check(runtime.api().get_config_entries(options, &pairs));
  const Owned<KeyValuePairs> entries(&runtime.there(pairs, "entries of the session's options"),
                                     runtime.api().release_key_value_pairs);
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  runtime.api().get_key_value_pairs(entries.get(), &keys, &values, &count);
  if (count == 0) return settings;
  runtime.there(keys, "keys");
  runtime.there(values, "values");
  const std::string ours = prefix();
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = keys[i] == nullptr ? "" : keys[i];
    if (key.substr(0, ours.size()) != ours) continue;
    const char* const value = &runtime.there(values[i], "value");
    set_option(runtime, settings, keys[i] + ours.size(), value);
  }
  return settings;
}

}  // namespace onnx_argmax::ort
