// A step of running requests allocates nothing, planned ahead or not.
#include <gtest/gtest.h>

#include <memory>

#include "runtime/engine/engine.hpp"
#include "runtime/executor/null_executor.hpp"
#include "tests/runtime/allocations_fixture.hpp"

namespace troupe {
namespace {

struct load {
  const char* name;
  std::int32_t steps_in_flight;
  bool prefix_caching;
  float penalty;
};

class engine_steady_state : public ::testing::TestWithParam<load> {
 protected:
  static std::unique_ptr<engine> running(const load& which) {
    scheduler_limits limits;
    limits.max_num_seqs = 64;
    limits.max_num_batched_tokens = 4096;
    limits.max_model_len = 4096;
    limits.max_steps_in_flight = which.steps_in_flight;
    limits.enable_prefix_caching = which.prefix_caching;
    limits.watermark = 0.01;
    limits.max_num_queued_requests = 64;
    auto made = std::make_unique<engine>(
        make_null_executor({16, 20000, 1}, [](const sample_row& row) { return row.position % 50; }), limits);
    sampling_params params;
    params.max_tokens = 3000;
    params.frequency_penalty = which.penalty;
    const auto sampling = std::make_shared<const sampling_params>(params);
    for (request_id id = 1; id <= 64; ++id) {
      engine_request request{.id = id, .prompt = {}, .sampling = sampling};
      for (std::size_t i = 0; i < 3 * id; ++i) request.prompt.push_back(static_cast<token_id>(id + i));
      EXPECT_TRUE(made->submit(std::move(request)));
    }
    return made;
  }
};

TEST_P(engine_steady_state, a_step_allocates_nothing) {
  const auto tested = running(GetParam());
  // Tables grow in leaps: those of the sequences at 512 and at 1,024 tokens, that of a step at 2,500 blocks.
  for (int i = 0; i < 640; ++i) tested->step();
  std::size_t tokens = 0;
  const long before = test::allocations();
  for (int i = 0; i < 180; ++i) tokens += tested->step().size();
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(tokens, 180U * 64U);
}

INSTANTIATE_TEST_SUITE_P(loads, engine_steady_state,
                         ::testing::Values(load{"one_at_a_time", 1, false, 0.0F},
                                           load{"overlapped", 2, false, 0.0F},
                                           load{"overlapped_with_prefix_caching", 2, true, 0.0F},
                                           load{"ten_ahead", 11, true, 0.0F},
                                           load{"overlapped_with_penalties", 2, true, 0.5F}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace troupe
