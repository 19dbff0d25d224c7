// Arrays on the device that a check fills and reads back, and the 16-bit types by name.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cuda/element_type.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"

namespace troupe::checks {

// Memory of the device with a copy of `values`, or with all bits set: NaN in every type, so that what a
// kernel leaves out shows. Throws what check_cuda() throws.
template <class T>
class device_data {
 public:
  explicit device_data(std::size_t count) : memory_(count * sizeof(T)), count_(count) {
    if (count == 0) return;
    check_cuda(cudaMemset(memory_.data(), 0xFF, memory_.size()), "cudaMemset");
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  explicit device_data(const std::vector<T>& values)
      : memory_(values.size() * sizeof(T)), count_(values.size()) {
    if (values.empty()) return;
    check_cuda(cudaMemcpy(memory_.data(), values.data(), memory_.size(), cudaMemcpyHostToDevice),
               "cudaMemcpy");
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return count_; }

  // Waits for the default stream's kernels first.
  std::vector<T> read() const {
    std::vector<T> values(count_);
    if (count_ == 0) return values;
    check_cuda(cudaMemcpy(values.data(), memory_.data(), memory_.size(), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    return values;
  }

 private:
  device_memory memory_;
  std::size_t count_;
};

template <class T>
inline constexpr kernels::cuda::element_type type_of =
    std::is_same_v<T, __nv_bfloat16> ? kernels::cuda::element_type::bf16 : kernels::cuda::element_type::f16;

// What one rounding to T may change, relative to the value; and a fiftieth more, since what was rounded is
// itself a little beside the exact value and may be nearer to the next step.
template <class T>
inline constexpr double rounding_of = 1.02 * (std::is_same_v<T, __nv_bfloat16> ? 1.0 / 256 : 1.0 / 2048);

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

}  // namespace troupe::checks
