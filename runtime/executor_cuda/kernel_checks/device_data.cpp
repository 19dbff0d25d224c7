#include "runtime/executor_cuda/kernel_checks/device_data.hpp"

namespace troupe::checks {

std::vector<float> normal_floats(std::size_t count, float deviation, std::mt19937& random) {
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

}  // namespace troupe::checks
