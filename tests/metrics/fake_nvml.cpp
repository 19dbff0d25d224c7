// The calls of NVIDIA's management library that its reference manual describes, as a shared library.
#include "tests/metrics/fake_nvml.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace {

constexpr int uninitialized = 1;
constexpr int not_supported = 3;
constexpr int not_found = 6;

bool is_initialized = false;
troupe::test::fake_nvml_device the_device;

}  // namespace

extern "C" {

struct memory {
  unsigned long long total, free, used;
};

troupe::test::fake_nvml_device* fake_nvml_device_of_the_tests() { return &the_device; }

int nvmlInit_v2() {
  is_initialized = true;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  ++the_device.readings;
  while (the_device.hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!is_initialized) return uninitialized;
  if (std::strcmp(bus_id, troupe::test::fake_nvml_device::bus_id) != 0) return not_found;
  *device = &the_device;
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, memory* out) {
  if (device != &the_device) return not_found;
  if (the_device.total == 0) return not_supported;
  const unsigned long long used = the_device.used;
  *out = {the_device.total, the_device.total - used, used};
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = the_device.milliwatts;
  return *milliwatts > 0 ? 0 : not_supported;
}

int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 71 : 0;
  return 0;
}
}
