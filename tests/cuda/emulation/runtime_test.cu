// The runtime API of the emulation: what a device may do late is done as late as it can be, so that host code
// which does not wait is seen.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/faults.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

namespace emulation = kernels::cuda::emulation;

__global__ void add(int* value, int amount) { *value += amount; }

// 40 KB of static shared memory, and what the launch gives besides.
__global__ void add_through_shared(int* value) {
  TROUPE_SHARED(int, tile, [10 << 10]);
  TROUPE_DYNAMIC_SHARED(int, more);
  tile[0] = *value;
  more[0] = tile[0] + 1;
  *value = more[0];
}

class runtime : public test::cuda_kernels {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&first_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned_), 4 * sizeof(int)), cudaSuccess);
    pinned_[0] = 0;
  }
  void TearDown() override {
    emulation::faults() = {};
    cudaDeviceReset();
    EXPECT_EQ(cudaFreeHost(pinned_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(first_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(second_), cudaSuccess);
    cuda_kernels::TearDown();
  }

  void read_on(cudaStream_t stream, const int* value) const {
    EXPECT_EQ(cudaMemcpyAsync(pinned_, value, sizeof(int), cudaMemcpyDeviceToHost, stream), cudaSuccess);
  }

  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  int* pinned_ = nullptr;
};

TEST_F(runtime, fresh_memory_is_poisoned) {
  const test::device_array<int> value(3);
  EXPECT_EQ(value.read(), std::vector<int>(3, -1));
}

TEST_F(runtime, work_on_a_stream_is_done_when_it_is_waited_for) {
  const test::device_array<int> value(std::vector<int>{5});
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 2);
  read_on(first_, value.data());
  EXPECT_EQ(pinned_[0], 0) << "nobody has waited";
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 0) << "nor for this stream";
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 7);
}

TEST_F(runtime, pinned_memory_is_read_late_and_pageable_memory_at_once) {
  const test::device_array<int> value(2);
  pinned_[0] = 1;
  int pageable = 1;
  EXPECT_EQ(cudaMemcpyAsync(value.data(), pinned_, sizeof(int), cudaMemcpyHostToDevice, first_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(value.data() + 1, &pageable, sizeof(int), cudaMemcpyHostToDevice, first_),
            cudaSuccess);
  pinned_[0] = 2;
  pageable = 2;
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(value.read(), (std::vector<int>{2, 1}));
}

TEST_F(runtime, copies_into_pageable_memory_are_done_at_once) {
  const test::device_array<int> value(std::vector<int>{5});
  int pageable = 0;
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 2);
  EXPECT_EQ(cudaMemcpyAsync(&pageable, value.data(), sizeof(int), cudaMemcpyDeviceToHost, first_),
            cudaSuccess);
  EXPECT_EQ(pageable, 7);
}

TEST_F(runtime, an_event_orders_two_streams) {
  const test::device_array<int> value(std::vector<int>{5});
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 2);
  EXPECT_EQ(cudaEventRecord(event, first_), cudaSuccess);
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 100);
  read_on(second_, value.data());
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 5) << "without a wait the other stream comes first";
  EXPECT_EQ(cudaStreamWaitEvent(second_, event, 0), cudaSuccess);
  read_on(second_, value.data());
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 7) << "what was put there behind the event waits still";
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(runtime, an_event_is_ready_once_its_stream_has_come_so_far) {
  const test::device_array<int> value(std::vector<int>{0});
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "never recorded";
  for (int i = 0; i < 3; i++) TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 1);
  EXPECT_EQ(cudaEventRecord(event, first_), cudaSuccess);
  int questions = 1;
  while (cudaEventQuery(event) == cudaErrorNotReady) questions++;
  EXPECT_EQ(questions, 5) << "each question lets one call run";
  EXPECT_EQ(value.read()[0], 3);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, event), cudaSuccess);
  EXPECT_EQ(milliseconds, 0.0F);
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 1);
  EXPECT_EQ(cudaEventRecord(event, first_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(value.read()[0], 4);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(runtime, a_graph_repeats_what_was_captured) {
  const test::device_array<int> value(std::vector<int>{1});
  int amount = 2;
  ASSERT_EQ(cudaStreamBeginCapture(first_, cudaStreamCaptureModeGlobal), cudaSuccess);
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), amount);
  read_on(first_, value.data());
  amount = 50;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(first_, &graph), cudaSuccess);
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 2U);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(value.read()[0], 1) << "capturing runs nothing";
  for (int i = 0; i < 3; i++) EXPECT_EQ(cudaGraphLaunch(executable, first_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 7);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(runtime, what_may_not_be_captured_breaks_the_capture) {
  void* memory = nullptr;
  const auto broken_by = [&](auto call) {
    EXPECT_EQ(cudaStreamBeginCapture(first_, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    const bool broken =
        cudaStreamEndCapture(first_, &graph) == cudaErrorStreamCaptureInvalidated && graph == nullptr;
    cudaGetLastError();
    return broken;
  };
  EXPECT_TRUE(broken_by([&] { return cudaMalloc(&memory, 16); }));
  EXPECT_TRUE(broken_by([&] { return cudaStreamSynchronize(first_); }));
  EXPECT_TRUE(broken_by([&] { return cudaDeviceSynchronize(); }));
  EXPECT_TRUE(broken_by([&] { return cudaMemset(pinned_, 0, 4); }));
  EXPECT_TRUE(broken_by([&] { return cudaStreamQuery(second_); }));
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_TRUE(broken_by([&] { return cudaEventQuery(event); }));
  EXPECT_TRUE(broken_by([&] { return cudaEventSynchronize(event); }));
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(first_, &graph), cudaErrorIllegalState) << "nothing is captured";
  cudaGetLastError();
}

TEST_F(runtime, memory_ends_where_the_device_has_no_more) {
  std::size_t before = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  emulation::faults().device_bytes = total - before + 1000;
  void* large = nullptr;
  void* small = nullptr;
  EXPECT_EQ(cudaMalloc(&small, 600), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&large, 600), cudaErrorMemoryAllocation);
  EXPECT_EQ(large, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error that does not last is told once";
  std::size_t left = 0;
  EXPECT_EQ(cudaMemGetInfo(&left, &total), cudaSuccess);
  EXPECT_EQ(left, 400U);
  EXPECT_EQ(cudaFree(small), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&large, 600), cudaSuccess);
  EXPECT_EQ(cudaFree(large), cudaSuccess);
  EXPECT_EQ(cudaFree(large), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_F(runtime, a_chosen_call_fails_and_a_sticky_error_stays) {
  const test::device_array<int> value(std::vector<int>{1});
  emulation::faults().failing_call = 2;
  TROUPE_LAUNCH(add, 1, 1, 0, nullptr, value.data(), 1);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  TROUPE_LAUNCH(add, 1, 1, 0, nullptr, value.data(), 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(runtime, a_kernels_fault_is_told_by_whoever_waits_and_by_all_after) {
  const test::device_array<int> value(1);
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data() + 1, 1);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "it has not run";
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaErrorLaunchFailure);
  EXPECT_EQ(emulation::take_reports().size(), 1U);
}

TEST_F(runtime, copies_are_checked_against_the_allocations) {
  const test::device_array<int> value(std::vector<int>{1, 2});
  std::vector<int> host(3);
  EXPECT_EQ(cudaMemcpy(host.data(), value.data(), 12, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
  EXPECT_EQ(emulation::take_reports().size(), 1U);
  cudaDeviceReset();
  EXPECT_EQ(cudaMemset(value.data() + 1, 0, 5), cudaErrorIllegalAddress);
  EXPECT_EQ(emulation::take_reports().size(), 1U);
  cudaDeviceReset();
  EXPECT_EQ(cudaMemcpy(host.data(), value.data(), 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT_EQ(value.read(), (std::vector<int>{1, 2}));
}

TEST_F(runtime, the_default_stream_waits_for_streams_that_are_not_apart_from_it) {
  cudaStream_t ordinary = nullptr;
  ASSERT_EQ(cudaStreamCreate(&ordinary), cudaSuccess);
  const test::device_array<int> value(std::vector<int>{1});
  TROUPE_LAUNCH(add, 1, 1, 0, ordinary, value.data(), 1);
  EXPECT_EQ(value.read()[0], 2);
  TROUPE_LAUNCH(add, 1, 1, 0, first_, value.data(), 1);
  EXPECT_EQ(value.read()[0], 2) << "this one is apart";
  EXPECT_EQ(cudaStreamDestroy(ordinary), cudaSuccess);
}

TEST_F(runtime, host_functions_run_in_their_streams_order) {
  const test::device_array<int> value(std::vector<int>{1});
  read_on(first_, value.data());
  const auto doubled = [](void* place) { *static_cast<int*>(place) *= 10; };
  EXPECT_EQ(cudaLaunchHostFunc(first_, doubled, pinned_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 0);
  EXPECT_EQ(cudaStreamQuery(first_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first_), cudaSuccess);
  EXPECT_EQ(pinned_[0], 10);
}

TEST_F(runtime, more_than_48_kilobytes_of_shared_memory_must_be_asked_for) {
  const test::device_array<int> value(std::vector<int>{5});
  TROUPE_LAUNCH(add_through_shared, 1, 1, 8 << 10, first_, value.data());
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(value.read()[0], 6);
  TROUPE_LAUNCH(add_through_shared, 1, 1, 9 << 10, first_, value.data());
  EXPECT_NE(cudaStreamSynchronize(first_), cudaSuccess);
  const std::vector<std::string> reports = emulation::take_reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_NE(reports[0].find("shared memory"), std::string::npos) << reports[0];
  cudaDeviceReset();
  EXPECT_EQ(cudaFuncSetAttribute(reinterpret_cast<const void*>(add_through_shared),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, 9 << 10),
            cudaSuccess);
  TROUPE_LAUNCH(add_through_shared, 1, 1, 9 << 10, first_, value.data());
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(value.read()[0], 7);
}

TEST_F(runtime, the_device_tells_what_it_is) {
  cudaDeviceProp properties{};
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, std::size_t{227} << 10);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  cudaGetLastError();
}

}  // namespace
}  // namespace troupe
