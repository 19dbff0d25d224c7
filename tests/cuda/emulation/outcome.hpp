// What the emulation says of the kernels that were launched last.
#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda/emulation/reports.hpp"

namespace troupe::test {

// The one report of the kernel that was launched last; empty where it ran to its end.
inline std::string outcome() {
  const cudaError_t error = cudaDeviceSynchronize();
  const std::vector<std::string> reports = kernels::cuda::emulation::take_reports();
  EXPECT_EQ(reports.empty(), error == cudaSuccess);
  EXPECT_LE(reports.size(), 1U);
  if (error != cudaSuccess) cudaDeviceReset();
  return reports.empty() ? "" : reports.front();
}

}  // namespace troupe::test

// Of the kernel that was launched last.
#define EXPECT_REPORT(words) EXPECT_NE(::troupe::test::outcome().find(words), std::string::npos)
