#include <set>

#include "kernels/cuda/device.cuh"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

class execution : public test::cuda_kernels {
 protected:
  // The words of the report that the last kernel must have brought.
  static std::string report() {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    const std::vector<std::string> reports = kernels::cuda::emulation::take_reports();
    EXPECT_EQ(reports.size(), 1U);
    cudaDeviceReset();
    return reports.empty() ? "" : reports.front();
  }
};

__global__ void note_place(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

TEST_F(execution, runs_every_thread_of_every_block_once) {
  const test::device_array<unsigned> out(12 * 30);
  TROUPE_LAUNCH(note_place, dim3(2, 3, 2), dim3(5, 3, 2), 0, nullptr, out.data());
  const auto places = out.read();
  for (unsigned i = 0; i < places.size(); i++) EXPECT_EQ(places[i], i / 30 * 1000 + i % 30);
}

// Atomic operations alone: others would be a race.
__global__ void pass_to_the_next_block(int* out) {
  atomicExch(&out[blockIdx.x + 1], atomicAdd(&out[blockIdx.x], 0) + 1);
}

// Also a kernel that takes its turn with others.
TEST_F(execution, runs_blocks_in_one_order_and_in_the_other) {
  const test::device_array<int> out(4), of_others(4);
  for (int others = 0; others < 4; others++) {
    std::set<std::vector<int>> results;
    for (int i = 0; i < 6; i++) {
      EXPECT_EQ(cudaMemset(out.data(), 0, 4 * sizeof(int)), cudaSuccess);
      TROUPE_LAUNCH(pass_to_the_next_block, 3, 1, 0, nullptr, out.data());
      for (int other = 0; other < others; other++)
        TROUPE_LAUNCH(pass_to_the_next_block, 1, 1, 0, nullptr, of_others.data());
      results.insert(out.read());
    }
    EXPECT_EQ(results, (std::set<std::vector<int>>{{0, 1, 1, 1}, {0, 1, 2, 3}}))
        << "a kernel that needs an order is seen, with " << others << " others between its launches";
  }
}

__global__ void skip_barrier(unsigned from, bool leave) {
  if (threadIdx.x >= from && leave) return;
  if (threadIdx.x < from) __syncthreads();
}

TEST_F(execution, finds_threads_that_never_come_to_a_barrier) {
  TROUPE_LAUNCH(skip_barrier, 1, 64, 0, nullptr, 64U, false);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const bool leave : {false, true}) {
    TROUPE_LAUNCH(skip_barrier, 1, 64, 0, nullptr, 40U, leave);
    const std::string text = report();
    EXPECT_NE(text.find("divergent barrier: thread 0 waits for its block at"), std::string::npos);
    EXPECT_NE(text.find("thread 40 ended in skip_barrier, block (0, 0, 0)"), std::string::npos);
  }
}

__global__ void meet_at_two_barriers(unsigned first) {
  if (threadIdx.x < first) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_F(execution, finds_threads_that_meet_at_different_barriers) {
  TROUPE_LAUNCH(meet_at_two_barriers, 1, 64, 0, nullptr, 64U);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  TROUPE_LAUNCH(meet_at_two_barriers, 1, 64, 0, nullptr, 3U);
  EXPECT_NE(report().find("divergent barrier"), std::string::npos);
}

__global__ void shuffle_in_part(unsigned mask, int source, unsigned lanes) {
  if (threadIdx.x < lanes) __shfl_sync(mask, threadIdx.x, source);
}

TEST_F(execution, finds_warp_operations_that_cannot_complete_or_have_no_value) {
  TROUPE_LAUNCH(shuffle_in_part, 1, 32, 0, nullptr, 0xFFFFU, 3, 16U);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  TROUPE_LAUNCH(shuffle_in_part, 1, 32, 0, nullptr, 0xFFFFU, 17, 16U);
  EXPECT_NE(report().find("reads lane 17, which takes no part"), std::string::npos);
  TROUPE_LAUNCH(shuffle_in_part, 1, 32, 0, nullptr, 0xFFFFU, 3, 17U);
  EXPECT_NE(report().find("lane 16 is not in its own mask 0000ffff"), std::string::npos);
}

__global__ void part_at_a_shuffle(unsigned lanes) {
  if (threadIdx.x < lanes) {
    __shfl_xor_sync(~0U, 1, 1);
  } else {
    __syncwarp();
  }
}

TEST_F(execution, finds_lanes_that_wait_at_different_operations) {
  TROUPE_LAUNCH(part_at_a_shuffle, 1, 32, 0, nullptr, 16U);
  EXPECT_NE(report().find("thread 16 waits for its warp"), std::string::npos);
}

__global__ void shuffle_all_ways(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_sync(~0U, lane, 3, 8);
  out[32 + lane] = __shfl_up_sync(~0U, lane, 3, 16);
  out[64 + lane] = __shfl_down_sync(~0U, lane, 3, 16);
  out[96 + lane] = __shfl_xor_sync(~0U, lane, 5);
  out[128 + lane] = static_cast<int>(__shfl_sync(~0U, static_cast<double>(lane) + 0.5, 31) * 2);
}

TEST_F(execution, shuffles_within_segments_as_ptx_says) {
  const test::device_array<int> out(160);
  TROUPE_LAUNCH(shuffle_all_ways, 1, 32, 0, nullptr, out.data());
  const auto got = out.read();
  for (int lane = 0; lane < 32; lane++) {
    EXPECT_EQ(got[lane], lane / 8 * 8 + 3);
    EXPECT_EQ(got[32 + lane], lane % 16 < 3 ? lane : lane - 3);
    EXPECT_EQ(got[64 + lane], lane % 16 > 12 ? lane : lane + 3);
    EXPECT_EQ(got[96 + lane], lane ^ 5);
    EXPECT_EQ(got[128 + lane], 63);
  }
}

__global__ void vote_and_reduce(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  const int sign = static_cast<int>(lane) - 20;
  const unsigned results[] = {__ballot_sync(~0U, lane % 3 == 0),
                              static_cast<unsigned>(__any_sync(~0U, lane == 40)),
                              static_cast<unsigned>(__any_sync(~0U, lane == 4)),
                              static_cast<unsigned>(__all_sync(~0U, lane < 32)),
                              static_cast<unsigned>(__all_sync(~0U, lane < 31)),
                              __match_any_sync(~0U, lane / 8),
                              __reduce_add_sync(~0U, lane),
                              static_cast<unsigned>(__reduce_min_sync(~0U, sign)),
                              static_cast<unsigned>(__reduce_max_sync(~0U, sign)),
                              __reduce_max_sync(~0U, ~lane),
                              __reduce_or_sync(~0U, 1U << lane),
                              __reduce_xor_sync(~0U, lane + 1)};
  if (threadIdx.x == 32 + 9) {
    for (int i = 0; i < 12; i++) out[i] = results[i];
  }
}

TEST_F(execution, votes_matches_and_reduces_over_a_warp) {
  const test::device_array<unsigned> out(12);
  TROUPE_LAUNCH(vote_and_reduce, 1, 64, 0, nullptr, out.data());
  EXPECT_EQ(out.read(), (std::vector<unsigned>{0x49249249U, 0, 1, 1, 0, 0xFF00U, 496,
                                               static_cast<unsigned>(-20), 11, ~0U, ~0U, 32}));
}

__global__ void count_in_block(int* out) {
  const int counted = __syncthreads_count(threadIdx.x < 37);
  const int all = __syncthreads_and(threadIdx.x < 37);
  const int any = __syncthreads_or(threadIdx.x == 95);
  if (threadIdx.x == 70) out[0] = counted * 100 + all * 10 + any;
}

TEST_F(execution, counts_over_a_block) {
  const test::device_array<int> out(1);
  TROUPE_LAUNCH(count_in_block, 1, 96, 0, nullptr, out.data());
  EXPECT_EQ(out.read()[0], 3701);
}

// The block that comes last adds up what all blocks left.
__global__ void last_block_sums(int* parts, unsigned* arrived, int* out) {
  TROUPE_SHARED(bool, last);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
    __threadfence();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += parts[i];
    *out = sum;
  }
}

TEST_F(execution, lets_the_last_block_finish_a_grid) {
  const test::device_array<int> parts(7);
  const test::device_array<unsigned> arrived(std::vector<unsigned>{0});
  const test::device_array<int> out(1);
  TROUPE_LAUNCH(last_block_sums, 7, 32, 0, nullptr, parts.data(), arrived.data(), out.data());
  EXPECT_EQ(out.read()[0], 28);
  EXPECT_EQ(arrived.read()[0], 0U);
}

__global__ void change_atomically(unsigned* v, float* f) {
  atomicMax(&v[0], threadIdx.x);
  atomicMin(&v[1], threadIdx.x);
  atomicOr(&v[2], 1U << (threadIdx.x % 32));
  atomicCAS(&v[3], 7U, 9U);
  atomicExch(&v[4], 5U);
  atomicAdd(f, 0.5F);
}

TEST_F(execution, changes_device_memory_atomically) {
  const test::device_array<unsigned> values(std::vector<unsigned>{0, 1000, 0, 7, 1});
  const test::device_array<float> sum(std::vector<float>{1});
  TROUPE_LAUNCH(change_atomically, 2, 64, 0, nullptr, values.data(), sum.data());
  EXPECT_EQ(values.read(), (std::vector<unsigned>{63, 0, ~0U, 9, 5}));
  EXPECT_EQ(sum.read()[0], 65.0F);
}

TEST_F(execution, refuses_launches_that_no_device_takes) {
  const test::device_array<unsigned> out(1);
  const auto refused = [] {
    const bool reported = kernels::cuda::emulation::take_reports().size() == 1;
    return reported && cudaGetLastError() == cudaErrorInvalidConfiguration;
  };
  TROUPE_LAUNCH(note_place, 1, 1025, 0, nullptr, out.data());
  EXPECT_TRUE(refused());
  TROUPE_LAUNCH(note_place, dim3(0), 32, 0, nullptr, out.data());
  EXPECT_TRUE(refused());
  TROUPE_LAUNCH(note_place, dim3(1, 65536), 32, 0, nullptr, out.data());
  EXPECT_TRUE(refused());
  TROUPE_LAUNCH(note_place, 1, 1, 49153, nullptr, out.data());
  EXPECT_TRUE(refused());
  const auto* const kernel = reinterpret_cast<const void*>(note_place);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), cudaSuccess);
  TROUPE_LAUNCH(note_place, 1, 1, 49153, nullptr, out.data());
  EXPECT_EQ(out.read()[0], 0U);
}

}  // namespace
}  // namespace troupe
