#include "runtime/executor_cuda/device/cuda_stream.hpp"

#include <vector>

#include "kernels/cuda/emulation/device_memory.hpp"
#include "runtime/executor_cuda/device/cuda_event.hpp"
#include "runtime/executor_cuda/device/cuda_graph.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

namespace emulation = kernels::cuda::emulation;

class cuda_streams : public test::cuda_kernels {
 protected:
  // What the device holds, by a stream of its own.
  static std::vector<int> read(const device_array<int>& from) {
    const cuda_stream stream;
    const pinned_memory copy(from.bytes());
    stream.copy_to_host(copy.data(), from.data(), from.bytes());
    stream.synchronize();
    const std::span<const int> values = copy.as<const int>();
    return {values.begin(), values.end()};
  }
  static pinned_memory pinned(const std::vector<int>& values) {
    pinned_memory made(values.size() * sizeof(int));
    std::copy(values.begin(), values.end(), made.as<int>().begin());
    return made;
  }
};

TEST_F(cuda_streams, memory_is_given_back_once_by_its_last_owner) {
  const std::size_t before = emulation::device_allocations();
  {
    device_memory first(100);
    device_memory second(std::move(first));
    EXPECT_EQ(first.data(), nullptr);
    device_memory third;
    third = std::move(second);
    EXPECT_NE(third.data(), nullptr);
    EXPECT_EQ(third.size(), 100U);
    EXPECT_EQ(emulation::device_allocations(), before + 1);
  }
  EXPECT_EQ(emulation::device_allocations(), before);
}

TEST_F(cuda_streams, what_is_copied_is_there_once_the_stream_has_been_waited_for) {
  const cuda_stream stream;
  const device_array<int> there(3);
  const pinned_memory from = pinned({1, 2, 3});
  const pinned_memory back = pinned({0, 0, 0});
  stream.copy_to_device(there.data(), from.data(), from.size());
  stream.copy_to_host(back.data(), there.data(), back.size());
  EXPECT_EQ(back.as<int>()[2], 0) << "the emulation shows a missing wait";
  stream.synchronize();
  EXPECT_EQ(back.as<int>()[2], 3);
}

TEST_F(cuda_streams, an_event_is_over_when_its_stream_has_come_by) {
  const cuda_stream stream;
  cuda_event copied;
  copied.synchronize();  // nothing is recorded yet: it returns
  const device_array<int> there(1);
  const pinned_memory from = pinned({7});
  const pinned_memory back = pinned({0});
  stream.copy_to_device(there.data(), from.data(), sizeof(int));
  stream.copy_to_host(back.data(), there.data(), sizeof(int));
  copied.record(stream);
  copied.synchronize();
  EXPECT_EQ(back.as<int>()[0], 7);
}

TEST_F(cuda_streams, a_graph_does_each_time_what_was_captured_and_nothing_while_it_is) {
  const cuda_stream stream;
  const device_array<int> there(2);
  const pinned_memory from = pinned({1, 2});
  const cuda_graph graph =
      cuda_graph::capture(stream, [&] { stream.copy_to_device(there.data(), from.data(), from.size()); });
  stream.fill(there.data(), 0, there.bytes());
  stream.synchronize();
  EXPECT_EQ(read(there), (std::vector<int>{0, 0}));
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(read(there), (std::vector<int>{1, 2}));
  from.as<int>()[0] = 5;
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(read(there), (std::vector<int>{5, 2}));
}

TEST_F(cuda_streams, a_capture_that_fails_leaves_the_stream_usable) {
  const cuda_stream stream;
  const auto fail = [] { throw std::runtime_error("work"); };
  EXPECT_THROW(cuda_graph::capture(stream, fail), std::runtime_error);
  const device_array<int> there(1);
  stream.fill(there.data(), 0, there.bytes());
  stream.synchronize();
  EXPECT_EQ(read(there), std::vector<int>{0});
}

}  // namespace
}  // namespace troupe
