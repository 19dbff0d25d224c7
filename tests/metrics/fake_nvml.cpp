// A management library of one device, on PCI bus 65, for the tests of metrics/nvml.hpp: a shared library with
// the calls that NVIDIA's reference manual describes. What it says comes from the environment, to be changed
// between two readings.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int uninitialized = 1;
constexpr int not_supported = 3;
constexpr int not_found = 6;

bool is_initialized = false;
int the_device = 0;

unsigned long long said(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

extern "C" {

struct memory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  is_initialized = true;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (!is_initialized) return uninitialized;
  if (std::strcmp(bus_id, "0000:65:00.0") != 0) return not_found;
  *device = &the_device;
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, memory* out) {
  if (device != &the_device) return not_found;
  *out = {1000, 1000 - said("FAKE_NVML_USED"), said("FAKE_NVML_USED")};
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(said("FAKE_NVML_MILLIWATTS"));
  return *milliwatts > 0 ? 0 : not_supported;
}

int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 71 : 0;
  return 0;
}
}
