// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <string>

#include "argmax.h"
#include "environment.h"
#include "pool.h"
#include "registry.h"
#include "versions.h"

namespace onnx_argmax::ort {
namespace {

// Nothing in it changes once it is made, so that any number of threads can run it at once.
struct Kernel : KernelImpl {
  Kernel(const KernelSource& source, const KernelInfo& info);

  const Runtime& runtime;
  const Version& version;
  const Settings& settings;
  int most_threads;
  int64_t axis;
  bool keepdims;
  bool select_last_index;
  std::string node;  // what an error calls it
};

// The input as the runtime hands it over.
struct Input {
  const Value* value;
  int32_t type;
  const int64_t* shape;
  size_t rank;
};

[[noreturn]] void refuse(const Kernel& kernel, const Input& input, const std::string& words,
                         ErrorCode code = ErrorCode::kInvalidArgument) {
  kernel.runtime.fail(code, kernel.node + ": input of shape " +
                                words_for_shape(input.shape, input.rank) + " and type " +
                                words_for_type(input.type) + ", axis " +
                                std::to_string(kernel.axis) + ": " + words);
}

Input take_input(const Kernel& kernel, const KernelContext& context) {
  const Runtime& runtime = kernel.runtime;
  Input input{};
  runtime.check(runtime.api().get_input(&context, 0, &input.value));
  if (input.value == nullptr) {
    runtime.fail(ErrorCode::kInvalidArgument, kernel.node + ": there is no input");
  }
  runtime.check(runtime.api().get_element_type_and_shape(input.value, &input.type, &input.shape,
                                                         &input.rank));
  if (input.shape == nullptr && input.rank > 0) {
    runtime.fail(ErrorCode::kFail, kernel.node + ": the runtime handed over no shape");
  }
  return input;
}

// The position of the reduced axis, once all of the input is such as the core expects.
int check_input(const Kernel& kernel, const Input& input) {
  const TypeRow* const type = find_type(input.type);
  if (type == nullptr || !kernel.version.takes(*type)) {
    refuse(kernel, input, words_for_refused_type(kernel.version, input.type));
  }
  if (input.rank > static_cast<size_t>(kMaxRank)) {
    refuse(kernel, input,
           "data: rank " + std::to_string(input.rank) + " is not supported; allowed is up to " +
               std::to_string(kMaxRank) + ": reshape axes into one first");
  }
  for (size_t i = 0; i < input.rank; ++i) {
    if (input.shape[i] < 0) refuse(kernel, input, "data: a dimension is negative");
  }
  // Rank 0 counts as one element along one axis.
  const auto axes = static_cast<int64_t>(input.rank == 0 ? 1 : input.rank);
  if (kernel.axis < -axes || kernel.axis >= axes) {
    refuse(kernel, input,
           "axis " + std::to_string(kernel.axis) + " is out of range for data of rank " +
               std::to_string(input.rank) + ": allowed is " + std::to_string(-axes) + " to " +
               std::to_string(axes - 1));
  }
  const auto position = static_cast<int>(kernel.axis < 0 ? kernel.axis + axes : kernel.axis);
  if (input.rank > 0 && input.shape[position] == 0) {
    refuse(kernel, input,
           "data: axis " + std::to_string(position) + " of shape " +
               words_for_shape(input.shape, input.rank) +
               " has length 0, so it has no largest element; at least one element is needed along "
               "the reduced axis");
  }
  return position;
}

bool is_empty(const Input& input) {
  return std::find(input.shape, input.shape + input.rank, 0) != input.shape + input.rank;
}

// Strides of an array in C order that has the input's shape, but 1 at `reduced`, which may be no
// axis. Of an array that is empty they are not asked for.
void set_strides(const Kernel& kernel, const Input& input, int reduced, int64_t item_bytes,
                 int64_t* stride_bytes) {
  int64_t bytes = item_bytes;
  for (int i = static_cast<int>(input.rank) - 1; i >= 0; --i) {
    stride_bytes[i] = bytes;
    if (i != reduced && __builtin_mul_overflow(bytes, input.shape[i], &bytes)) {
      refuse(kernel, input, "data: no memory has so many elements");
    }
  }
}

// The output's memory; null where it is empty.
int64_t* make_output(const Kernel& kernel, KernelContext& context, const Input& input,
                     int position) {
  const Runtime& runtime = kernel.runtime;
  int64_t shape[kMaxRank];
  size_t rank = 0;
  for (int i = 0; i < static_cast<int>(input.rank); ++i) {
    if (i != position) {
      shape[rank++] = input.shape[i];
    } else if (kernel.keepdims) {
      shape[rank++] = 1;
    }
  }
  Value* value = nullptr;
  if (Status* const status = runtime.api().get_output(&context, 0, shape, rank, &value)) {
    // Memory that is not there, or that was bound to the output and has another shape.
    const char* const message = runtime.api().get_error_message(status);
    const std::string reason = message == nullptr ? "no reason is given" : message;
    runtime.api().release_status(status);
    refuse(kernel, input, "the output cannot be had: " + reason, ErrorCode::kFail);
  }
  runtime.there(value, "output");
  if (is_empty(input)) return nullptr;
  void* data = nullptr;
  runtime.check(runtime.api().get_tensor_mutable_data(value, &data));
  return &runtime.there(static_cast<int64_t*>(data), "memory");
}

void reduce(const Kernel& kernel, KernelContext& context) {
  const Runtime& runtime = kernel.runtime;
  const Input input = take_input(kernel, context);
  const int position = check_input(kernel, input);
  int64_t stride_bytes[kMaxRank];
  int64_t out_stride_bytes[kMaxRank];
  Request request{};
  request.type = static_cast<ElementType>(input.type);
  if (!is_empty(input)) {
    set_strides(kernel, input, -1, item_size(request.type), stride_bytes);
    set_strides(kernel, input, position, sizeof(int64_t), out_stride_bytes);
  }
  int64_t* const out = make_output(kernel, context, input, position);
  if (out == nullptr) return;

  runtime.check(runtime.api().get_tensor_data(input.value, &request.data));
  if (request.data == nullptr) refuse(kernel, input, "the runtime handed over no data");
  request.select_last_index = kernel.select_last_index;
  request.rank = static_cast<int>(input.rank);
  request.shape = input.shape;
  request.stride_bytes = stride_bytes;
  request.axis = position;
  request.out = out;
  request.out_item_size = sizeof(int64_t);
  request.out_stride_bytes = out_stride_bytes;
  request.kernels = kernel.settings.level->kernels;
  RuntimePool pool{runtime, context};
  request.executor = kernel.settings.threads == 0 ? runtime_pool(pool, kernel.most_threads)
                                                  : own_pool(kernel.most_threads);
  if (argmax(request) == onnx_argmax::Status::kOutOfMemory) {
    refuse(kernel, input, "there is not enough memory", ErrorCode::kFail);
  }
}

Status* compute(KernelImpl* implementation, KernelContext* context) noexcept {
  const auto& kernel = *static_cast<const Kernel*>(implementation);
  return kernel.runtime.guarded(
      [&] { reduce(kernel, kernel.runtime.there(context, "kernel context")); });
}

void release(KernelImpl* implementation) noexcept { delete static_cast<Kernel*>(implementation); }

// A missing attribute comes back as an error; the runtime has refused those of another type.
int64_t attribute(const Runtime& runtime, const KernelInfo& info, const char* name,
                  int64_t otherwise) {
  int64_t value = otherwise;
  return runtime.succeeds(runtime.api().get_attribute_int64(&info, name, &value)) ? value
                                                                                  : otherwise;
}

// A string that the runtime writes into our memory, asked for its size first; empty where it has
// none.
template <class Write>
std::string text_from(const Runtime& runtime, Write write) {
  size_t size = 0;
  if (!runtime.succeeds(write(nullptr, &size)) || size == 0) return {};
  std::string text(size, '\0');
  if (!runtime.succeeds(write(text.data(), &size))) return {};
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

std::string words_for_node(const Runtime& runtime, const KernelInfo& info,
                           const Version& version) {
  const Api& api = runtime.api();
  std::string name = text_from(
      runtime, [&](char* out, size_t* size) { return api.get_node_name(&info, out, size); });
  const char* called = "node '";
  if (name.empty()) {
    called = "node of output '";
    name = text_from(runtime, [&](char* out, size_t* size) {
      return api.get_output_name(&info, 0, out, size);
    });
  }
  return called + name + "' (" + words_for(version) + ")";
}

Kernel::Kernel(const KernelSource& source, const KernelInfo& info)
    : KernelImpl{},
      runtime(*source.runtime),
      version(*source.version),
      settings(*source.settings),
      most_threads(settings.threads > 0 ? settings.threads : default_threads()),
      axis(attribute(runtime, info, "axis", 0)),
      keepdims(attribute(runtime, info, "keepdims", 1) != 0),
      select_last_index(version.has_select_last_index &&
                        attribute(runtime, info, "select_last_index", 0) != 0),
      node(words_for_node(runtime, info, version)) {
  api_version = kApiVersion;
  compute = ort::compute;
  release = ort::release;
}

}  // namespace

Status* create_kernel(void* state, const KernelInfo* info, KernelImpl** kernel) noexcept {
  const auto& source = *static_cast<const KernelSource*>(state);
  return source.runtime->guarded([&] {
    const Runtime& runtime = *source.runtime;
    runtime.there(kernel, "place for the kernel") =
        new Kernel(source, runtime.there(info, "kernel information"));
  });
}

}  // namespace onnx_argmax::ort
