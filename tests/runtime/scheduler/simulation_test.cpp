#include <gtest/gtest.h>

#include "tests/runtime/scheduler/simulation_fixture.hpp"
#include "tests/support/seeds.hpp"

namespace troupe {
namespace {

// The shortest run of the same seed that still breaks a promise.
std::string shortest_story(std::uint64_t seed, std::size_t num_requests, const std::string& fault) {
  for (std::size_t fewer = 1; fewer < num_requests; ++fewer) {
    const auto story = simulate({seed, fewer});
    if (story.fault) return std::to_string(fewer) + " requests: " + *story.fault;
  }
  return std::to_string(num_requests) + " requests: " + fault;
}

TEST(scheduler_simulation, every_promise_holds_under_random_loads) {
  const auto [first, seeds] = test::seeds_to_run(10'000);
  simulation_story total;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const simulation_options options{.seed = seed};
    const auto story = simulate(options);
    ASSERT_FALSE(story.fault) << "seed " << seed << ", "
                              << shortest_story(seed, options.num_requests, *story.fault);
    total.steps += story.steps;
    total.preemptions += story.preemptions;
    total.changed_limits += story.changed_limits;
    total.shared_steps += story.shared_steps;
    total.failed_steps += story.failed_steps;
    total.lacking_steps += story.lacking_steps;
    total.lost_caches += story.lost_caches;
    total.convicted += story.convicted;
    total.ended_in_flight += story.ended_in_flight;
    total.ended_in_planning += story.ended_in_planning;
    total.finished += story.finished;
    total.planned_ahead += story.planned_ahead;
    total.fed_tokens += story.fed_tokens;
    total.cached_tokens += story.cached_tokens;
    total.copied_blocks += story.copied_blocks;
    total.queue_refusals += story.queue_refusals;
    total.displaced += story.displaced;
    total.masked_steps += story.masked_steps;
    total.masks_awaited += story.masks_awaited;
    total.draft_tokens += story.draft_tokens;
    total.accepted_tokens += story.accepted_tokens;
    total.numbered_tokens += story.numbered_tokens;
    total.accepted_numbered_tokens += story.accepted_numbered_tokens;
    total.masked_drafts += story.masked_drafts;
    total.fed_drafts += story.fed_drafts;
    total.refused_draft_tokens += story.refused_draft_tokens;
    total.trims += story.trims;
    total.forced_tokens += story.forced_tokens;
    total.withheld_samples += story.withheld_samples;
  }
  // The stories are worth telling only if all of this happens in them.
  if (seeds < 100) return;
  EXPECT_GT(total.preemptions, seeds / 10);
  EXPECT_GT(total.changed_limits, seeds / 2);
  EXPECT_GT(total.shared_steps, seeds / 20);
  EXPECT_GT(total.failed_steps, seeds / 2);
  EXPECT_GT(total.lacking_steps, seeds / 10);
  EXPECT_GT(total.lost_caches, seeds / 10);
  EXPECT_GT(total.convicted, seeds / 20);
  EXPECT_GT(total.ended_in_flight, seeds / 10);
  EXPECT_GT(total.ended_in_planning, seeds / 10);
  EXPECT_GT(total.finished, seeds);
  EXPECT_GT(total.planned_ahead, seeds);
  EXPECT_GT(total.fed_tokens, seeds);
  EXPECT_GT(total.cached_tokens, seeds);
  EXPECT_GT(total.copied_blocks, seeds / 10);
  EXPECT_GT(total.queue_refusals, seeds / 10);
  EXPECT_GT(total.displaced, seeds / 100);
  EXPECT_GT(total.masked_steps, seeds);
  EXPECT_GT(total.masks_awaited, seeds / 10);
  EXPECT_GT(total.accepted_tokens, seeds / 2);
  EXPECT_GT(total.draft_tokens, total.accepted_tokens + seeds / 2);
  EXPECT_GT(total.accepted_numbered_tokens, seeds / 4);
  EXPECT_GT(total.numbered_tokens, total.accepted_numbered_tokens + seeds / 10);
  EXPECT_GT(total.masked_drafts, seeds / 10);
  EXPECT_GT(total.fed_drafts, seeds / 10);
  EXPECT_GT(total.refused_draft_tokens, seeds / 10);
  EXPECT_GT(total.trims, seeds / 10);
  EXPECT_GT(total.forced_tokens, seeds / 10);
  EXPECT_GT(total.withheld_samples, seeds / 4);
}

TEST(scheduler_simulation, the_same_seed_tells_the_same_story) {
  const auto once = simulate({.seed = 77});
  const auto again = simulate({.seed = 77});
  EXPECT_EQ(once.steps, again.steps);
  EXPECT_EQ(once.finished, again.finished);
  EXPECT_EQ(once.preemptions, again.preemptions);
}

}  // namespace
}  // namespace troupe
