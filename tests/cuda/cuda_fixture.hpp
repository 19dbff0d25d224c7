// A fixture that fails where the emulation has reported something, and what tests of kernels share with the
// checks of kernels on a device.
#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/emulation/reports.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"

namespace troupe::test {

using namespace checks;
template <class T>
using device_array = checks::device_data<T>;

// Ends each test with all kernels run, no report that the test did not take, and no error left.
class cuda_kernels : public testing::Test {
 protected:
  void TearDown() override {
    cudaDeviceSynchronize();
    for (const std::string& text : kernels::cuda::emulation::take_reports()) ADD_FAILURE() << text;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    cudaDeviceReset();
  }
};

}  // namespace troupe::test
