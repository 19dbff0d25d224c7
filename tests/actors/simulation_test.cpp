#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/actors/company_simulation_fixture.hpp"
#include "tests/support/seeds.hpp"

namespace troupe::test {
namespace {

// The shortest run of the same seed that still breaks a promise.
std::string shortest_story(const company_simulation_options& options, const std::string& fault) {
  for (std::size_t fewer = 1; fewer < options.num_requests; ++fewer) {
    const company_story story = simulate_company({options.seed, fewer});
    if (story.fault) return std::to_string(fewer) + " requests: " + *story.fault;
  }
  return std::to_string(options.num_requests) + " requests: " + fault;
}

// TROUPE_SIMULATION_SEED=N replays one.
TEST(CompanySimulation, KeepsEveryPromiseWhateverTheOrderOfMessages) {
  const seed_range seeds = seeds_to_run(500);
  std::uint64_t steps = 0, mixed = 0, copied = 0, failed = 0, lacking = 0, preemptions = 0, refused = 0,
                drafts = 0, accepted = 0, deaths = 0, losses = 0;
  std::uint64_t refused_drafts = 0, partly_masked = 0, forced = 0, left_waiting = 0, late_waiting = 0;
  std::uint64_t withheld = 0, by_chance = 0, accepted_by_chance = 0, failed_draft_models = 0,
                draft_shortages = 0;
  stream_counts total;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const company_simulation_options options{.seed = seed};
    const company_story story = simulate_company(options);
    ASSERT_FALSE(story.fault) << "TROUPE_SIMULATION_SEED=" << seed
                              << " build/tests/test_actors --gtest_filter='CompanySimulation.*'\n"
                              << shortest_story(options, *story.fault);
    steps += story.device.steps;
    mixed += story.device.mixed_steps;
    copied += story.device.copied_blocks;
    failed += story.device.failed_steps;
    lacking += story.device.lacking_steps;
    deaths += story.deaths;
    losses += story.losses;
    preemptions += story.preemptions;
    drafts += story.draft_tokens;
    accepted += story.accepted_tokens;
    refused += story.refused;
    refused_drafts += story.refused_drafts;
    partly_masked += story.device.partly_masked_steps;
    forced += story.device.forced_tokens;
    withheld += story.withheld_rows;
    by_chance += story.verified_by_chance;
    accepted_by_chance += story.accepted_by_chance;
    failed_draft_models += story.failed_draft_models;
    draft_shortages += story.draft_shortages;
    left_waiting += story.left_waiting;
    late_waiting += story.late_waiting;
    for (const auto count :
         {&stream_counts::finished, &stream_counts::stop_strings, &stream_counts::aborted,
          &stream_counts::timed_out, &stream_counts::queue_refusals, &stream_counts::full_queues,
          &stream_counts::failed, &stream_counts::cached_tokens, &stream_counts::whole_texts,
          &stream_counts::hard_texts, &stream_counts::refused_grammars, &stream_counts::hard_refusals})
      total.*count += story.streams.*count;
  }
  // The stories are worth telling only if all of this happens in them.
  if (seeds.count < 100) return;
  const std::uint64_t some = seeds.count / 10;
  EXPECT_GT(steps, seeds.count * 10);
  EXPECT_GT(mixed, seeds.count);
  EXPECT_GT(copied, some);
  EXPECT_GT(failed, some);
  EXPECT_GT(lacking, some);
  EXPECT_GT(deaths, seeds.count / 4);
  EXPECT_GT(losses, some / 2);
  EXPECT_GT(preemptions, some);
  EXPECT_GT(accepted, seeds.count / 4);
  EXPECT_GT(drafts, accepted + some);
  EXPECT_GT(drafts + refused_drafts, 2 * accepted);
  EXPECT_GT(accepted_by_chance, some);
  EXPECT_GT(by_chance, accepted_by_chance + some / 5);
  EXPECT_GT(failed_draft_models, some / 5);
  EXPECT_GT(draft_shortages, some / 5);
  EXPECT_GT(refused, some);
  EXPECT_GT(refused_drafts, some);
  EXPECT_GT(total.finished, seeds.count);
  EXPECT_GT(total.stop_strings, some);
  EXPECT_GT(total.aborted, some);
  EXPECT_GT(total.timed_out, some);
  EXPECT_GT(total.queue_refusals, some);
  EXPECT_GT(total.full_queues, some);
  EXPECT_GT(total.failed, some);
  EXPECT_GT(total.cached_tokens, seeds.count);
  EXPECT_GT(partly_masked, seeds.count);
  EXPECT_GT(forced, seeds.count);
  EXPECT_GT(withheld, seeds.count);
  EXPECT_GT(left_waiting, some);
  EXPECT_GT(late_waiting, some);
  EXPECT_GT(total.whole_texts, seeds.count / 2);
  EXPECT_GT(total.hard_texts, some / 2);
  EXPECT_GT(total.refused_grammars, some);
  EXPECT_GT(total.hard_refusals, some);
}

TEST(CompanySimulation, TellsTheSameStoryForTheSameSeed) {
  constexpr std::uint64_t seeds = 40;
  std::vector<company_story> once;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) once.push_back(simulate_company({.seed = seed}));
  // Whatever was told before.
  for (std::uint64_t seed = seeds; seed-- > 0;) {
    const company_story again = simulate_company({.seed = seed});
    EXPECT_FALSE(again.told.empty());
    EXPECT_EQ(once[seed].told, again.told) << "seed " << seed;
    EXPECT_EQ(once[seed].device.steps, again.device.steps) << "seed " << seed;
  }
}

}  // namespace
}  // namespace troupe::test
