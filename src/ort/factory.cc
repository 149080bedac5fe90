// SPDX-License-Identifier: Apache-2.0
#include "factory.h"

#include <atomic>
#include <utility>

#include "names.h"
#include "provider.h"

namespace onnx_argmax::ort {
namespace {

// No vendor of hardware.
constexpr uint32_t kVendorId = 0;

class Factory : public EpFactory {
 public:
  explicit Factory(std::unique_ptr<const Runtime> runtime);

  const Runtime& runtime() const { return *runtime_; }
  void hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~Factory() = default;

  const std::unique_ptr<const Runtime> runtime_;
  std::atomic<int64_t> holders_{1};
};

const char* get_name(const EpFactory* /*factory*/) noexcept { return kProviderName; }
const char* get_vendor(const EpFactory* /*factory*/) noexcept { return kVendor; }
const char* get_version(const EpFactory* /*factory*/) noexcept { return kProviderVersion; }
uint32_t get_vendor_id(const EpFactory* /*factory*/) noexcept { return kVendorId; }
bool is_stream_aware(const EpFactory* /*factory*/) noexcept { return false; }

// Devices made so far are released again where a later one fails.
void offer(Factory& factory, const HardwareDevice* const* devices, size_t device_count,
           EpDevice** ep_devices, size_t most, size_t& count) {
  const Runtime& runtime = factory.runtime();
  for (size_t i = 0; i < device_count && count < most; ++i) {
    const HardwareDevice& device = runtime.there(devices[i], "hardware device");
    if (runtime.api().get_device_type(&device) != DeviceType::kCpu) continue;
    EpDevice* made = nullptr;
    runtime.check(runtime.ep_api().create_ep_device(&factory, &device, nullptr, nullptr, &made));
    ep_devices[count] = &runtime.there(made, "device");
    ++count;
  }
}

Status* get_supported_devices(EpFactory* base, const HardwareDevice* const* devices,
                              size_t device_count, EpDevice** ep_devices, size_t most,
                              size_t* count) noexcept {
  auto& factory = *static_cast<Factory*>(base);
  const Runtime& runtime = factory.runtime();
  return runtime.guarded([&] {
    size_t& offered = runtime.there(count, "place for the number of devices");
    offered = 0;
    if (device_count == 0 || most == 0) return;
    runtime.there(devices, "hardware devices");
    runtime.there(ep_devices, "place for devices");
    try {
      offer(factory, devices, device_count, ep_devices, most, offered);
    } catch (...) {
      while (offered > 0) runtime.ep_api().release_ep_device(ep_devices[--offered]);
      throw;
    }
  });
}

Status* create_ep(EpFactory* base, const HardwareDevice* const* /*devices*/,
                  const KeyValuePairs* const* /*metadata*/, size_t /*device_count*/,
                  const SessionOptions* options, const Logger* logger, Ep** ep) noexcept {
  auto& factory = *static_cast<Factory*>(base);
  const Runtime& runtime = factory.runtime();
  return runtime.guarded([&] {
    runtime.there(ep, "place for the provider") = new Provider(runtime, options, logger);
    factory.hold();
  });
}

void release_ep(EpFactory* base, Ep* ep) noexcept {
  if (ep == nullptr) return;
  delete static_cast<Provider*>(ep);
  static_cast<Factory*>(base)->let_go();
}

// Tensors stay in the CPU's memory, so there is nothing to transfer.
Status* create_data_transfer(EpFactory* base, void** transfer) noexcept {
  const Runtime& runtime = static_cast<Factory*>(base)->runtime();
  return runtime.guarded([&] { runtime.there(transfer, "place for a transfer") = nullptr; });
}

Factory::Factory(std::unique_ptr<const Runtime> runtime)
    : EpFactory{}, runtime_(std::move(runtime)) {
  api_version = kApiVersion;
  get_name = ort::get_name;
  get_vendor = ort::get_vendor;
  get_supported_devices = ort::get_supported_devices;
  create_ep = ort::create_ep;
  release_ep = ort::release_ep;
  get_vendor_id = ort::get_vendor_id;
  get_version = ort::get_version;
  create_data_transfer = ort::create_data_transfer;
  is_stream_aware = ort::is_stream_aware;
}

}  // namespace

EpFactory* make_factory(std::unique_ptr<const Runtime> runtime) {
  return new Factory(std::move(runtime));
}

void release_factory(EpFactory* factory) noexcept {
  if (factory != nullptr) static_cast<Factory*>(factory)->let_go();
}

}  // namespace onnx_argmax::ort
