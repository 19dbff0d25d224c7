// A management library of one device, on PCI bus 65 (fake_nvml.cpp): what it says, and how it behaves.
#pragma once
#include <dlfcn.h>

#include <atomic>

#include "tests/support/paths.hpp"

namespace troupe::test {

struct fake_nvml_device {
  static constexpr const char* bus_id = "0000:65:00.0";
  std::atomic<unsigned long long> total{1000};  // 0: it has no memory of its own, and says so
  std::atomic<unsigned long long> used{0};
  std::atomic<unsigned> milliwatts{0};  // 0: they are not measured
  std::atomic<bool> hangs{false};       // no call comes back
  std::atomic<int> readings{0};         // of anything, so far
};

// As nvml opens it: the library is one in a process.
inline fake_nvml_device& the_fake_nvml() {
  void* const library = ::dlopen(fake_nvml_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return *reinterpret_cast<fake_nvml_device* (*)()>(::dlsym(library, "fake_nvml_device_of_the_tests"))();
}

}  // namespace troupe::test
