#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe::checks {

void check_list::compare_shapes(const std::function<void(std::mt19937&, comparison&)>& compare,
                                kernel_check& check, comparison& compared) {
  for (; check.shapes < options_.shapes; ++check.shapes) {
    std::mt19937 random(options_.seed + 1000 * static_cast<std::uint32_t>(done_.size()) +
                        static_cast<std::uint32_t>(check.shapes));
    compare(random, compared);
    check_launches(check.name.c_str());
    check_cuda(cudaDeviceSynchronize(), check.name.c_str());
  }
  check.passed = compared.passed();
}

void check_list::add(const std::string& name,
                     const std::function<void(std::mt19937&, comparison&)>& compare) {
  kernel_check check;
  check.name = name;
  comparison compared(options_.shift);
  std::exception_ptr lost;
  try {
    compare_shapes(compare, check, compared);
  } catch (const device_lost& why) {
    check.failure = why.what();
    lost = std::current_exception();
  } catch (const std::exception& why) {
    check.failure = why.what();
  }
  check.difference = compared.difference();
  check.bound = compared.bound();
  options_.progress(fmt::format("{}: {}{}", name, check.passed ? "right" : "WRONG",
                                check.failure.empty() ? "" : ": " + check.failure));
  done_.push_back(std::move(check));
  if (lost) std::rethrow_exception(lost);
}

std::int32_t pick(std::mt19937& random, std::int32_t least, std::int32_t most) {
  most = std::max(least, most);
  return least + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most - least + 1));
}

void check_kernels(const kernel_check_options& options, std::vector<kernel_check>& done) {
  check_list list(options, done);
  check_elementwise(list);
  check_attention(list);
  check_sampling(list);
  check_products(list);
  check_fp8(list);
  check_few_rows(list);
}

}  // namespace troupe::checks
