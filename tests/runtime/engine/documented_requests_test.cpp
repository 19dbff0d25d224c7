// The worked example of document 002: three requests of 412 tokens on an idle engine, from the scheduler to
// the buckets that their steps run in.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/bucketing/step_buckets.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

// A token a block: the document counts contexts in tokens.
constexpr std::int32_t block_size = 1;

// Notes the buckets of each step, each that differs from the one before once.
class noting_executor final : public forwarding_executor {
 public:
  noting_executor(std::unique_ptr<executor> inner, std::vector<bucket>& noted)
      : forwarding_executor(std::move(inner)), noted_(noted) {}
  void forward(const device_batch& batch) override {
    const step_placement placed = buckets_.place(batch);
    EXPECT_EQ(placed.fallbacks(), 0);
    for (const std::optional<bucket>& each : {placed.prompt, placed.decode})
      if (each && (noted_.empty() || noted_.back() != *each)) noted_.push_back(*each);
    forwarding_executor::forward(batch);
  }

 private:
  step_buckets buckets_{test::documented_plan(), block_size};
  std::vector<bucket>& noted_;
};

// One request for each of these numbers of tokens to generate, all at once.
std::vector<bucket> buckets_of(const std::vector<std::int32_t>& answers) {
  std::vector<bucket> noted;
  scheduler_limits limits;
  limits.max_num_seqs = 4;
  limits.max_num_batched_tokens = 2048;
  limits.max_model_len = 1024;
  limits.block_size = block_size;
  auto device = make_null_executor({block_size, 5781, 1}, [](const sample_row& row) { return row.position; });
  engine tested(std::make_unique<noting_executor>(std::move(device), noted), limits);
  request_id id = 0;
  for (const std::int32_t max_tokens : answers) {
    sampling_params params;
    params.max_tokens = max_tokens;
    engine_request request{.id = ++id, .prompt = {}, .sampling = {}};
    request.prompt.assign(412, static_cast<token_id>(id));
    request.sampling = std::make_shared<const sampling_params>(params);
    EXPECT_TRUE(tested.submit(std::move(request)));
  }
  for (int step = 0; step < 600 && !tested.idle(); ++step) tested.step();
  EXPECT_TRUE(tested.idle());
  return noted;
}

TEST(documented_requests, grow_out_of_their_bucket_behind_512_tokens) {
  EXPECT_EQ(buckets_of({120, 120, 120}), (std::vector<bucket>{{4, 512, 0}, {4, 1, 512}, {4, 1, 640}}));
}

TEST(documented_requests, go_on_in_a_smaller_batch_where_one_is_over) {
  EXPECT_EQ(buckets_of({90, 20, 90}), (std::vector<bucket>{{4, 512, 0}, {4, 1, 512}, {2, 1, 512}}));
}

}  // namespace
}  // namespace troupe
