// Quantised weights on the device, and what they are worth.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/tiled_weights.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"

namespace troupe::checks {

// A matrix with random codes, scales and minima.
class quantized_weights {
 public:
  quantized_weights(kernels::weight_kind kind, std::int32_t outputs, std::int32_t inputs,
                    std::mt19937& random);

  const kernels::tiled_matrix& layout() const { return layout_; }
  double at(std::int32_t output, std::int32_t input) const {
    return values_[static_cast<std::size_t>(output) * static_cast<std::size_t>(layout_.inputs) +
                   static_cast<std::size_t>(input)];
  }

 private:
  std::vector<std::byte> pack(std::mt19937& random);
  kernels::weight_group random_group(std::mt19937& random) const;
  double value_of(const kernels::weight_group& weights, std::size_t k) const;

  kernels::tiled_matrix layout_;
  std::vector<double> values_;
  device_data<std::byte> data_;
};

}  // namespace troupe::checks
