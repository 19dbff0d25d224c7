// Kernels with one fault each, and the report that each must bring; beside each what is right and brings
// none.
#include "kernels/cuda/device.cuh"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/emulation/outcome.hpp"

namespace troupe {
namespace {

using test::outcome;
using memory_check = test::cuda_kernels;

__global__ void write_static_shared(int place) {
  TROUPE_SHARED(float, row, [40]);
  if (threadIdx.x == 0) row[place] = 1;
}

TEST_F(memory_check, finds_writes_beside_a_static_array) {
  TROUPE_LAUNCH(write_static_shared, 1, 32, 0, nullptr, 39);
  EXPECT_EQ(outcome(), "");
  for (const int beside : {40, 41, 70, -1}) {
    TROUPE_LAUNCH(write_static_shared, 1, 32, 0, nullptr, beside);
    const std::string report = outcome();
    EXPECT_NE(report.find("out of bounds: write to 4 bytes of shared memory"), std::string::npos) << beside;
    EXPECT_NE(report.find("in write_static_shared, block (0, 0, 0), thread (0, 0, 0)"), std::string::npos);
  }
}

__global__ void write_dynamic_shared(int place) {
  TROUPE_DYNAMIC_SHARED(float, row);
  if (threadIdx.x == 0) row[place] = 1;
}

TEST_F(memory_check, finds_writes_beside_dynamic_shared_memory) {
  TROUPE_LAUNCH(write_dynamic_shared, 1, 32, 16, nullptr, 3);
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(write_dynamic_shared, 1, 32, 16, nullptr, 4);
  EXPECT_REPORT("out of bounds: write to 4 bytes of shared memory");
  TROUPE_LAUNCH(write_dynamic_shared, 1, 32, 0, nullptr, 0);
  EXPECT_REPORT("dynamic shared memory: the launch gave none");
}

__global__ void sum_shared(const float* in, float* out, int written) {
  TROUPE_SHARED(float, row, [32]);
  if (static_cast<int>(threadIdx.x) < written) row[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; i++) sum += row[i];
  out[blockIdx.x * 32 + threadIdx.x] = sum;
}

TEST_F(memory_check, finds_reads_of_shared_memory_that_nobody_wrote) {
  const test::device_array<float> in(std::vector<float>(32, 1.0F));
  const test::device_array<float> out(96);
  TROUPE_LAUNCH(sum_shared, 3, 32, 0, nullptr, in.data(), out.data(), 32);
  EXPECT_EQ(outcome(), "");
  EXPECT_EQ(out.read()[31], 32.0F);
  // What an earlier block wrote is nothing to a later one.
  TROUPE_LAUNCH(sum_shared, 3, 32, 0, nullptr, in.data(), out.data(), 31);
  EXPECT_REPORT("uninitialised: read of byte 124 of a shared array of 128 bytes");
}

__global__ void write_global(float* memory, int place) { memory[place] = 1; }

TEST_F(memory_check, finds_accesses_beside_an_allocation_of_device_memory) {
  const test::device_array<float> memory(5);
  TROUPE_LAUNCH(write_global, 1, 1, 0, nullptr, memory.data(), 4);
  EXPECT_EQ(outcome(), "");
  for (const int beside : {5, 6, 100, -1}) {
    TROUPE_LAUNCH(write_global, 1, 1, 0, nullptr, memory.data(), beside);
    EXPECT_REPORT("out of bounds: write to 4 bytes of device memory");
  }
  float* freed = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&freed), 64), cudaSuccess);
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  TROUPE_LAUNCH(write_global, 1, 1, 0, nullptr, freed, 0);
  EXPECT_REPORT("out of bounds: write to 4 bytes of device memory");
}

TEST_F(memory_check, finds_accesses_of_the_hosts_memory) {
  std::vector<float> host(4);
  TROUPE_LAUNCH(write_global, 1, 1, 0, nullptr, host.data(), 0);
  EXPECT_REPORT("illegal address: write to 4 bytes of the host's memory");
  float* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 16), cudaSuccess);
  TROUPE_LAUNCH(write_global, 1, 1, 0, nullptr, pinned, 3);
  EXPECT_EQ(outcome(), "");
  EXPECT_EQ(pinned[3], 1.0F);
  TROUPE_LAUNCH(write_global, 1, 1, 0, nullptr, pinned, 4);
  EXPECT_REPORT("illegal address");
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

__global__ void load_vector(const float* memory, int place, float* out) {
  const float4 loaded = *reinterpret_cast<const float4*>(memory + place);
  out[0] = loaded.x + loaded.w;
}

TEST_F(memory_check, finds_vectors_that_are_not_aligned_or_reach_over_the_end) {
  const test::device_array<float> memory(std::vector<float>{1, 2, 3, 4, 5, 6});
  const test::device_array<float> out(1);
  TROUPE_LAUNCH(load_vector, 1, 1, 0, nullptr, memory.data(), 0, out.data());
  EXPECT_EQ(outcome(), "");
  EXPECT_EQ(out.read()[0], 5.0F);
  TROUPE_LAUNCH(load_vector, 1, 1, 0, nullptr, memory.data(), 1, out.data());
  EXPECT_REPORT("misaligned address: 16 bytes");
  TROUPE_LAUNCH(load_vector, 1, 1, 0, nullptr, memory.data(), 4, out.data());
  EXPECT_REPORT("out of bounds: read of 16 bytes of device memory");
}

__global__ void read_a_neighbours_local_memory(float* out) {
  TROUPE_SHARED(const float*, place);
  float mine[4] = {1, 2, 3, static_cast<float>(threadIdx.x)};
  if (threadIdx.x == 0) place = mine;
  __syncthreads();
  out[threadIdx.x] = *place;
}

TEST_F(memory_check, finds_reads_of_another_threads_local_memory) {
  const test::device_array<float> out(2);
  TROUPE_LAUNCH(read_a_neighbours_local_memory, 1, 1, 0, nullptr, out.data());
  EXPECT_EQ(outcome(), "");
  TROUPE_LAUNCH(read_a_neighbours_local_memory, 1, 2, 0, nullptr, out.data());
  EXPECT_REPORT("illegal address: another thread's local memory");
}

}  // namespace
}  // namespace troupe
