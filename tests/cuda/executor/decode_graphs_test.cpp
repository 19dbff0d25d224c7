#include "runtime/executor_cuda/decode_graphs.hpp"

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/cuda_stream.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

class decode_graphs_of : public test::cuda_kernels {
 protected:
  static flat_step_shape decode(std::int32_t sequences, std::int32_t blocks) {
    return {.rows = sequences, .sequences = sequences, .blocks = blocks, .split_items = sequences};
  }
  static decode_graph_size size_of(const std::optional<flat_step_shape>& shape) {
    return shape ? decode_graph_size{shape->rows, shape->blocks} : decode_graph_size{};
  }
};

TEST_F(decode_graphs_of, a_step_takes_the_smallest_that_holds_it) {
  const decode_graphs graphs({{4, 8}, {1, 8}, {1, 64}, {4, 64}, {1, 8}});
  EXPECT_EQ(size_of(graphs.padded(decode(1, 3))), (decode_graph_size{1, 8}));
  EXPECT_EQ(size_of(graphs.padded(decode(1, 9))), (decode_graph_size{1, 64}));
  EXPECT_EQ(size_of(graphs.padded(decode(2, 8))), (decode_graph_size{4, 8}));
  EXPECT_EQ(graphs.padded(decode(5, 8)), std::nullopt);
  EXPECT_EQ(graphs.padded(decode(1, 65)), std::nullopt);
  flat_step_shape prompt = decode(1, 1);
  prompt.rows = 3;
  EXPECT_EQ(graphs.padded(prompt), std::nullopt);
  flat_step_shape long_one = decode(1, 1);
  long_one.chunk_items = 1;
  EXPECT_EQ(graphs.padded(long_one), std::nullopt);
}

// Once to run it, once to capture it.
TEST_F(decode_graphs_of, each_size_is_captured_once_and_launched_every_time) {
  const cuda_stream stream;
  decode_graphs graphs({{1, 8}, {2, 8}});
  int asked = 0;
  int done = 0;
  const auto work = [&] {
    asked += 1;
    cudaLaunchHostFunc(
        stream.get(), [](void* count) { *static_cast<int*>(count) += 1; }, &done);
  };
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(graphs.run(decode(1, 8), stream, work));
  stream.synchronize();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(graphs.run(decode(2, 8), stream, work));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(graphs.count(), 2);
  graphs.clear();
  EXPECT_FALSE(graphs.run(decode(1, 8), stream, work));
  EXPECT_EQ(asked, 6);
  stream.synchronize();
  EXPECT_EQ(done, 5);
}

TEST_F(decode_graphs_of, a_size_that_cannot_be_captured_has_run_and_is_left_out) {
  const cuda_stream stream;
  const auto before = kernels::cuda::emulation::faults();
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorNotSupported}) {
    decode_graphs graphs({{1, 8}, {2, 8}});
    int done = 0;
    const auto work = [&] {
      cudaLaunchHostFunc(
          stream.get(), [](void* count) { *static_cast<int*>(count) += 1; }, &done);
    };
    kernels::cuda::emulation::faults().error = error;
    kernels::cuda::emulation::faults().failing_call = 5;  // run; begin, capture, end, instantiate
    EXPECT_TRUE(graphs.run(decode(1, 8), stream, work)) << error;
    kernels::cuda::emulation::faults() = before;
    stream.synchronize();
    EXPECT_EQ(done, 1) << error;
    EXPECT_EQ(size_of(graphs.padded(decode(1, 8))), (decode_graph_size{2, 8})) << error;
    EXPECT_FALSE(graphs.run(decode(2, 8), stream, work)) << error;
    EXPECT_EQ(size_of(graphs.padded(decode(1, 8), true)), (decode_graph_size{1, 8}))
        << "who needs it tries again";
    EXPECT_FALSE(graphs.run(decode(1, 8), stream, work)) << error;
    EXPECT_EQ(size_of(graphs.padded(decode(1, 8))), (decode_graph_size{1, 8})) << error;
    stream.synchronize();
    EXPECT_EQ(done, 3) << error;
  }
}

// Nobody asks each launch how it went.
TEST_F(decode_graphs_of, a_launch_that_fails_is_not_left_out_of_a_graph) {
  const cuda_stream stream;
  const auto before = kernels::cuda::emulation::faults();
  decode_graphs graphs({{1, 8}});
  int done = 0;
  const auto work = [&] {
    cudaLaunchHostFunc(
        stream.get(), [](void* count) { *static_cast<int*>(count) += 1; }, &done);
  };
  kernels::cuda::emulation::faults().error = cudaErrorInvalidConfiguration;
  kernels::cuda::emulation::faults().failing_call = 1;
  EXPECT_THROW(graphs.run(decode(1, 8), stream, work), std::runtime_error) << "the eager one";
  EXPECT_TRUE(graphs.padded(decode(1, 8))) << "a graph may do";
  kernels::cuda::emulation::faults().failing_call = 3;  // run; begin, capture
  EXPECT_TRUE(graphs.run(decode(1, 8), stream, work));
  EXPECT_FALSE(graphs.padded(decode(1, 8)));
  kernels::cuda::emulation::faults() = before;
  stream.synchronize();
  EXPECT_EQ(done, 1);
}

TEST_F(decode_graphs_of, a_device_that_is_lost_meanwhile_is_lost) {
  const cuda_stream stream;
  const auto before = kernels::cuda::emulation::faults();
  decode_graphs graphs({{1, 8}});
  kernels::cuda::emulation::faults().error = cudaErrorIllegalAddress;
  kernels::cuda::emulation::faults().failing_call = 3;  // begin, end, instantiate
  EXPECT_THROW(graphs.run(decode(1, 8), stream, [] {}), device_lost);
  kernels::cuda::emulation::faults() = before;
  cudaDeviceReset();
}

}  // namespace
}  // namespace troupe
