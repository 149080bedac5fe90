// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include "kernel.h"
#include "names.h"

namespace onnx_argmax::ort {
namespace {

Owned<KernelRegistry> make_registry(const Runtime& runtime) {
  KernelRegistry* registry = nullptr;
  runtime.check(runtime.ep_api().create_kernel_registry(&registry));
  return {&runtime.there(registry, "kernel registry"), runtime.ep_api().release_kernel_registry};
}

Owned<KernelDefBuilder> make_builder(const Runtime& runtime) {
  KernelDefBuilder* builder = nullptr;
  runtime.check(runtime.ep_api().create_kernel_def_builder(&builder));
  return {&runtime.there(builder, "kernel definition builder"),
          runtime.ep_api().release_kernel_def_builder};
}

Owned<KernelDef> make_definition(const Runtime& runtime, const Version& version) {
  const EpApi& api = runtime.ep_api();
  const DataType* types[std::size(kTypes)];
  size_t count = 0;
  for (const TypeRow& row : kTypes) {
    if (!version.takes(row)) continue;
    const DataType* type = nullptr;
    runtime.check(api.get_tensor_data_type(static_cast<int32_t>(row.type), &type));
    types[count++] = &runtime.there(type, "data type");
  }
  const Owned<KernelDefBuilder> builder = make_builder(runtime);
  runtime.check(api.set_operator_type(builder.get(), kOperator));
  runtime.check(api.set_domain(builder.get(), kDomain));
  runtime.check(api.set_since_version(builder.get(), version.since, version.last_opset));
  runtime.check(api.set_execution_provider(builder.get(), kProviderName));
  runtime.check(api.add_type_constraint(builder.get(), kTypeParameter, types, count));
  KernelDef* definition = nullptr;
  runtime.check(api.build_kernel_def(builder.get(), &definition));
  return {&runtime.there(definition, "kernel definition"), api.release_kernel_def};
}

}  // namespace

Registry::Registry(const Runtime& runtime, const Settings& settings)
    : registry_(make_registry(runtime)) {
  for (size_t i = 0; i < std::size(kVersions); ++i) {
    sources_[i] = {&runtime, &settings, &kVersions[i]};
    const Owned<KernelDef> definition = make_definition(runtime, kVersions[i]);
    runtime.check(runtime.ep_api().add_kernel(registry_.get(), definition.get(), create_kernel,
                                              &sources_[i]));
  }
}

}  // namespace onnx_argmax::ort
