// Kernels whose threads or blocks race, and the report that each must bring; beside each what is in order and
// brings none.
#include <cstdint>
#include <string>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/relaxed_store.cuh"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/emulation/outcome.hpp"

namespace troupe {
namespace {

using test::outcome;
using race_check = test::cuda_kernels;

enum class order { nothing, half_a_warp, warp, block };

__device__ void wait(order how) {
  if (how == order::half_a_warp) __syncwarp(threadIdx.x < 16 ? 0xFFFFU : 0xFFFF0000U);
  if (how == order::warp) __syncwarp();
  if (how == order::block) __syncthreads();
}

// Every thread writes its place and reads another's.
__global__ void pass_on(int* out, int distance, order how) {
  TROUPE_SHARED(int, places, [64]);
  places[threadIdx.x] = 0;
  __syncthreads();
  places[threadIdx.x] = 1;
  wait(how);
  out[threadIdx.x] = places[(threadIdx.x + static_cast<unsigned>(distance)) % blockDim.x];
}

TEST_F(race_check, finds_races_between_the_barriers) {
  const test::device_array<int> out(64);
  TROUPE_LAUNCH(pass_on, 1, 64, 0, nullptr, out.data(), 0, order::nothing);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(pass_on, 1, 64, 0, nullptr, out.data(), 1, order::block);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(pass_on, 1, 64, 0, nullptr, out.data(), 63, order::nothing);
  EXPECT_REPORT("race: ");
  // __syncwarp orders the lanes of a warp and nobody else.
  TROUPE_LAUNCH(pass_on, 1, 32, 0, nullptr, out.data(), 31, order::warp);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(pass_on, 1, 64, 0, nullptr, out.data(), 63, order::warp);
  EXPECT_REPORT("race: ");
  TROUPE_LAUNCH(pass_on, 1, 32, 0, nullptr, out.data(), 31, order::half_a_warp);
  EXPECT_REPORT("race: ");
}

// One thread writes what others have read.
__global__ void overwrite(unsigned writer, order how) {
  TROUPE_SHARED(int, value);
  TROUPE_SHARED(int, seen, [64]);
  if (threadIdx.x == writer) value = 1;
  __syncthreads();
  seen[threadIdx.x] = value;
  wait(how);
  if (threadIdx.x == writer) value = 2;
}

TEST_F(race_check, finds_writes_over_what_others_read) {
  TROUPE_LAUNCH(overwrite, 1, 64, 0, nullptr, 63U, order::block);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(overwrite, 1, 1, 0, nullptr, 0U, order::nothing);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(overwrite, 1, 32, 0, nullptr, 31U, order::warp);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(overwrite, 1, 32, 0, nullptr, 31U, order::nothing);
  EXPECT_REPORT("race: ");
  TROUPE_LAUNCH(overwrite, 1, 64, 0, nullptr, 63U, order::warp);
  EXPECT_REPORT("race: ");
}

__global__ void write_the_same_place() {
  TROUPE_SHARED(int, value);
  value = 1;
}

TEST_F(race_check, finds_two_writers_of_one_place) {
  TROUPE_LAUNCH(write_the_same_place, 8, 1, 0, nullptr);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(write_the_same_place, 1, 2, 0, nullptr);
  EXPECT_REPORT("race: write to byte 0 of a shared array of 4 bytes, which thread 0 wrote");
}

__global__ void count_atomically(int* out, bool peek) {
  TROUPE_SHARED(int, count);
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  if (!peek) __syncthreads();
  if (threadIdx.x == 5) *out = count;
}

TEST_F(race_check, lets_atomic_operations_meet_and_nothing_else_with_them) {
  const test::device_array<int> out(1);
  TROUPE_LAUNCH(count_atomically, 1, 96, 0, nullptr, out.data(), false);
  EXPECT_EQ(outcome(), "");
  EXPECT_EQ(out.read()[0], 96);
  TROUPE_LAUNCH(count_atomically, 1, 96, 0, nullptr, out.data(), true);
  EXPECT_REPORT("race: ");
}

// The first thread writes as if nobody else counted yet.
__device__ void reset_and_count(int* count, order how) {
  if (threadIdx.x == 0) *count = 0;
  wait(how);
  atomicAdd(count, 1);
}

__global__ void reset_and_count_shared(order how) {
  TROUPE_SHARED(int, count);
  reset_and_count(&count, how);
}

__global__ void reset_and_count_global(int* count, order how) { reset_and_count(count, how); }

TEST_F(race_check, finds_a_write_that_only_its_own_thread_is_in_order_with) {
  const test::device_array<int> count(1);
  TROUPE_LAUNCH(reset_and_count_shared, 1, 32, 0, nullptr, order::warp);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(reset_and_count_global, 1, 64, 0, nullptr, count.data(), order::block);
  EXPECT_EQ(outcome(), "");
  EXPECT_EQ(count.read()[0], 64);
  TROUPE_LAUNCH(reset_and_count_shared, 1, 32, 0, nullptr, order::nothing);
  EXPECT_REPORT("race: atomic operation on byte 0 of a shared array of 4 bytes, which thread 0 wrote");
  TROUPE_LAUNCH(reset_and_count_global, 1, 64, 0, nullptr, count.data(), order::warp);
  EXPECT_REPORT("race: atomic operation on device memory that thread 0 of the block wrote");
}

// Every thread writes its place of device memory and reads another's.
__global__ void pass_on_global(int* places, int* out, unsigned distance, order how) {
  places[threadIdx.x] = 1;
  wait(how);
  out[threadIdx.x] = places[(threadIdx.x + distance) % blockDim.x];
}

TEST_F(race_check, finds_races_for_device_memory_between_the_barriers) {
  const test::device_array<int> places(64);
  const test::device_array<int> out(64);
  const auto pass = [&](unsigned threads, unsigned distance, order how) {
    TROUPE_LAUNCH(pass_on_global, 1, dim3(threads), 0, nullptr, places.data(), out.data(), distance, how);
    return outcome();
  };
  EXPECT_EQ(pass(64, 0, order::nothing), "");
  EXPECT_EQ(pass(64, 1, order::block), "");
  EXPECT_EQ(pass(32, 1, order::warp), "");
  EXPECT_EQ(pass(1, 0, order::nothing), "");
  const std::string written = "race: read of device memory that thread";
  EXPECT_TRUE(pass(64, 63, order::nothing).starts_with(written));
  EXPECT_TRUE(pass(64, 63, order::warp).starts_with(written));
  EXPECT_TRUE(pass(32, 1, order::half_a_warp).starts_with("race: write to device memory that thread"));
}

__global__ void write_what_others_read(int* value, int* out, unsigned writer, order how) {
  out[threadIdx.x] = *value;
  wait(how);
  if (threadIdx.x == writer) *value = 2;
}

TEST_F(race_check, finds_writes_over_device_memory_that_others_read) {
  const test::device_array<int> value(1);
  const test::device_array<int> out(64);
  const auto overwrite = [&](unsigned threads, order how) {
    TROUPE_LAUNCH(write_what_others_read, 1, dim3(threads), 0, nullptr, value.data(), out.data(), threads - 1,
                  how);
    return outcome();
  };
  EXPECT_EQ(overwrite(64, order::block), "");
  EXPECT_EQ(overwrite(32, order::warp), "");
  EXPECT_TRUE(overwrite(32, order::nothing).starts_with("race: write to device memory that thread"));
  EXPECT_TRUE(overwrite(64, order::warp).starts_with("race: write to device memory that thread"));
}

enum class same_value { plain, relaxed };

__global__ void write_the_same_value(std::uint32_t* value, float* number, same_value how) {
  if (how == same_value::relaxed) {
    kernels::cuda::store_relaxed(value, 7);
    kernels::cuda::store_relaxed(number, 7);
  } else {
    *value = 7;
  }
}

TEST_F(race_check, lets_several_threads_write_the_same_by_relaxed_stores_alone) {
  const test::device_array<std::uint32_t> value(1);
  const test::device_array<float> number(1);
  TROUPE_LAUNCH(write_the_same_value, 2, 64, 0, nullptr, value.data(), number.data(), same_value::relaxed);
  EXPECT_EQ(outcome(), "");
  EXPECT_EQ(value.read()[0], 7U);
  EXPECT_EQ(number.read()[0], 7.0F);
  TROUPE_LAUNCH(write_the_same_value, 1, 64, 0, nullptr, value.data(), number.data(), same_value::plain);
  EXPECT_REPORT("race: write to device memory that thread 0 of the block wrote since the last barrier");
}

__global__ void write_and_read_back(int* memory, int mine, int others) {
  const int block = static_cast<int>(blockIdx.x);
  memory[block * mine] = block;
  if (memory[block * mine ^ others] == 100) memory[block * mine] = 0;
}

TEST_F(race_check, finds_blocks_that_race_for_device_memory) {
  const test::device_array<int> memory(std::vector<int>(4, 0));
  TROUPE_LAUNCH(write_and_read_back, 4, 1, 0, nullptr, memory.data(), 1, 0);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(write_and_read_back, 1, 1, 0, nullptr, memory.data(), 0, 1);
  EXPECT_EQ(outcome(), "") << "what an earlier launch wrote is there";
  TROUPE_LAUNCH(write_and_read_back, 4, 1, 0, nullptr, memory.data(), 1, 1);
  EXPECT_REPORT("race between blocks: ");
  TROUPE_LAUNCH(write_and_read_back, 2, 1, 0, nullptr, memory.data(), 0, 0);
  EXPECT_REPORT("race between blocks: write to device memory that block");
}

// Each block stores to a place of its own, and then reads the other's.
__global__ void store_and_look(std::uint32_t* places, std::uint32_t* out) {
  kernels::cuda::store_relaxed(&places[2 * blockIdx.x], 7);
  out[2 * blockIdx.x] = places[2 * (1 - blockIdx.x)];
}

TEST_F(race_check, a_relaxed_store_puts_nothing_in_order) {
  const test::device_array<std::uint32_t> places(4);
  const test::device_array<std::uint32_t> out(4);
  for (int i = 0; i < 4; i++) {
    TROUPE_LAUNCH(store_and_look, 2, 1, 0, nullptr, places.data(), out.data());
    EXPECT_REPORT("race between blocks: ");
  }
}

enum class hand_over { whole, without_fence, without_atomic };

// Every block leaves a value; each reads what is there of the first's, as the last to arrive would.
__global__ void hand_values_over(int* values, int* arrived, int* out, hand_over how) {
  values[blockIdx.x] = 1;
  if (how != hand_over::without_fence) __threadfence();
  bool last = true;
  if (how != hand_over::without_atomic) last = atomicAdd(arrived, 1) == static_cast<int>(gridDim.x) - 1;
  if (!last) return;
  if (how != hand_over::without_atomic) *arrived = 0;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; i++) sum += values[i];
  out[blockIdx.x] = sum;
}

TEST_F(race_check, lets_the_last_block_read_what_was_handed_over_by_fence_and_atomic) {
  const test::device_array<int> values(4);
  const test::device_array<int> out(4);
  const test::device_array<int> arrived(std::vector<int>{0});
  TROUPE_LAUNCH(hand_values_over, 4, 1, 0, nullptr, values.data(), arrived.data(), out.data(),
                hand_over::whole);
  EXPECT_EQ(outcome(), "");
  for (const hand_over how : {hand_over::without_fence, hand_over::without_atomic}) {
    TROUPE_LAUNCH(hand_values_over, 4, 1, 0, nullptr, values.data(), arrived.data(), out.data(), how);
    EXPECT_REPORT("race between blocks: ");
  }
}

}  // namespace
}  // namespace troupe
