// SPDX-License-Identifier: Apache-2.0
#include "provider.h"

#include "names.h"
#include "node.h"

namespace onnx_argmax::ort {
namespace {

// Why the runtime found no kernel of ours.
std::string words_for_decline(const Runtime& runtime, const Node& node) {
  const int since = since_version_of(runtime, node);
  const Version* const version = find_version(since);
  if (version == nullptr) {
    std::string known;
    for (const Version& each : kVersions) {
      known += (known.empty() ? "" : ", ") + std::to_string(each.since);
    }
    return "the versions of the operator that are known are " + known;
  }
  const int32_t number = input_type_of(runtime, node);
  const TypeRow* const type = find_type(number);
  if (type == nullptr || !version->takes(*type)) return words_for_refused_type(*version, number);
  return "the runtime found no kernel for it";
}

const char* get_name(const Ep* /*ep*/) noexcept { return kProviderName; }

Status* get_capability(Ep* ep, const Graph* graph, GraphSupportInfo* info) noexcept {
  const auto& provider = *static_cast<const Provider*>(ep);
  const Runtime& runtime = provider.runtime();
  return runtime.guarded([&] {
    provider.claim_nodes(runtime.there(graph, "graph"), runtime.there(info, "place for claims"));
  });
}

Status* get_kernel_registry(Ep* ep, const KernelRegistry** registry) noexcept {
  const auto& provider = *static_cast<const Provider*>(ep);
  const Runtime& runtime = provider.runtime();
  return runtime.guarded(
      [&] { runtime.there(registry, "place for the registry") = provider.registry().get(); });
}

Status* is_concurrent_run_supported(Ep* ep, bool* supported) noexcept {
  const Runtime& runtime = static_cast<const Provider*>(ep)->runtime();
  return runtime.guarded([&] { runtime.there(supported, "place for the answer") = true; });
}

std::string words_for_settings(const Settings& settings) {
  return std::string("version ") + kProviderVersion + ", level " + settings.level->name + ", " +
         (settings.threads == 0 ? "the runtime's threads"
                                : std::to_string(settings.threads) + " threads of its own");
}

}  // namespace

Provider::Provider(const Runtime& runtime, const SessionOptions* options, const Logger* logger)
    : Ep{},
      runtime_(runtime),
      settings_(read_settings(runtime, options)),
      log_(runtime, logger, settings_.log),
      registry_(runtime, settings_) {
  api_version = kApiVersion;
  get_name = ort::get_name;
  get_capability = ort::get_capability;
  get_kernel_registry = ort::get_kernel_registry;
  is_concurrent_run_supported = ort::is_concurrent_run_supported;
  if (log_.is_heard()) log_.say(words_for_settings(settings_));
}

void Provider::claim_nodes(const Graph& graph, GraphSupportInfo& info) const {
  for (const Node* const node : nodes_of(runtime_, graph)) {
    if (is_argmax(runtime_, runtime_.there(node, "node"))) claim(*node, info);
  }
}

void Provider::claim(const Node& node, GraphSupportInfo& info) const {
  const bool is_heard = log_.is_heard();
  const std::string owner = owner_of(runtime_, node);
  if (!owner.empty() && owner != kProviderName) {
    if (is_heard) {
      log_.say("declined " + words_for_node(runtime_, node) + ": " + owner + " has it already");
    }
    return;
  }
  const KernelDef* definition = nullptr;
  runtime_.check(runtime_.ep_api().look_up_kernel(&info, &node, &definition));
  if (definition != nullptr) {
    runtime_.check(runtime_.ep_api().add_single_node(&info, &node));
  }
  if (!is_heard) return;
  const std::string words = words_for_node(runtime_, node);
  if (definition == nullptr) {
    log_.say("declined " + words + ": " + words_for_decline(runtime_, node));
  } else {
    log_.say("claimed " + words + " of " + words_for_type(input_type_of(runtime_, node)));
  }
}

}  // namespace onnx_argmax::ort
