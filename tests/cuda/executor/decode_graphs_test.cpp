#include "runtime/executor_cuda/step/decode_graphs.hpp"

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

class decode_graphs_of : public test::cuda_kernels {
 protected:
  static flat_step_shape decode(std::int32_t sequences) {
    return {.rows = sequences, .sequences = sequences, .split_items = sequences};
  }
  static std::int32_t size_of(const std::optional<flat_step_shape>& shape) { return shape ? shape->rows : 0; }
};

TEST_F(decode_graphs_of, a_step_takes_the_smallest_that_holds_it) {
  const decode_graphs graphs({1, 4, 8});
  EXPECT_EQ(size_of(graphs.padded(decode(1))), 1);
  EXPECT_EQ(size_of(graphs.padded(decode(2))), 4);
  EXPECT_EQ(size_of(graphs.padded(decode(5))), 8);
  EXPECT_EQ(graphs.padded(decode(9)), std::nullopt);
  flat_step_shape long_contexts = decode(2);
  long_contexts.split_items = 1000;
  long_contexts.table_entries = 100'000;
  EXPECT_EQ(size_of(graphs.padded(long_contexts)), 4);
  flat_step_shape prompt = decode(1);
  prompt.rows = 3;
  EXPECT_EQ(graphs.padded(prompt), std::nullopt);
  flat_step_shape long_one = decode(1);
  long_one.chunk_items = 1;
  EXPECT_EQ(graphs.padded(long_one), std::nullopt);
}

// Once to run it, once to capture it.
TEST_F(decode_graphs_of, each_size_is_captured_once_and_launched_every_time) {
  const cuda_stream stream;
  decode_graphs graphs({1, 2});
  int asked = 0;
  int done = 0;
  const auto work = [&] {
    asked += 1;
    cudaLaunchHostFunc(
        stream.get(), [](void* count) { *static_cast<int*>(count) += 1; }, &done);
  };
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(graphs.run(decode(1), stream, work));
  stream.synchronize();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(graphs.run(decode(2), stream, work));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(graphs.count(), 2);
  graphs.clear();
  EXPECT_FALSE(graphs.run(decode(1), stream, work));
  EXPECT_EQ(asked, 6);
  stream.synchronize();
  EXPECT_EQ(done, 5);
}

TEST_F(decode_graphs_of, a_size_that_cannot_be_captured_has_run_and_is_left_out) {
  const cuda_stream stream;
  const auto before = kernels::cuda::emulation::faults();
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorNotSupported}) {
    decode_graphs graphs({1, 2});
    int done = 0;
    const auto work = [&] {
      cudaLaunchHostFunc(
          stream.get(), [](void* count) { *static_cast<int*>(count) += 1; }, &done);
    };
    kernels::cuda::emulation::faults().error = error;
    kernels::cuda::emulation::faults().failing_call = 5;  // run; begin, capture, end, instantiate
    EXPECT_TRUE(graphs.run(decode(1), stream, work)) << error;
    kernels::cuda::emulation::faults() = before;
    stream.synchronize();
    EXPECT_EQ(done, 1) << error;
    EXPECT_EQ(size_of(graphs.padded(decode(1))), 2) << error;
    EXPECT_FALSE(graphs.run(decode(2), stream, work)) << error;
    EXPECT_EQ(size_of(graphs.padded(decode(1), true)), 1) << "who needs it tries again";
    EXPECT_FALSE(graphs.run(decode(1), stream, work)) << error;
    EXPECT_EQ(size_of(graphs.padded(decode(1))), 1) << error;
    stream.synchronize();
    EXPECT_EQ(done, 3) << error;
  }
}

// Nobody asks each launch how it went.
TEST_F(decode_graphs_of, a_launch_that_fails_is_not_left_out_of_a_graph) {
  const cuda_stream stream;
  const auto before = kernels::cuda::emulation::faults();
  decode_graphs graphs({1});
  int done = 0;
  const auto work = [&] {
    cudaLaunchHostFunc(
        stream.get(), [](void* count) { *static_cast<int*>(count) += 1; }, &done);
  };
  kernels::cuda::emulation::faults().error = cudaErrorInvalidConfiguration;
  kernels::cuda::emulation::faults().failing_call = 1;
  EXPECT_THROW(graphs.run(decode(1), stream, work), std::runtime_error) << "the eager one";
  EXPECT_TRUE(graphs.padded(decode(1))) << "a graph may do";
  kernels::cuda::emulation::faults().failing_call = 3;  // run; begin, capture
  EXPECT_TRUE(graphs.run(decode(1), stream, work));
  EXPECT_FALSE(graphs.padded(decode(1)));
  kernels::cuda::emulation::faults() = before;
  stream.synchronize();
  EXPECT_EQ(done, 1);
}

TEST_F(decode_graphs_of, a_device_that_is_lost_meanwhile_is_lost) {
  const cuda_stream stream;
  const auto before = kernels::cuda::emulation::faults();
  decode_graphs graphs({1});
  kernels::cuda::emulation::faults().error = cudaErrorIllegalAddress;
  kernels::cuda::emulation::faults().failing_call = 3;  // begin, end, instantiate
  EXPECT_THROW(graphs.run(decode(1), stream, [] {}), device_lost);
  kernels::cuda::emulation::faults() = before;
  cudaDeviceReset();
}

}  // namespace
}  // namespace troupe
