// Device arrays for tests of kernels, and a fixture that fails where the emulation has reported something.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/emulation/reports.hpp"

namespace troupe::test {

// Memory of the device with a copy of `values`; freed with its owner.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory_), count * sizeof(T)), cudaSuccess);
  }
  explicit device_array(const std::vector<T>& values) : device_array(values.size()) {
    EXPECT_EQ(cudaMemcpy(memory_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(memory_); }

  T* data() const { return memory_; }
  std::size_t size() const { return count_; }

  // Waits for the default stream's kernels first.
  std::vector<T> read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), memory_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  T* memory_ = nullptr;
  std::size_t count_;
};

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

// The 16-bit types by their element_type, for typed tests.
template <class T>
inline constexpr kernels::cuda::element_type type_of =
    std::is_same_v<T, __nv_bfloat16> ? kernels::cuda::element_type::bf16 : kernels::cuda::element_type::f16;

// What one rounding to T may change, relative to the value.
template <class T>
inline constexpr double rounding_of = std::is_same_v<T, __nv_bfloat16> ? 1.0 / 256 : 1.0 / 2048;

template <class T>
std::vector<T> rounded(const std::vector<float>& values) {
  std::vector<T> result;
  result.reserve(values.size());
  for (const float value : values) result.push_back(T(value));
  return result;
}

template <class T>
std::vector<float> floats(const std::vector<T>& values) {
  std::vector<float> result;
  result.reserve(values.size());
  for (const T& value : values) result.push_back(static_cast<float>(value));
  return result;
}

std::vector<float> normal_floats(std::size_t count, float deviation, std::mt19937& random);

}  // namespace troupe::test
