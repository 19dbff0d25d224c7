// More kernels with one fault each in shared memory, as memory_check_test.cu has them.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/tensor_cores.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/emulation/outcome.hpp"

namespace troupe {
namespace {

using test::outcome;
using shared_memory_check = test::cuda_kernels;

// Two arrays, in which a device may put them one behind the other.
__global__ void write_one_of_two(int place, float* out) {
  TROUPE_SHARED(float, first, [64]);
  TROUPE_SHARED(float, second, [64]);
  first[threadIdx.x] = second[threadIdx.x] = 0;
  if (threadIdx.x == 0) first[place] = 1;
  out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

TEST_F(shared_memory_check, finds_an_index_that_leads_from_one_array_into_another) {
  const test::device_array<float> out(64);
  TROUPE_LAUNCH(write_one_of_two, 1, 64, 0, nullptr, 0, out.data());
  EXPECT_EQ(outcome(), "");
  for (const int beside : {64, 96, 127, 128, 1000, 50'000, -1, -32, -64, -50'000}) {
    TROUPE_LAUNCH(write_one_of_two, 1, 64, 0, nullptr, beside, out.data());
    EXPECT_NE(outcome().find("out of bounds: write to 4 bytes of shared memory"), std::string::npos)
        << beside;
  }
}

// Every lane shows a number and reads its neighbour's.
__global__ void multiply_between(float* out, bool waits) {
  TROUPE_SHARED(float, shown, [32]);
  const std::uint32_t a[4] = {}, b[2] = {};
  float sums[4] = {};
  shown[threadIdx.x] = 1;
  kernels::cuda::emulation::multiply_tiles(false, 1, 1, sums, a, b);
  if (waits) __syncwarp();
  out[threadIdx.x] = sums[0] + shown[(threadIdx.x + 1) % 32];
}

TEST_F(shared_memory_check, finds_lanes_that_take_a_product_for_a_barrier) {
  const test::device_array<float> out(32);
  TROUPE_LAUNCH(multiply_between, 1, 32, 0, nullptr, out.data(), true);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(multiply_between, 1, 32, 0, nullptr, out.data(), false);
  EXPECT_REPORT("race: read of byte ");
}

enum class ordered_by { nothing, warp, block };

// All count, and then one of them reads or writes what was counted.
__global__ void count_and_look(int* out, unsigned looks, ordered_by how, bool overwrites) {
  TROUPE_SHARED(int, count);
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  if (how == ordered_by::warp) __syncwarp();
  if (how == ordered_by::block) __syncthreads();
  if (threadIdx.x != looks) return;
  if (overwrites) count = 7;
  if (!overwrites) *out = count;
}

TEST_F(shared_memory_check, finds_a_thread_that_looks_at_what_others_still_count) {
  const test::device_array<int> out(1);
  for (const bool overwrites : {false, true}) {
    for (const unsigned threads : {1U, 32U, 96U}) {
      TROUPE_LAUNCH(count_and_look, 1, threads, 0, nullptr, out.data(), threads - 1, ordered_by::block,
                    overwrites);
      EXPECT_EQ(outcome(), "");
    }
    TROUPE_LAUNCH(count_and_look, 1, 1, 0, nullptr, out.data(), 0U, ordered_by::nothing, overwrites);
    EXPECT_EQ(outcome(), "") << "its own";
    TROUPE_LAUNCH(count_and_look, 1, 32, 0, nullptr, out.data(), 31U, ordered_by::warp, overwrites);
    EXPECT_EQ(outcome(), "") << "those of its warp";
    // Also the last to have counted.
    for (const unsigned looks : {0U, 30U, 31U}) {
      TROUPE_LAUNCH(count_and_look, 1, 32, 0, nullptr, out.data(), looks, ordered_by::nothing, overwrites);
      EXPECT_REPORT("race: ");
    }
    for (const ordered_by how : {ordered_by::nothing, ordered_by::warp}) {
      TROUPE_LAUNCH(count_and_look, 1, 96, 0, nullptr, out.data(), 95U, how, overwrites);
      EXPECT_REPORT("race: ");
    }
  }
}

enum class copy_call { by_memcpy, by_memmove, by_memset };

__global__ void copy_bytes(float* to, const float* from, std::size_t bytes, copy_call how) {
  if (how == copy_call::by_memcpy) memcpy(to, from, bytes);
  if (how == copy_call::by_memmove) std::memmove(to, from, bytes);
  if (how == copy_call::by_memset) memset(to, 0, bytes);
}

TEST_F(shared_memory_check, looks_at_what_memcpy_and_its_like_touch) {
  const test::device_array<float> shorter(std::vector<float>(5, 1.0F)), longer(std::vector<float>(6, 2.0F));
  for (const copy_call how : {copy_call::by_memcpy, copy_call::by_memmove, copy_call::by_memset}) {
    TROUPE_LAUNCH(copy_bytes, 1, 1, 0, nullptr, shorter.data(), longer.data(), 20, how);
    EXPECT_EQ(outcome(), "");
    EXPECT_EQ(shorter.read()[4], how == copy_call::by_memset ? 0.0F : 2.0F);
    TROUPE_LAUNCH(copy_bytes, 1, 1, 0, nullptr, shorter.data(), longer.data(), 24, how);
    EXPECT_REPORT("out of bounds: write to 24 bytes of device memory");
    TROUPE_LAUNCH(copy_bytes, 1, 1, 0, nullptr, nullptr, nullptr, 0, how);
    EXPECT_EQ(outcome(), "");
  }
  TROUPE_LAUNCH(copy_bytes, 1, 1, 0, nullptr, longer.data(), shorter.data(), 24, copy_call::by_memcpy);
  EXPECT_REPORT("out of bounds: read of 24 bytes of device memory");
}

__global__ void set_shared(std::size_t bytes) {
  TROUPE_SHARED(float, row, [8]);
  if (threadIdx.x == 0) memset(row, 0, bytes);
}

TEST_F(shared_memory_check, looks_at_what_memset_writes_of_shared_memory) {
  TROUPE_LAUNCH(set_shared, 1, 32, 0, nullptr, 32);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(set_shared, 1, 32, 0, nullptr, 36);
  EXPECT_REPORT("out of bounds: write to 36 bytes of shared memory");
}

}  // namespace
}  // namespace troupe
