#include "metrics/nvml.hpp"

#include <dlfcn.h>

#include <type_traits>

namespace troupe::metrics {
namespace {

constexpr int nvml_success = 0;
constexpr int sensor_of_the_chip = 0;

}  // namespace

void nvml::open() {
  is_tried_ = true;
  void* const library = ::dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return;
  calls found;
  const auto find = [library](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
    return call != nullptr;
  };
  if (find(found.init, "nvmlInit_v2") && find(found.find, "nvmlDeviceGetHandleByPciBusId_v2") &&
      find(found.memory, "nvmlDeviceGetMemoryInfo") && find(found.power, "nvmlDeviceGetPowerUsage") &&
      find(found.temperature, "nvmlDeviceGetTemperature") && found.init() == nvml_success)
    calls_ = found;
}

std::optional<nvml_reading> nvml::read(const std::string& bus_id) {
  if (!is_tried_) open();
  if (!calls_) return std::nullopt;
  device_of_nvml* device = nullptr;
  memory_of_nvml memory{};
  if (calls_->find(bus_id.c_str(), &device) != nvml_success) return std::nullopt;
  nvml_reading out;
  if (calls_->memory(device, &memory) == nvml_success) {
    out.total_bytes = static_cast<double>(memory.total);
    out.free_bytes = static_cast<double>(memory.free);
    out.used_bytes = static_cast<double>(memory.used);
  }
  unsigned milliwatts = 0;
  unsigned celsius = 0;
  if (calls_->power(device, &milliwatts) == nvml_success) out.watts = milliwatts / 1000.0;
  if (calls_->temperature(device, sensor_of_the_chip, &celsius) == nvml_success) out.celsius = celsius;
  return out;
}

}  // namespace troupe::metrics
