// A management library of one device, on PCI bus 65 (fake_nvml.cpp): what it says, and how it behaves.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

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

// Tests that find it as above.
class with_fake_nvml : public testing::Test {
 protected:
  with_fake_nvml() : device_(the_fake_nvml()) { reset(); }
  ~with_fake_nvml() override { reset(); }
  fake_nvml_device& device() { return device_; }

 private:
  void reset() {
    device_.total = 1000;
    device_.used = 0;
    device_.milliwatts = 0;
    device_.hangs = false;
  }
  fake_nvml_device& device_;
};

// Another thread's doing, at some time.
template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace troupe::test
