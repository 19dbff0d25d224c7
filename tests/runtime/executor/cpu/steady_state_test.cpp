// Counts every allocation of the process: a decode step of the CPU executor makes none.
#include <gtest/gtest.h>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "tests/runtime/allocations_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

TEST(cpu_executor_steady_state, a_repeated_step_allocates_nothing) {
  const auto model = test::load_from_memory(test::tiny_model({.weights = gguf::tensor_type::q4_1}));
  cpu_executor_options options;
  options.limits = {.max_rows = 64, .max_sequences = 8, .kv_cache_bytes = 1U << 20};
  options.threads = 2;
  auto made = make_cpu_executor(model, options);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  test::executor_driver driver(**made);
  sampling_params warm;
  warm.top_k = 20;
  warm.top_p = 0.9F;
  const auto first = driver.add({1, 2, 3, 4, 5}, test::greedy());
  const auto second = driver.add({6, 7, 8}, warm);
  const device_batch batch = driver.build({{first, 5}, {second, 3}});
  step_result result;
  const auto run = [&] {
    (*made)->forward(batch);
    (*made)->sample(batch, nullptr, result);
  };
  for (int i = 0; i < 3; ++i) run();
  const long before = test::allocations();
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace troupe
