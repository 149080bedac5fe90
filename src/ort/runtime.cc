// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

namespace onnx_argmax::ort {
namespace {

// The oldest table has what makes a status, in the same slot as every later one.
constexpr uint32_t kFirstApiVersion = 1;

template <class... Functions>
bool all_there(Functions... functions) {
  return (... && (functions != nullptr));
}

bool is_whole(const Api& api) {
  return all_there(api.get_error_message, api.get_tensor_mutable_data, api.cast_to_tensor_info,
                   api.get_element_type, api.get_attribute_int64, api.get_input, api.get_output,
                   api.release_status, api.get_output_name, api.get_node_name, api.log_message,
                   api.get_logging_severity, api.parallel_for, api.get_type_info,
                   api.get_key_value_pairs, api.release_key_value_pairs, api.get_device_type,
                   api.get_ep_api, api.get_node_count, api.get_nodes, api.get_name,
                   api.get_operator_type, api.get_domain, api.get_since_version,
                   api.get_input_count, api.get_inputs, api.get_ep_name, api.get_tensor_data,
                   api.get_config_entries, api.get_element_type_and_shape);
}

bool is_whole(const EpApi& api) {
  return all_there(api.create_ep_device, api.release_ep_device, api.add_single_node,
                   api.create_kernel_registry, api.release_kernel_registry, api.add_kernel,
                   api.create_kernel_def_builder, api.release_kernel_def_builder,
                   api.set_operator_type, api.set_domain, api.set_since_version,
                   api.set_execution_provider, api.add_type_constraint, api.build_kernel_def,
                   api.release_kernel_def, api.get_tensor_data_type, api.look_up_kernel);
}

std::string too_old(const ApiBase& base) {
  const char* const version = base.get_version == nullptr ? nullptr : base.get_version();
  return std::string("onnx-argmax: ONNX Runtime ") +
         (version == nullptr ? "of an unknown version" : version) +
         " is too old for this execution provider; 1.24 or later is needed: upgrade ONNX Runtime "
         "(in Python: pip install --upgrade onnxruntime)";
}

}  // namespace

Status* connect(const ApiBase* base, std::unique_ptr<Runtime>& runtime) noexcept {
  if (base == nullptr || base->get_api == nullptr) return nullptr;
  const Api* const api = base->get_api(kApiVersion);
  const Api* const any = api != nullptr ? api : base->get_api(kFirstApiVersion);
  if (any == nullptr || any->create_status == nullptr) return nullptr;
  try {
    if (api == nullptr) {
      return any->create_status(ErrorCode::kNotImplemented, too_old(*base).c_str());
    }
    const EpApi* const ep_api = is_whole(*api) ? api->get_ep_api() : nullptr;
    if (ep_api == nullptr || !is_whole(*ep_api)) {
      return any->create_status(ErrorCode::kFail,
                                "onnx-argmax: this ONNX Runtime lacks functions that its version "
                                "should have; install a whole one, 1.24 or later");
    }
    runtime = std::make_unique<Runtime>(*api, *ep_api);
    return nullptr;
  } catch (const std::bad_alloc&) {
    return any->create_status(ErrorCode::kFail, "onnx-argmax: there is not enough memory");
  }
}

}  // namespace onnx_argmax::ort
