#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/cuda_error.hpp"

namespace troupe::checks {

void check_list::add(const std::string& name,
                     const std::function<void(std::mt19937&, comparison&)>& compare) {
  kernel_check check;
  check.name = name;
  comparison compared(options_.shift);
  try {
    for (; check.shapes < options_.shapes; ++check.shapes) {
      std::mt19937 random(options_.seed + 1000 * static_cast<std::uint32_t>(done_.size()) +
                          static_cast<std::uint32_t>(check.shapes));
      compare(random, compared);
      check_launches(name.c_str());
      check_cuda(cudaDeviceSynchronize(), name.c_str());
    }
    check.passed = compared.passed();
  } catch (const device_lost&) {
    throw;
  } catch (const std::exception& why) {
    check.failure = why.what();
  }
  check.difference = compared.difference();
  check.bound = compared.bound();
  options_.progress(fmt::format("{}: {}{}", name, check.passed ? "right" : "WRONG",
                                check.failure.empty() ? "" : ": " + check.failure));
  done_.push_back(std::move(check));
}

std::int32_t pick(std::mt19937& random, std::int32_t least, std::int32_t most) {
  most = std::max(least, most);
  return least + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most - least + 1));
}

std::vector<kernel_check> check_kernels(const kernel_check_options& options) {
  check_list list(options);
  check_elementwise(list);
  check_attention(list);
  check_sampling(list);
  check_products(list);
  check_fp8(list);
  check_few_rows(list);
  return list.take();
}

}  // namespace troupe::checks
