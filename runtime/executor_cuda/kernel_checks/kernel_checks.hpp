// Every kernel of kernels/cuda beside a plain loop on the host, over random shapes, on the device that is
// open: NVIDIA's or, in tests, the emulated one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/executor_cuda/kernel_checks/comparison.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"
#include "runtime/result.hpp"

namespace troupe::checks {

struct kernel_check_options {
  std::int32_t shapes = 8;      // random ones of each kernel
  std::int32_t width = 8192;    // the largest row of what works on hidden states
  std::int32_t rows = 80;       // of such, at most
  std::int32_t context = 1500;  // the longest that is attended to
  std::int32_t vocab = 60'000;  // the largest row of logits
  // Of some rows besides, which have exactly as many: what common models have.
  std::int32_t large_vocab = 151'936;
  std::uint32_t seed = 1;
  double shift = 0;                                     // comparison's: with one that is not 0 all must fail
  std::vector<std::int32_t> batches = {1, 8, 64, 512};  // rows of products that must keep their bits
  bool fp8 = true;                                      // whether the device multiplies 8-bit floats
  std::size_t shared_per_block = std::size_t{227} << 10U;  // bytes that a block of the device may have
  gemm_opener open_gemm = {};
  std::function<void(const std::string&)> progress = [](const std::string&) {};  // a line for each check
};

// The element that comes nearest to its bound, or goes furthest beyond, of all shapes.
struct kernel_check {
  std::string name;
  std::int32_t shapes = 0;
  double difference = 0;  // from the plain loop
  double bound = 0;       // what roundings explain; 0: must be equal
  bool passed = false;
  std::string failure;  // what the device or the kernel's launcher said, where there is no comparison
};

// Adds each check to `done` as it ends. Throws device_lost, with the check that met it the last of `done`.
// What else goes wrong is in the checks.
void check_kernels(const kernel_check_options& options, std::vector<kernel_check>& done);

// Where the checks are written down, a family of kernels a file.
class check_list {
 public:
  check_list(const kernel_check_options& options, std::vector<kernel_check>& done)
      : options_(options), done_(done) {}

  // Runs `compare` with as many random states as there are shapes; it adds what it finds.
  void add(const std::string& name, const std::function<void(std::mt19937&, comparison&)>& compare);
  const kernel_check_options& options() const { return options_; }

 private:
  // Throws what `compare` does.
  void compare_shapes(const std::function<void(std::mt19937&, comparison&)>& compare, kernel_check& check,
                      comparison& compared);

  const kernel_check_options& options_;
  std::vector<kernel_check>& done_;
};

// A number of [least, most].
std::int32_t pick(std::mt19937& random, std::int32_t least, std::int32_t most);

void check_elementwise(check_list& list);
void check_attention(check_list& list);
void check_sampling(check_list& list);
void check_products(check_list& list);
void check_fp8(check_list& list);
void check_few_rows(check_list& list);

}  // namespace troupe::checks
