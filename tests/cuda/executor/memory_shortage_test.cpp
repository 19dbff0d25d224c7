// A step that the library or the driver has no memory for: whatever call says so, the executor goes on, and
// stores what it has stored.
#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/overlapped_decoding.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using kernels::cuda::emulation::faults;

class cuda_memory_shortage : public test::cuda_kernels {
 protected:
  static std::unique_ptr<executor> start(std::vector<std::int32_t> graph_rows) {
    cuda_executor_options options = test::small_cuda_options();
    options.graph_rows = std::move(graph_rows);
    options.limits.kept_at_once = 2;
    const model_ptr model = test::load_from_memory(test::tiny_model(
        {.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16, .num_layers = 1}));
    return test::start_cuda(model, options);
  }

  // Whether the call was reached.
  template <class Work>
  static bool lacks_memory_at(std::uint64_t call, const Work& work) {
    faults().failing_call = call;
    faults().error = cudaErrorMemoryAllocation;
    bool has_failed = false;
    try {
      work();
    } catch (const out_of_device_memory&) {
      has_failed = true;
    }
    const bool was_reached = std::exchange(faults().failing_call, 0) == 0;
    EXPECT_TRUE(has_failed || !was_reached) << "call " << call << " failed, and nobody has said so";
    return was_reached;
  }
};

struct asked_step {
  device_batch batch;
  step_result sampled;
};

asked_step next_of(const test::decoding& all, device_batch batch) {
  all.complete_histories(batch);
  return {std::move(batch), {}};
}

void run(executor& device, asked_step& step) {
  device.forward(step.batch);
  device.sample(step.batch, nullptr, step.sampled);
}

// Eagerly, and as graphs, which are there by then.
TEST_F(cuda_memory_shortage, of_any_call_of_a_step_costs_that_step_alone) {
  for (const std::vector<std::int32_t>& graphs : {std::vector<std::int32_t>{}, {1, 2, 4}}) {
    const auto device = start(graphs);
    const auto expected = test::decode(*device, test::params_of_each_kind(), 4, false);
    std::uint64_t call = 1;
    for (bool was_reached = true; was_reached; ++call) {
      test::decoding all(test::params_of_each_kind());
      for (int step = 0; step < 4; ++step) {
        asked_step next = next_of(all, all.next(false));
        if (step == 2) {
          was_reached = lacks_memory_at(call, [&] { run(*device, next); });
          device->synchronize();
        }
        run(*device, next);
        all.add_tokens(next.sampled);
      }
      ASSERT_EQ(all.texts, expected) << "call " << call;
    }
    EXPECT_GT(call, 10U);
  }
}

TEST_F(cuda_memory_shortage, of_a_step_that_is_asked_for_ahead_leaves_the_tokens_of_the_one_before) {
  const auto device = start({1, 2, 4});
  const auto expected = test::decode(*device, test::params_of_each_kind(), 4, false);
  std::uint64_t call = 1;
  for (bool was_reached = true; was_reached; ++call) {
    test::decoding all(test::params_of_each_kind());
    asked_step first = next_of(all, all.next(false));
    run(*device, first);
    all.add_tokens(first.sampled);
    asked_step second = next_of(all, all.next(false));
    device->forward(second.batch);
    ASSERT_TRUE(device->begin_sample(second.batch, nullptr));
    asked_step ahead = next_of(all, all.next(true));
    was_reached = lacks_memory_at(call, [&] { device->forward(ahead.batch); });
    device->synchronize();
    test::wait_for(*device, second.sampled);
    all.add_tokens(second.sampled);
    for (int step = 0; step < 2; ++step) {
      asked_step next = next_of(all, all.next(false));
      run(*device, next);
      all.add_tokens(next.sampled);
    }
    ASSERT_EQ(all.texts, expected) << "call " << call;
  }
  EXPECT_GT(call, 4U);
}

TEST_F(cuda_memory_shortage, of_a_step_that_keeps_what_it_draws_from_leaves_nothing_behind) {
  const auto device = start({});
  test::decoding all(test::params_of_each_kind());
  asked_step step = next_of(all, all.next(false));
  std::vector<kept_distribution> kept(step.batch.samples.size());
  for (kept_distribution& each : kept) step.batch.kept.push_back(&each);
  run(*device, step);
  const std::vector<kept_distribution> expected = kept;
  std::uint64_t call = 1;
  for (bool was_reached = true; was_reached; ++call) {
    was_reached = lacks_memory_at(call, [&] { run(*device, step); });
    kept.assign(kept.size(), {});
    run(*device, step);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(kept[i].ids, expected[i].ids) << "call " << call;
      ASSERT_EQ(kept[i].weights, expected[i].weights) << "call " << call;
    }
  }
  EXPECT_GT(call, 10U);
}

// As the warm-up asks for it, which can have memory given to the device; any other step runs without.
TEST_F(cuda_memory_shortage, of_a_graph_is_one_of_the_step_where_that_needs_it) {
  const executor_limits limits{.max_rows = 64, .max_sequences = 4, .max_model_len = 64};
  const warm_up_item item{.phase = warm_up_phase::decode, .shape = {2, 1, 1}};
  const auto device = start({2});
  const auto batch_of = [&](bool needs_graph) {
    device_batch batch = scratch_batch(item, device->layout(), limits, 100);
    batch.needs_graph = needs_graph;
    return batch;
  };
  int eager = 0;
  std::uint64_t call = 1;
  for (bool was_reached = true; was_reached; ++call) {
    SCOPED_TRACE(call);
    const device_batch with_graph = batch_of(true);
    was_reached = lacks_memory_at(call, [&] { device->forward(with_graph); });
    device->synchronize();
    EXPECT_EQ(device->figures()->graphs, was_reached ? 0 : 1);
    const std::int32_t fewer = device->layout().num_blocks - 1;
    ASSERT_TRUE(device->take_kv_cache({.num_blocks = fewer}));
    EXPECT_EQ(device->layout().num_blocks, fewer);
    const device_batch without = batch_of(false);
    try {
      faults().failing_call = call;
      device->forward(without);
      faults().failing_call = 0;
      eager += device->figures()->graphs == 0 ? 1 : 0;
    } catch (const out_of_device_memory&) {
    }
    device->synchronize();
    device->forward(batch_of(true));
    device->synchronize();
    EXPECT_EQ(device->figures()->graphs, 1) << "though a step that needed none has given it up";
    ASSERT_TRUE(device->take_kv_cache({.num_blocks = fewer}));
  }
  EXPECT_GT(call, 10U);
  EXPECT_GT(eager, 2);
}

}  // namespace
}  // namespace troupe
