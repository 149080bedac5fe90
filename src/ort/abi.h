// SPDX-License-Identifier: Apache-2.0
//
// The part of ONNX Runtime's C interface that a plug-in provider uses, in our own declarations.
// Its tables only ever grow at the end, so what is declared here fits every release from
// kApiVersion on, and no header of the runtime's is needed. What each function and field means is
// documented at onnxruntime.ai: "Plugin Execution Provider Libraries" with "Developing", "Using"
// and "Packaging", and the C API reference.
//
// A table's unused slots are gaps here; `slot N` is the place in the table, counted from 0, which
// static assertions hold. The runtime's types are opaque, and only pointers to them are passed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnx_argmax::ort {

// The first version with kernel registries for plug-ins; a table of it is asked for.
inline constexpr uint32_t kApiVersion = 24;

struct EpDevice;
struct HardwareDevice;
struct Graph;
struct GraphSupportInfo;
struct KernelContext;
struct KernelDef;
struct KernelDefBuilder;
struct KernelInfo;
struct KernelRegistry;
struct KeyValuePairs;
struct Logger;
struct Node;
struct SessionOptions;
struct Status;  // null is success; every other one is owned by whoever gets it
struct TensorInfo;
struct TypeInfo;
struct DataType;
struct Value;
struct ValueInfo;

enum class ErrorCode : int32_t {
  kFail = 1,
  kInvalidArgument = 2,
  kNotImplemented = 9,
};

enum class Severity : int32_t { kVerbose = 0, kInfo = 1, kWarning = 2 };

enum class DeviceType : int32_t { kCpu = 0 };

#if defined(_WIN32)
using PathChar = wchar_t;
#else
using PathChar = char;
#endif

using Gap = const void*;

struct KernelImpl;
using CreateKernel = Status* (*)(void* state, const KernelInfo* info, KernelImpl** kernel);
using ParallelTask = void (*)(void* context, size_t task);

struct EpApi {
  // slot 0
  Status* (*create_ep_device)(struct EpFactory* factory, const HardwareDevice* device,
                              const KeyValuePairs* metadata, const KeyValuePairs* options,
                              EpDevice** ep_device);
  void (*release_ep_device)(EpDevice* device);
  Gap gap_2[1];
  // slot 3
  Status* (*add_single_node)(GraphSupportInfo* info, const Node* node);
  Gap gap_4[14];
  // slot 18
  Status* (*create_kernel_registry)(KernelRegistry** registry);
  void (*release_kernel_registry)(KernelRegistry* registry);
  Status* (*add_kernel)(KernelRegistry* registry, const KernelDef* definition, CreateKernel create,
                        void* state);
  Status* (*create_kernel_def_builder)(KernelDefBuilder** builder);
  void (*release_kernel_def_builder)(KernelDefBuilder* builder);
  Status* (*set_operator_type)(KernelDefBuilder* builder, const char* operator_type);
  Status* (*set_domain)(KernelDefBuilder* builder, const char* domain);
  Status* (*set_since_version)(KernelDefBuilder* builder, int first, int last);
  Status* (*set_execution_provider)(KernelDefBuilder* builder, const char* name);
  Gap gap_27[2];
  // slot 29
  Status* (*add_type_constraint)(KernelDefBuilder* builder, const char* name,
                                 const DataType* const* types, size_t count);
  Gap gap_30[2];
  // slot 32
  Status* (*build_kernel_def)(KernelDefBuilder* builder, KernelDef** definition);
  void (*release_kernel_def)(KernelDef* definition);
  Gap gap_34[6];
  // slot 40
  Status* (*get_tensor_data_type)(int32_t element_type, const DataType** type);
  Status* (*look_up_kernel)(GraphSupportInfo* info, const Node* node,
                            const KernelDef** definition);
};

struct Api {
  // slot 0
  Status* (*create_status)(ErrorCode code, const char* message);
  Gap gap_1[1];
  // slot 2
  const char* (*get_error_message)(const Status* status);
  Gap gap_3[48];
  // slot 51
  Status* (*get_tensor_mutable_data)(Value* value, void** data);
  Gap gap_52[3];
  // slot 55
  Status* (*cast_to_tensor_info)(const TypeInfo* type, const TensorInfo** tensor);
  Gap gap_56[4];
  // slot 60
  Status* (*get_element_type)(const TensorInfo* tensor, int32_t* element_type);
  Gap gap_61[25];
  // slot 86
  Status* (*get_attribute_int64)(const KernelInfo* info, const char* name, int64_t* value);
  Gap gap_87[3];
  // slot 90
  Status* (*get_input)(const KernelContext* context, size_t index, const Value** value);
  Status* (*get_output)(KernelContext* context, size_t index, const int64_t* shape, size_t rank,
                        Value** value);
  Gap gap_92[1];
  // slot 93
  void (*release_status)(Status* status);
  Gap gap_94[139];
  // slot 233
  Status* (*get_output_name)(const KernelInfo* info, size_t index, char* name, size_t* size);
  Gap gap_234[10];
  // slot 244
  Status* (*get_node_name)(const KernelInfo* info, char* name, size_t* size);
  Gap gap_245[2];
  // slot 247
  Status* (*log_message)(const Logger* logger, Severity severity, const char* message,
                         const PathChar* file, int line, const char* function);
  Status* (*get_logging_severity)(const Logger* logger, Severity* severity);
  Gap gap_249[25];
  // slot 274
  Status* (*parallel_for)(const KernelContext* context, ParallelTask task, size_t tasks,
                          size_t batches, void* task_context);
  Gap gap_275[15];
  // slot 290
  Status* (*get_type_info)(const ValueInfo* value, const TypeInfo** type);
  Gap gap_291[7];
  // slot 298
  void (*get_key_value_pairs)(const KeyValuePairs* pairs, const char* const** keys,
                              const char* const** values, size_t* count);
  Gap gap_299[1];
  // slot 300
  void (*release_key_value_pairs)(KeyValuePairs* pairs);
  Gap gap_301[6];
  // slot 307
  DeviceType (*get_device_type)(const HardwareDevice* device);
  Gap gap_308[9];
  // slot 317
  const EpApi* (*get_ep_api)();
  Gap gap_318[26];
  // slot 344
  Status* (*get_node_count)(const Graph* graph, size_t* count);
  Status* (*get_nodes)(const Graph* graph, const Node** nodes, size_t count);
  Gap gap_346[3];
  // slot 349
  Status* (*get_name)(const Node* node, const char** name);
  Status* (*get_operator_type)(const Node* node, const char** operator_type);
  Status* (*get_domain)(const Node* node, const char** domain);
  Status* (*get_since_version)(const Node* node, int* version);
  Status* (*get_input_count)(const Node* node, size_t* count);
  Status* (*get_inputs)(const Node* node, const ValueInfo** inputs, size_t count);
  Gap gap_355[13];
  // slot 368; null or empty where no provider has the node yet
  Status* (*get_ep_name)(const Node* node, const char** name);
  Gap gap_369[9];
  // slot 378
  Status* (*get_tensor_data)(const Value* value, const void** data);
  Status* (*get_config_entries)(const SessionOptions* options, KeyValuePairs** entries);
  Gap gap_380[34];
  // slot 414; the shape stays the value's
  Status* (*get_element_type_and_shape)(const Value* value, int32_t* element_type,
                                        const int64_t** shape, size_t* rank);
};

struct ApiBase {
  const Api* (*get_api)(uint32_t version);  // null where the runtime is older
  const char* (*get_version)();
};

// What we fill in. The runtime asks api_version before it looks at a field of a later version; an
// optional function is null.

struct EpFactory {
  uint32_t api_version;
  const char* (*get_name)(const EpFactory* factory);
  const char* (*get_vendor)(const EpFactory* factory);
  Status* (*get_supported_devices)(EpFactory* factory, const HardwareDevice* const* devices,
                                   size_t device_count, EpDevice** ep_devices, size_t most,
                                   size_t* count);
  Status* (*create_ep)(EpFactory* factory, const HardwareDevice* const* devices,
                       const KeyValuePairs* const* metadata, size_t device_count,
                       const SessionOptions* options, const Logger* logger, struct Ep** ep);
  void (*release_ep)(EpFactory* factory, struct Ep* ep);
  uint32_t (*get_vendor_id)(const EpFactory* factory);
  const char* (*get_version)(const EpFactory* factory);
  Gap validate_compiled_model;
  Gap create_allocator;
  Gap release_allocator;
  Status* (*create_data_transfer)(EpFactory* factory, void** transfer);
  bool (*is_stream_aware)(const EpFactory* factory);
  Gap later[8];
};

struct Ep {
  uint32_t api_version;
  const char* (*get_name)(const Ep* ep);
  Status* (*get_capability)(Ep* ep, const Graph* graph, GraphSupportInfo* info);
  Gap compile[10];
  Status* (*get_kernel_registry)(Ep* ep, const KernelRegistry** registry);
  Status* (*is_concurrent_run_supported)(Ep* ep, bool* supported);
  Gap later[10];
};

struct KernelImpl {
  uint32_t api_version;
  uint32_t flags;
  Status* (*compute)(KernelImpl* kernel, KernelContext* context);
  void (*release)(KernelImpl* kernel);
  Gap pre_pack_weight;
  Gap set_shared_pre_packed_weight;
};

// The tables hold pointers to functions and nothing else.
constexpr bool at_slot(size_t offset_bytes, size_t slot) {
  return offset_bytes == slot * sizeof(void*);
}

static_assert(at_slot(offsetof(EpApi, add_single_node), 3));
static_assert(at_slot(offsetof(EpApi, create_kernel_registry), 18));
static_assert(at_slot(offsetof(EpApi, add_type_constraint), 29));
static_assert(at_slot(offsetof(EpApi, build_kernel_def), 32));
static_assert(at_slot(offsetof(EpApi, get_tensor_data_type), 40));
static_assert(at_slot(offsetof(Api, get_error_message), 2));
static_assert(at_slot(offsetof(Api, get_tensor_mutable_data), 51));
static_assert(at_slot(offsetof(Api, cast_to_tensor_info), 55));
static_assert(at_slot(offsetof(Api, get_element_type), 60));
static_assert(at_slot(offsetof(Api, get_attribute_int64), 86));
static_assert(at_slot(offsetof(Api, get_input), 90));
static_assert(at_slot(offsetof(Api, release_status), 93));
static_assert(at_slot(offsetof(Api, get_output_name), 233));
static_assert(at_slot(offsetof(Api, get_node_name), 244));
static_assert(at_slot(offsetof(Api, log_message), 247));
static_assert(at_slot(offsetof(Api, parallel_for), 274));
static_assert(at_slot(offsetof(Api, get_type_info), 290));
static_assert(at_slot(offsetof(Api, get_key_value_pairs), 298));
static_assert(at_slot(offsetof(Api, release_key_value_pairs), 300));
static_assert(at_slot(offsetof(Api, get_device_type), 307));
static_assert(at_slot(offsetof(Api, get_ep_api), 317));
static_assert(at_slot(offsetof(Api, get_node_count), 344));
static_assert(at_slot(offsetof(Api, get_name), 349));
static_assert(at_slot(offsetof(Api, get_ep_name), 368));
static_assert(at_slot(offsetof(Api, get_tensor_data), 378));
static_assert(at_slot(offsetof(Api, get_element_type_and_shape), 414));

static_assert(offsetof(EpFactory, get_supported_devices) == 24);
static_assert(offsetof(EpFactory, create_ep) == 32);
static_assert(offsetof(EpFactory, get_version) == 56);
static_assert(offsetof(EpFactory, create_data_transfer) == 88);
static_assert(offsetof(EpFactory, is_stream_aware) == 96);
static_assert(sizeof(EpFactory) == 168);
static_assert(offsetof(Ep, get_capability) == 16);
static_assert(offsetof(Ep, get_kernel_registry) == 104);
static_assert(offsetof(Ep, is_concurrent_run_supported) == 112);
static_assert(sizeof(Ep) == 200);
static_assert(offsetof(KernelImpl, compute) == 8);
static_assert(sizeof(KernelImpl) == 40);

}  // namespace onnx_argmax::ort
