#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"

#include <set>

#include "kernels/cuda/emulation/faults.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"

namespace troupe {
namespace {

using checks::comparison;
using checks::kernel_check;

class kernel_checks : public test::cuda_kernels {
 protected:
  static checks::kernel_check_options small() {
    checks::kernel_check_options options;
    options.shapes = 2;
    options.width = 200;
    options.rows = 4;
    options.context = 140;
    options.vocab = 500;
    options.large_vocab = 700;
    options.batches = {1, 3, 7};
    options.open_gemm = test::open_reference_gemm;
    return options;
  }
  static std::vector<kernel_check> check_all(const checks::kernel_check_options& options) {
    std::vector<kernel_check> done;
    checks::check_kernels(options, done);
    return done;
  }
};

TEST_F(kernel_checks, pass_on_a_device_that_computes_what_it_should) {
  std::set<std::string> names;
  for (const kernel_check& each : check_all(small())) {
    EXPECT_TRUE(each.passed) << each.name << ": " << each.difference << " apart, " << each.bound
                             << " allowed. " << each.failure;
    EXPECT_EQ(each.shapes, 2) << each.name;
    EXPECT_LE(each.difference, each.bound) << each.name;
    EXPECT_TRUE(names.insert(each.name).second) << each.name << " is there twice";
  }
  EXPECT_EQ(names.size(), 80U);
}

// Against expectations that are all wrong by the same, no kernel may be found right.
TEST_F(kernel_checks, report_each_kernel_that_is_wrong) {
  checks::kernel_check_options options = small();
  options.shapes = 1;
  options.shift = 0.75;
  for (const kernel_check& each : check_all(options)) {
    EXPECT_FALSE(each.passed) << each.name;
    EXPECT_GT(each.difference, each.bound) << each.name;
  }
}

// Devices of compute capability 8.6, 8.9 and 12.x have 99 KiB, where heads of more than 192 are refused.
TEST_F(kernel_checks, draw_no_heads_that_the_device_has_no_shared_memory_for) {
  checks::kernel_check_options options = small();
  options.shapes = 8;
  options.shared_per_block = std::size_t{99} << 10U;
  const auto before = kernels::cuda::emulation::faults();
  kernels::cuda::emulation::faults().shared_bytes = options.shared_per_block;
  std::vector<kernel_check> done;
  checks::check_list list(options, done);
  checks::check_attention(list);
  kernels::cuda::emulation::faults() = before;
  EXPECT_FALSE(done.empty());
  for (const kernel_check& each : done) EXPECT_TRUE(each.passed) << each.name << ": " << each.failure;
}

TEST_F(kernel_checks, name_the_kernel_that_is_wrong_and_no_other) {
  checks::kernel_check_options options = small();
  options.shapes = 1;
  options.open_gemm = [](const gemm_request&) -> result<std::unique_ptr<gemm>> {
    // Half of what it is asked for is not computed.
    return std::make_unique<test::wrong_gemm>(
        [](device_matrix& weight, gemm_output) { weight.outputs /= 2; });
  };
  std::vector<kernel_check> done;
  checks::check_list list(options, done);
  checks::check_elementwise(list);
  checks::check_products(list);
  checks::check_fp8(list);
  for (const kernel_check& each : done)
    EXPECT_EQ(each.passed, each.name.find("product, ") == std::string::npos) << each.name;
}

TEST_F(kernel_checks, find_products_whose_rows_have_other_bits_in_other_company) {
  checks::kernel_check_options options = small();
  options.open_gemm = [](const gemm_request&) -> result<std::unique_ptr<gemm>> {
    return std::make_unique<test::reference_gemm>(true);
  };
  std::vector<kernel_check> done;
  checks::check_list list(options, done);
  checks::check_products(list);
  for (const kernel_check& each : done) {
    const bool is_invariant = each.name.starts_with("batch-invariant");
    if (is_invariant && each.name.ends_with("bf16")) continue;  // rounding hides it in so few elements
    EXPECT_EQ(each.passed, !is_invariant) << each.name;
  }
}

TEST_F(kernel_checks, say_why_a_kernel_could_not_be_compared) {
  checks::kernel_check_options options = small();
  options.open_gemm = [](const gemm_request&) -> result<std::unique_ptr<gemm>> {
    return fail(error_code::unavailable, "no such library");
  };
  std::vector<kernel_check> done;
  checks::check_list list(options, done);
  checks::check_products(list);
  const kernel_check last = done.back();
  EXPECT_FALSE(last.passed);
  EXPECT_EQ(last.shapes, 0);
  EXPECT_EQ(last.failure, "no such library");
}

TEST_F(kernel_checks, keep_the_value_that_is_nearest_to_its_bound) {
  comparison compared;
  EXPECT_FALSE(compared.passed()) << "nothing was compared";
  compared.add(1, 1.5, 2);
  compared.add(1, 1.4, 0.5);
  compared.add(3, 3, 0);
  EXPECT_TRUE(compared.passed());
  EXPECT_NEAR(compared.difference(), 0.4, 1e-12);
  EXPECT_EQ(compared.bound(), 0.5);
  compared.add(std::nan(""), 0, 100);
  EXPECT_FALSE(compared.passed());
  compared.add(1, 1, 1);
  EXPECT_EQ(compared.bound(), 100);
  comparison exact;
  exact.add(5, 6, 0);
  EXPECT_FALSE(exact.passed());
}

}  // namespace
}  // namespace troupe
