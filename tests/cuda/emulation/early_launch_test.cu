// Kernels that begin before the one ahead of them has ended, each with one fault, and the report that it must
// bring.
#include "kernels/cuda/device.cuh"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/emulation/outcome.hpp"

namespace troupe {
namespace {

using kernels::cuda::let_later_kernels_begin;
using kernels::cuda::wait_for_earlier_kernels;

class early_launch : public test::cuda_kernels {
 protected:
  void SetUp() override {
    cudaMalloc(reinterpret_cast<void**>(&numbers_), 64 * sizeof(int));
    cudaMemset(numbers_, 0, 64 * sizeof(int));
  }
  int* numbers_ = nullptr;
};

__global__ void add_one(int* numbers) { numbers[threadIdx.x] += 1; }

// From the second half into the first.
__global__ void copy_early(int* numbers, bool reads_early, bool writes_early, bool waits) {
  let_later_kernels_begin();
  int* const to = numbers + threadIdx.x;
  int value = reads_early ? to[32] : 0;
  if (writes_early) *to = 7;
  if (waits) wait_for_earlier_kernels();
  if (!reads_early) value = to[32];
  if (waits) *to = value;
}

TEST_F(early_launch, reads_before_it_waits_what_no_kernel_wrote) {
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, true, false, true);
  EXPECT_EQ(test::outcome(), "");
}

TEST_F(early_launch, finds_what_is_read_of_a_kernel_that_may_still_run) {
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_ + 32);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, false, false, true);
  EXPECT_EQ(test::outcome(), "") << "it waits first";
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_ + 32);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, true, false, true);
  EXPECT_NE(test::outcome().find("early read"), std::string::npos);
}

// Between the two is another that begins early: it may have ended before the first has.
TEST_F(early_launch, finds_what_is_read_of_a_kernel_further_back) {
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_ + 32);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 16, 0, nullptr, numbers_, false, false, true);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, true, false, true);
  EXPECT_NE(test::outcome().find("early read"), std::string::npos);
}

TEST_F(early_launch, takes_what_ended_before_an_ordinary_launch) {
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_ + 32);
  TROUPE_LAUNCH(add_one, 1, 16, 0, nullptr, numbers_);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, true, false, true);
  EXPECT_EQ(test::outcome(), "");
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_ + 32);
  cudaDeviceSynchronize();
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, true, false, true);
  EXPECT_EQ(test::outcome(), "") << "the host has waited";
}

__global__ void copy_read_only(int* numbers) {
  wait_for_earlier_kernels();
  numbers[threadIdx.x] = __ldg(numbers + threadIdx.x + 32);
}

// Which need not have seen what was written while the kernel was already there.
TEST_F(early_launch, finds_read_only_loads_of_what_kernels_before_it_wrote) {
  TROUPE_LAUNCH_EARLY(copy_read_only, 1, 32, 0, nullptr, numbers_);
  EXPECT_EQ(test::outcome(), "");
  TROUPE_LAUNCH(add_one, 1, 32, 0, nullptr, numbers_ + 32);
  TROUPE_LAUNCH_EARLY(copy_read_only, 1, 32, 0, nullptr, numbers_);
  EXPECT_NE(test::outcome().find("read-only load"), std::string::npos);
}

TEST_F(early_launch, finds_writes_before_it_waits_and_kernels_that_never_do) {
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, false, true, true);
  EXPECT_NE(test::outcome().find("early write"), std::string::npos);
  TROUPE_LAUNCH_EARLY(copy_early, 1, 32, 0, nullptr, numbers_, false, false, false);
  EXPECT_NE(test::outcome().find("no thread of it waits"), std::string::npos);
}

}  // namespace
}  // namespace troupe
