#include "runtime/drafting/draft_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "runtime/drafting/same_vocabulary.hpp"
#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "tests/runtime/drafting/equal_model_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/list_tokenizer.hpp"
#include "tests/support/paged_executor.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

constexpr std::int32_t vocab = 40;
constexpr std::int32_t block_size = 4;

// Refuses steps beyond the limits, and two sequences that store into one slot.
class strict_executor final : public forwarding_executor {
 public:
  strict_executor(std::unique_ptr<executor> inner, const draft_model_options& limits)
      : forwarding_executor(std::move(inner)), limits_(limits) {}
  void forward(const device_batch& batch) override {
    EXPECT_LE(batch.num_rows(), limits_.max_rows);
    EXPECT_LE(batch.sequences.size(), static_cast<std::size_t>(limits_.max_sequences));
    std::map<std::int32_t, int> slots;
    for (std::size_t row = 0; row < batch.slots.size(); ++row) {
      EXPECT_EQ(++slots[batch.slots[row]], 1);
      EXPECT_LT(batch.positions[row], limits_.max_model_len);
    }
    forwarding_executor::forward(batch);
  }

 private:
  draft_model_options limits_;
};

draft_model_options limits() {
  draft_model_options out;
  out.max_rows = 32;
  out.max_sequences = 8;
  out.max_model_len = 200;
  out.vocab_size = vocab;
  return out;
}

draft_model hashing_model(const draft_model_options& options, std::int32_t num_blocks) {
  kv_layout layout;
  layout.block_size = block_size;
  layout.num_blocks = num_blocks;
  return draft_model(
      std::make_shared<strict_executor>(std::make_unique<paged_executor>(layout, vocab), options), options);
}

sampling_params drawn_params(dice& random) {
  sampling_params out;
  out.temperature = random.chance(50) ? 0.0F : 0.8F;
  out.seed = random.number();
  if (random.chance(30)) out.frequency_penalty = 0.5F;
  if (random.chance(30)) out.max_tokens = random.pick(1, 60);
  if (random.chance(20)) out.num_speculative_tokens = random.pick(0, 6);
  out.ignore_eos = random.chance(50);
  return out;
}

std::vector<token_id> drawn_tokens(dice& random, std::int32_t count) {
  std::vector<token_id> out;
  for (std::int32_t i = 0; i < count; ++i) out.push_back(random.pick(0, vocab - 1));
  return out;
}

// Everything computed from scratch, from the tokens alone.
struct expected_request {
  std::vector<token_id> tokens;
  std::int32_t prompt_length = 0;
  sampling_params params;

  std::vector<token_id> draft(const draft_model_options& options) const {
    std::int32_t most = std::min(options.num_tokens, params.num_speculative_tokens.value_or(64));
    const auto size = static_cast<std::int32_t>(tokens.size());
    if (params.max_tokens) most = std::min(most, *params.max_tokens - (size - prompt_length) - 1);
    most = std::min(most, options.max_model_len - size + 1);
    std::vector<token_id> all = tokens;
    while (static_cast<std::int32_t>(all.size()) - size < most) {
      all.push_back(expect_row(all, params, vocab).token);
      if (!params.ignore_eos && all.back() == options.end_tokens.at(0)) break;
    }
    return {all.begin() + size, all.end()};
  }
};

class draft_story {
 public:
  explicit draft_story(std::uint64_t seed) : random_(seed), options_(limits()) {
    options_.max_rows = random_.pick(8, 40);
    options_.max_sequences = random_.pick(4, 8);
    options_.num_tokens = random_.pick(1, 6);
    options_.max_model_len = random_.pick(40, 160);
    options_.end_tokens = {7};
    num_blocks_ = random_.chance(50) ? random_.pick(4, 30) : 400;
    model_ = std::make_unique<draft_model>(hashing_model(options_, num_blocks_));
  }

  void run() {
    for (int i = 0; i < 120; ++i) turn();
    for (const auto& [id, request] : requests_) model_->close(id);
    EXPECT_EQ(model_->num_requests(), 0U);
    EXPECT_EQ(model_->num_free_blocks(), num_blocks_);
  }
  int drafts = 0;
  int right = 0;

 private:
  void turn() {
    if (requests_.size() < 8 && random_.chance(30)) open();
    if (random_.chance(5) && !requests_.empty()) close(requests_.begin()->first);
    std::vector<request_id> ids = {999};
    for (const auto& [id, request] : requests_)
      if (random_.chance(80)) ids.push_back(id);
    for (const draft& guess : model_->propose(ids)) check(guess);
    for (auto& [id, request] : requests_)
      if (random_.chance(85)) go_on(id, request);
  }
  void open() {
    expected_request made;
    made.tokens = drawn_tokens(random_, random_.pick(1, 70));
    made.prompt_length = static_cast<std::int32_t>(made.tokens.size());
    made.params = drawn_params(random_);
    model_->open(++last_id_, made.tokens, made.params);
    requests_.emplace(last_id_, std::move(made));
  }
  void close(request_id id) {
    model_->close(id);
    requests_.erase(id);
    guesses_.erase(id);
  }
  void check(const draft& guess) {
    const expected_request& of = requests_.at(guess.id);
    EXPECT_EQ(guess.after, static_cast<std::int32_t>(of.tokens.size()));
    ASSERT_EQ(guess.probabilities.size(), guess.tokens.size());
    for (const float probability : guess.probabilities) EXPECT_TRUE(probability > 0 && probability < 1);
    const std::vector<token_id> expected = of.draft(options_);
    // A pool that is full ends a draft early.
    ASSERT_LE(guess.tokens.size(), expected.size());
    EXPECT_TRUE(std::equal(guess.tokens.begin(), guess.tokens.end(), expected.begin()));
    EXPECT_TRUE(num_blocks_ < 400 || guess.tokens.size() == expected.size());
    guesses_[guess.id] = guess.tokens;
    ++drafts;
  }
  // As after verification: some of the draft is right, then comes another token.
  void go_on(request_id id, expected_request& request) {
    std::vector<token_id> tokens = std::exchange(guesses_[id], {});
    tokens.resize(static_cast<std::size_t>(random_.pick(0, static_cast<std::int32_t>(tokens.size()))));
    right += static_cast<int>(tokens.size());
    for (const token_id token : drawn_tokens(random_, random_.pick(1, 2))) tokens.push_back(token);
    model_->append(id, tokens);
    request.tokens.insert(request.tokens.end(), tokens.begin(), tokens.end());
  }

  dice random_;
  draft_model_options options_;
  std::int32_t num_blocks_ = 0;
  std::unique_ptr<draft_model> model_;
  std::map<request_id, expected_request> requests_;
  std::map<request_id, std::vector<token_id>> guesses_;
  request_id last_id_ = 0;
};

TEST(DraftModel, DraftsWhatItWouldGenerateFromScratchWhateverWasRightBefore) {
  const auto [first, count] = test::seeds_to_run(60);
  int drafts = 0;
  int right = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    draft_story story(seed);
    story.run();
    drafts += story.drafts;
    right += story.right;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(drafts, static_cast<int>(10 * count));
  EXPECT_GT(right, static_cast<int>(10 * count));
}

TEST(DraftModel, ALongPromptIsComputedInChunksBesideOthersThatHaveDraftsMeanwhile) {
  draft_model model = hashing_model(limits(), 100);
  const std::vector<token_id> long_prompt(100, 3);
  const std::vector<token_id> short_prompt(5, 3);
  model.open(1, long_prompt, test::greedy());
  model.open(2, short_prompt, test::greedy());
  const std::vector<request_id> both = {1, 2};
  for (int call = 0; call < 3; ++call) {
    const auto drafts = model.propose(both);
    ASSERT_EQ(drafts.size(), 1U);
    EXPECT_EQ(drafts[0].id, 2U);
  }
  EXPECT_EQ(model.propose(both).size(), 2U);
}

// What a chunk takes is measured, and a fault of it is its own.
TEST(DraftModel, AChunkWithoutADraftIsWaitedFor) {
  class waited_executor final : public forwarding_executor {
   public:
    waited_executor(std::unique_ptr<executor> inner, int& waits)
        : forwarding_executor(std::move(inner)), waits_(waits) {}
    void synchronize() override { ++waits_; }

   private:
    int& waits_;
  };
  int waits = 0;
  const kv_layout layout{.block_size = block_size, .num_blocks = 100};
  draft_model model(std::make_shared<waited_executor>(std::make_unique<paged_executor>(layout, vocab), waits),
                    limits());
  model.open(1, std::vector<token_id>(40, 3), test::greedy());
  const std::vector<request_id> ids = {1};
  EXPECT_TRUE(model.propose(ids).empty());
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(model.propose(ids).size(), 1U);
  EXPECT_EQ(waits, 1) << "whose tokens come has been waited for";
}

TEST(DraftModel, ARequestThatIsNotAskedForGivesItsRoomToOneThatIs) {
  draft_model model = hashing_model(limits(), 8);
  const std::vector<token_id> prompt(20, 3);
  model.open(1, prompt, test::greedy());
  model.open(2, prompt, test::greedy());
  const std::vector<request_id> first = {1};
  const std::vector<request_id> second = {2};
  const std::vector<request_id> both = {1, 2};
  EXPECT_EQ(model.propose(first).size(), 1U);
  EXPECT_EQ(model.propose(both).size(), 1U) << "no room for two";
  const auto drafts = model.propose(second);
  ASSERT_EQ(drafts.size(), 1U);
  EXPECT_EQ(drafts[0].tokens.size(), 4U);
  EXPECT_EQ(model.propose(first).size(), 1U) << "computed anew";
}

TEST(DraftModel, WhatIsAlwaysRightIsTrustedAndWhatIsAlwaysWrongIsNot) {
  for (const bool is_right : {true, false}) {
    draft_model model = hashing_model(limits(), 100);
    model.open(1, std::vector<token_id>(5, 3), test::greedy());
    const std::vector<request_id> ids = {1};
    float probability = 0.0F;
    for (int i = 0; i < 38; ++i) {
      const draft guess = model.propose(ids).at(0);
      probability = guess.probabilities.at(0);
      model.append(1, is_right ? guess.tokens : std::vector<token_id>{(guess.tokens.at(0) + 1) % vocab});
    }
    EXPECT_TRUE(is_right ? probability > 0.8F : probability < 0.3F) << probability;
  }
}

// A clock that says how long the draft model's steps take.
class slow_executor final : public forwarding_executor {
 public:
  slow_executor(std::unique_ptr<executor> inner, std::chrono::nanoseconds& now, std::chrono::nanoseconds step)
      : forwarding_executor(std::move(inner)), now_(now), step_(step) {}
  void forward(const device_batch& batch) override {
    now_ += step_;
    ++steps;
    forwarding_executor::forward(batch);
  }
  int steps = 0;

 private:
  std::chrono::nanoseconds& now_;
  std::chrono::nanoseconds step_;
};

// What 100 rounds of a request cost, whose drafts are always right, or never; a step of the target takes 1 us
// and as much again with 100 rows.
struct round_costs {
  int steps = 0;    // of the draft model
  int drafted = 0;  // tokens
};
round_costs rounds(std::chrono::nanoseconds draft_step, bool is_right) {
  std::chrono::nanoseconds now{0};
  kv_layout layout;
  layout.block_size = block_size;
  layout.num_blocks = 1000;
  draft_model_options options = limits();
  options.max_model_len = 2000;
  options.adaptive = true;
  options.now = [&now] { return now; };
  const auto device =
      std::make_shared<slow_executor>(std::make_unique<paged_executor>(layout, vocab), now, draft_step);
  draft_model model(device, options);
  model.target_step(1, std::chrono::nanoseconds(1000));
  model.target_step(101, std::chrono::nanoseconds(2000));
  model.open(1, std::vector<token_id>(5, 3), test::greedy());
  const std::vector<request_id> ids = {1};
  round_costs out;
  for (int i = 0; i < 100; ++i) {
    std::vector<token_id> tokens;
    for (const draft& guess : model.propose(ids)) tokens = guess.tokens;
    out.drafted += static_cast<int>(tokens.size());
    EXPECT_EQ(model.is_resting(), tokens.empty());
    if (!is_right || tokens.empty()) tokens = {tokens.empty() ? 0 : (tokens[0] + 1) % vocab};
    model.append(1, tokens);
  }
  out.steps = device->steps;
  return out;
}

TEST(DraftModel, DraftsOnlyWhatIsWorthItsTime) {
  EXPECT_GT(rounds(std::chrono::nanoseconds(100), true).drafted, 350);
  const round_costs wrong = rounds(std::chrono::nanoseconds(100), false);
  EXPECT_LT(wrong.drafted, 60);
  const round_costs dear = rounds(std::chrono::nanoseconds(1000), true);
  EXPECT_LT(dear.steps, 20) << "as dear as the target itself";
}

TEST(DraftModel, NothingIsDraftedWhereVerifyingCostsNobodyKnowsWhat) {
  draft_model_options options = limits();
  options.adaptive = true;
  draft_model model = hashing_model(options, 100);
  model.open(1, std::vector<token_id>(5, 3), test::greedy());
  const std::vector<request_id> ids = {1};
  EXPECT_TRUE(model.propose(ids).empty());
  model.target_step(1, std::chrono::nanoseconds(1000));
  model.target_step(9, std::chrono::nanoseconds(1000));
  EXPECT_EQ(model.propose(ids).size(), 1U);
}

// A request whose drafts are accepted or rejected by chance, in a service that plans a step ahead: where
// nothing is verified, the newest token is on its way when it is asked how to go on.
class request_a_step_ahead {
 public:
  explicit request_a_step_ahead(draft_model& model) : model_(model) {
    sampling_params drawn;
    drawn.temperature = 0.8F;
    drawn.is_seeded = false;
    model_.open(1, std::vector<token_id>(5, 3), drawn);
    model_.append(1, std::vector<token_id>{4}, 1);
  }
  // Until the answer to the next draft is known; how many of its tokens were verified.
  std::int32_t go_on(bool is_right) {
    const std::vector<request_id> ids = {1};
    const auto drafts = model_.propose(ids);
    const std::int32_t verified = drafts.empty() ? 0 : drafts[0].num_behind_lead();
    if (verified <= 0) {
      model_.append(1, std::vector<token_id>{4}, 1);
      return 0;
    }
    const std::span<const token_id> tokens = drafts[0].tokens;
    verify(drafts[0]);
    const auto lead = static_cast<std::size_t>(drafts[0].lead);
    if (lead > 0) model_.append(1, tokens.first(lead), 1);
    if (is_right)
      model_.append(1, tokens.subspan(lead));
    else
      model_.append(1, std::vector<token_id>{(tokens[lead] + 1) % vocab});
    return verified;
  }
  // The token on its way is none that was guessed; a step verifies what was drafted behind it all the same.
  void go_on_past_a_wrong_lead() {
    const std::vector<request_id> ids = {1};
    const draft guess = model_.propose(ids).at(0);
    ASSERT_EQ(guess.lead, 1);
    verify(guess);
    model_.append(1, std::vector<token_id>{(guess.tokens[0] + 1) % vocab}, 1);
  }

 private:
  void verify(const draft& guess) {
    step_batch step;
    step.sequences.push_back({1, 0, guess.num_behind_lead() + 1, 0, 0});
    step.samples.resize(static_cast<std::size_t>(guess.num_behind_lead()) + 1);
    for (std::size_t i = 0; i < step.samples.size(); ++i)
      step.samples[i].position = guess.after + guess.lead + static_cast<std::int32_t>(i);
    step.drafts.push_back({0, guess.num_behind_lead(), guess.number});
    model_.begin_verification(step, verified_);
  }

  draft_model& model_;
  verified_drafts verified_;
};

TEST(DraftModel, WhoseDraftsWereRejectedIsTriedAgainAfterARestAndComesBack) {
  std::chrono::nanoseconds now{0};
  draft_model_options options = limits();
  options.max_model_len = 2000;
  options.adaptive = true;
  options.rejection = rejection_method::probabilistic;
  options.now = [&now] { return now += std::chrono::nanoseconds(100); };
  kv_layout layout;
  layout.block_size = block_size;
  layout.num_blocks = 1000;
  draft_model model(std::make_shared<paged_executor>(layout, vocab), options);
  for (const std::int32_t rows : {1, 101}) model.target_step(rows, std::chrono::nanoseconds(900 + 10 * rows));
  request_a_step_ahead request(model);
  int tries = 0;
  while (request.go_on(false) > 0) ASSERT_LT(++tries, 100);
  EXPECT_GT(tries, 1);
  for (int i = 0; i < 80; ++i) request.go_on(true);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(request.go_on(true), options.num_tokens);
}

// Whoever comes when the memory for distributions is given away is drafted for all the same.
TEST(DraftModel, KeepsDistributionsOfSoManyRequestsAtOnceAsTheirMemoryHolds) {
  draft_model_options options = limits();
  options.rejection = rejection_method::probabilistic;
  const std::size_t of_one = 2 * static_cast<std::size_t>(options.num_tokens + 1) * vocab * 8;
  for (const std::size_t most : {std::size_t{0}, std::size_t{2}, std::size_t{5}}) {
    options.most_kept_bytes = most * of_one + of_one / 2;
    draft_model model = hashing_model(options, 400);
    EXPECT_EQ(model.most_by_chance(), most);
    sampling_params drawn;
    drawn.temperature = 0.8F;
    drawn.is_seeded = false;
    const std::vector<token_id> prompt{3, 1, 4};
    const std::vector<request_id> ids{1, 2, 3, 4};
    const auto num_by_chance = [&] {
      const std::vector<draft> drafts = model.propose(ids);
      EXPECT_EQ(drafts.size(), ids.size());
      return static_cast<std::size_t>(
          std::ranges::count_if(drafts, [](const draft& guess) { return guess.number != 0; }));
    };
    for (const request_id id : ids) model.open(id, prompt, drawn);
    EXPECT_EQ(num_by_chance(), std::min(most, ids.size()));
    model.close(1);
    model.open(1, prompt, drawn);
    EXPECT_EQ(num_by_chance(), std::min(most, ids.size())) << "one has left its place to one";
  }
}

TEST(DraftModel, WhatLeadsUpToADraftIsNotRejectedWhereItIsWrong) {
  draft_model_options options = limits();
  options.rejection = rejection_method::probabilistic;
  draft_model model = hashing_model(options, 100);
  request_a_step_ahead request(model);
  const double before = model.acceptance(draft_verification::rejection);
  request.go_on_past_a_wrong_lead();
  EXPECT_EQ(model.acceptance(draft_verification::rejection), before);
}

TEST(DraftModel, DraftsAsManyTokensBehindThoseThatAreOnTheirWay) {
  draft_model_options options = limits();
  options.num_tokens = 1;
  draft_model model = hashing_model(options, 100);
  sampling_params params = test::greedy();
  params.max_tokens = 4;
  params.ignore_eos = true;
  model.open(1, std::vector<token_id>(5, 3), params);
  const std::vector<request_id> ids = {1};
  const draft plain = model.propose(ids).at(0);
  EXPECT_EQ(plain.tokens.size(), 1U);
  model.append(1, plain.tokens, 1);
  const draft behind = model.propose(ids).at(0);
  EXPECT_EQ(behind.tokens.size(), 2U);
  EXPECT_EQ(behind.num_behind_lead(), 1);
  model.append(1, std::span(behind.tokens).first(1), 2);
  EXPECT_TRUE(model.propose(ids).empty()) << "the last token comes anyway";
}

// Its steps take as long as they have rows.
class slow_prompt_executor final : public forwarding_executor {
 public:
  slow_prompt_executor(std::unique_ptr<executor> inner, std::chrono::nanoseconds& now)
      : forwarding_executor(std::move(inner)), now_(now) {}
  void forward(const device_batch& batch) override {
    now_ += std::chrono::nanoseconds(50 * batch.num_rows());
    rows += batch.num_rows();
    forwarding_executor::forward(batch);
  }
  int rows = 0;

 private:
  std::chrono::nanoseconds& now_;
};

TEST(DraftModel, APromptIsComputedOnlyForAnAnswerThatMayWinItsTimeBack) {
  std::chrono::nanoseconds now{0};
  draft_model_options options = limits();
  options.adaptive = true;
  options.now = [&now] { return now; };
  kv_layout layout;
  layout.block_size = block_size;
  layout.num_blocks = 1000;
  const auto device =
      std::make_shared<slow_prompt_executor>(std::make_unique<paged_executor>(layout, vocab), now);
  draft_model model(device, options);
  for (const std::int32_t rows : {1, 101}) model.target_step(rows, std::chrono::nanoseconds(900 + 10 * rows));
  // What a row costs is known from here on: 20 of them as much as a step of the target.
  model.open(1, std::vector<token_id>(20, 3), test::greedy());
  const std::vector<request_id> first = {1};
  EXPECT_EQ(model.propose(first).size(), 1U);
  sampling_params params = test::greedy();
  const auto rows_for = [&](std::size_t prompt, std::int32_t max_tokens) {
    params.max_tokens = max_tokens;
    model.open(2, std::vector<token_id>(prompt, 3), params);
    const std::vector<request_id> second = {2};
    const int before = device->rows;
    const auto drafts = model.propose(second);
    EXPECT_EQ(model.is_resting(), device->rows == before);
    return device->rows - before;
  };
  EXPECT_EQ(rows_for(150, 8), 0)
      << "150 rows take the time of eight tokens, and at most six of the answer are drafts";
  EXPECT_GT(rows_for(150, 40), 0);
  EXPECT_GT(rows_for(20, 8), 0);
}

TEST(DraftModel, AnEqualModelDraftsWhatTheTargetSamples) {
  const model_ptr tiny = test::load_from_memory(test::tiny_model());
  cpu_executor_options cpu;
  cpu.limits = {.max_rows = 64, .max_sequences = 8, .block_size = 16, .kv_cache_bytes = 4U << 20U};
  cpu.threads = 1;
  const auto target = *make_cpu_executor(tiny, cpu);
  test::expect_right_drafts_of_an_equal_model(*make_cpu_executor(tiny, cpu), *target,
                                              tiny->config.vocab_size);
}

TEST(DraftModel, AVocabularyThatDiffersIsRefusedByName) {
  const auto small = test::make_list_tokenizer({"a", "b", "c"});
  const auto other = test::make_list_tokenizer({"a", "x", "c"});
  const auto larger = test::make_list_tokenizer({"a", "b", "c", "d"});
  EXPECT_TRUE(check_same_vocabulary({*small, "big.gguf"}, {*small, "little.gguf"}));
  for (const auto& [draft, word] : {std::pair(other, "token 1"), std::pair(larger, "4 tokens and 3")}) {
    const auto refused = check_same_vocabulary({*small, "big.gguf"}, {*draft, "little.gguf"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::invalid_argument);
    for (const char* part : {"big.gguf", "little.gguf", word})
      EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace troupe
