// SPDX-License-Identifier: Apache-2.0
#include "node.h"

#include <cstring>

namespace onnx_argmax::ort {
namespace {

using TextOfNode = Status* (*)(const Node* node, const char** text);

// The runtime's own memory; an empty text where it gives null.
const char* text_of(const Runtime& runtime, TextOfNode ask, const Node& node) {
  const char* text = nullptr;
  runtime.check(ask(&node, &text));
  return text == nullptr ? "" : text;
}

}  // namespace

std::vector<const Node*> nodes_of(const Runtime& runtime, const Graph& graph) {
  size_t count = 0;
  runtime.check(runtime.api().get_node_count(&graph, &count));
  std::vector<const Node*> nodes(count, nullptr);
  if (count > 0) runtime.check(runtime.api().get_nodes(&graph, nodes.data(), count));
  return nodes;
}

bool is_argmax(const Runtime& runtime, const Node& node) {
  return std::strcmp(text_of(runtime, runtime.api().get_operator_type, node), kOperator) == 0 &&
         std::strcmp(text_of(runtime, runtime.api().get_domain, node), kDomain) == 0;
}

std::string owner_of(const Runtime& runtime, const Node& node) {
  return text_of(runtime, runtime.api().get_ep_name, node);
}

int since_version_of(const Runtime& runtime, const Node& node) {
  int version = 0;
  runtime.check(runtime.api().get_since_version(&node, &version));
  return version;
}

int32_t input_type_of(const Runtime& runtime, const Node& node) {
  const Api& api = runtime.api();
  size_t count = 0;
  runtime.check(api.get_input_count(&node, &count));
  std::vector<const ValueInfo*> inputs(count, nullptr);
  if (count == 0) return 0;
  runtime.check(api.get_inputs(&node, inputs.data(), count));
  const TypeInfo* type = nullptr;
  if (inputs[0] == nullptr || !runtime.succeeds(api.get_type_info(inputs[0], &type))) return 0;
  const TensorInfo* tensor = nullptr;
  if (type == nullptr || !runtime.succeeds(api.cast_to_tensor_info(type, &tensor))) return 0;
  int32_t number = 0;
  if (tensor == nullptr || !runtime.succeeds(api.get_element_type(tensor, &number))) return 0;
  return number;
}

std::string words_for_node(const Runtime& runtime, const Node& node) {
  return std::string("node '") + text_of(runtime, runtime.api().get_name, node) + "' (" +
         kOperator + " version " + std::to_string(since_version_of(runtime, node)) + ")";
}

}  // namespace onnx_argmax::ort
