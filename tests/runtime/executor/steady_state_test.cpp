// Counts every allocation of the process: a decode step of the CPU executor makes none.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/executor/cpu_executor.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

// The replaced operators below are a matching pair; GCC 12 sees only one of them once it inlines the other.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The whole family, so that what one form takes is given back by the same one also under a sanitizer.
void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

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
  const step_batch batch = driver.build({{first, 5}, {second, 3}});
  step_result result;
  const auto run = [&] {
    (*made)->forward(batch);
    (*made)->sample(batch, result);
  };
  for (int i = 0; i < 3; ++i) run();
  const long before = allocations.load();
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace troupe
