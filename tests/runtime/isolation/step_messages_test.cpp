#include "runtime/isolation/step_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/support/paths.hpp"

namespace troupe {
namespace {

// Everything that a message may hold, drawn at random; what points elsewhere lies in here.
struct random_step {
  explicit random_step(unsigned seed) : random(seed) {
    const auto rows = 1 + random() % 20;
    batch.step = random();
    for (unsigned i = 0; i < rows; ++i) {
      batch.tokens.push_back(number());
      batch.positions.push_back(number());
      batch.slots.push_back(number());
    }
    for (auto left = random() % 4; left > 0; --left) add_sequence();
    batch.copies.resize(random() % 3, {number(), number()});
    batch.prompt_logprobs.resize(random() % 3, {number(), number(), number(), number()});
    batch.needs_graph = random() % 2 == 0;
    drafted.resize(rows);
    kept.resize(rows);
    distributions.resize(rows);
    for (unsigned i = 0; i < rows; ++i) add_sample(i);
    masks.step = batch.step;
    masks.num_words = random() % 5;
    masks.words.resize(rows * masks.num_words);
    for (std::uint32_t& word : masks.words) word = static_cast<std::uint32_t>(random());
    for (unsigned i = 0; i < rows; ++i) masks.is_masked.push_back(static_cast<std::uint8_t>(random() % 2));
  }

  void add_sequence() {
    const auto offset = static_cast<std::int32_t>(batch.block_tables.size());
    const auto length = static_cast<std::int32_t>(random() % 10);
    batch.sequences.push_back({random(), number(), number(), offset, length});
    for (std::int32_t i = 0; i < length; ++i) batch.block_tables.push_back(number());
  }

  void add_sample(unsigned i) {
    const bool is_like_last = i > 0 && random() % 2 == 0;
    const auto params = is_like_last ? batch.samples.back().sampling : draw_sampling();
    batch.samples.push_back({number(), number(), number(), number(), params, number(), {}});
    batch.samples.back().history.resize(random() % 5, number());
    distributions[i].ids.resize(random() % 4, number());
    distributions[i].weights.resize(distributions[i].ids.size(), real());
    drafted[i] = {static_cast<token_id>(random() % 100), distributions[i].view()};
    batch.verified.push_back(random() % 2 == 0 ? &drafted[i] : nullptr);
    batch.kept.push_back(random() % 2 == 0 ? &kept[i] : nullptr);
  }

  std::shared_ptr<const sampling_params> draw_sampling() {
    auto params = std::make_shared<sampling_params>();
    params->temperature = real();
    params->top_p = real();
    params->min_p = real();
    params->presence_penalty = real();
    params->frequency_penalty = real();
    params->repetition_penalty = real();
    params->top_k = number();
    params->min_tokens = number();
    params->seed = random() * 0x100000001ULL;
    params->ignore_eos = random() % 2 == 0;
    if (random() % 2 == 0) params->logprobs = static_cast<std::int32_t>(random() % 20);
    params->stop_token_ids.resize(random() % 3, number());
    params->logit_bias.resize(random() % 3, {number(), real()});
    return params;
  }

  std::int32_t number() { return static_cast<std::int32_t>(random()); }
  float real() { return static_cast<float>(random() % 1000) / 10.0F; }

  std::mt19937 random;
  device_batch batch;
  step_masks masks;
  std::vector<drafted_token> drafted;
  std::vector<kept_distribution> distributions;
  std::vector<kept_distribution> kept;
};

// The bytes that a message is made of, and thus all that it says: what is read and written again is the same.
template <class... Values>
std::vector<std::byte> bytes_of(const Values&... values) {
  std::vector<std::byte> room(1 << 16);
  flat_writer to(room);
  write(to, values...);
  room.resize(to.size());
  return room;
}

void expect_same(const sampling_params& a, const sampling_params& b) {
  EXPECT_EQ(a.temperature, b.temperature);
  EXPECT_EQ(a.top_p, b.top_p);
  EXPECT_EQ(a.min_p, b.min_p);
  EXPECT_EQ(a.top_k, b.top_k);
  EXPECT_EQ(a.presence_penalty, b.presence_penalty);
  EXPECT_EQ(a.frequency_penalty, b.frequency_penalty);
  EXPECT_EQ(a.repetition_penalty, b.repetition_penalty);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.min_tokens, b.min_tokens);
  EXPECT_EQ(a.ignore_eos, b.ignore_eos);
  EXPECT_EQ(a.logprobs, b.logprobs);
  EXPECT_EQ(a.stop_token_ids, b.stop_token_ids);
  EXPECT_EQ(a.logit_bias, b.logit_bias);
}

TEST(step_messages, bring_a_batch_over_as_it_is) {
  received_batch received;  // the same again and again: nothing of the last may stay
  for (unsigned seed = 0; seed < test::repeated(300); ++seed) {
    SCOPED_TRACE(seed);
    const random_step sent(seed);
    const std::vector<std::byte> bytes = bytes_of(sent.batch);
    flat_reader from(bytes);
    read(from, received);
    EXPECT_EQ(bytes_of(received.batch), bytes);
    EXPECT_EQ(received.batch.tokens, sent.batch.tokens);
    EXPECT_EQ(received.batch.block_tables, sent.batch.block_tables);
    EXPECT_EQ(received.batch.needs_graph, sent.batch.needs_graph);
    ASSERT_EQ(received.batch.samples.size(), sent.batch.samples.size());
    for (std::size_t i = 0; i < sent.batch.samples.size(); ++i) {
      const sample_row& now = received.batch.samples[i];
      const sample_row& then = sent.batch.samples[i];
      expect_same(*now.sampling, *then.sampling);
      if (i > 0) {
        EXPECT_EQ(now.sampling == received.batch.samples[i - 1].sampling,
                  then.sampling == sent.batch.samples[i - 1].sampling);
      }
      EXPECT_EQ(now.history, then.history);
      EXPECT_EQ(std::tie(now.sequence, now.row, now.position, now.num_generated, now.prompt_length),
                std::tie(then.sequence, then.row, then.position, then.num_generated, then.prompt_length));
      ASSERT_EQ(received.batch.verified[i] == nullptr, sent.batch.verified[i] == nullptr);
      EXPECT_EQ(received.batch.kept[i] == nullptr, sent.batch.kept[i] == nullptr);
      if (sent.batch.verified[i] == nullptr) continue;
      EXPECT_EQ(received.batch.verified[i]->token, sent.batch.verified[i]->token);
      EXPECT_TRUE(std::ranges::equal(received.batch.verified[i]->distribution.weights,
                                     sent.batch.verified[i]->distribution.weights));
    }
  }
}

TEST(step_messages, bring_what_a_sequence_is_drawn_by_over_once_however_many_samples_it_has) {
  device_batch batch;
  batch.tokens.resize(20);
  for (const std::int32_t sequence : {0, 1}) {
    auto params = std::make_shared<sampling_params>();
    params->seed = static_cast<std::uint64_t>(sequence);
    params->logit_bias.resize(2000, {sequence, 1.0F});
    for (int sample = 0; sample < 10; ++sample)
      batch.samples.push_back({.sequence = sequence, .row = sample, .sampling = params});
  }
  const std::vector<std::byte> bytes = bytes_of(batch);
  received_batch received;
  flat_reader from(bytes);
  read(from, received);
  ASSERT_EQ(received.batch.samples.size(), 20U);
  for (const sample_row& sample : received.batch.samples) {
    EXPECT_EQ(sample.sampling->seed, static_cast<std::uint64_t>(sample.sequence));
    EXPECT_EQ(sample.sampling->logit_bias.size(), 2000U);
  }
}

TEST(step_messages, a_sample_that_is_drawn_by_what_did_not_come_is_refused) {
  device_batch batch;
  batch.tokens = {7};
  batch.samples.push_back({.position = 77, .sampling = std::make_shared<const sampling_params>()});
  std::vector<std::byte> bytes = bytes_of(batch);
  // Its own numbers, and which of the parameters it is drawn by.
  const std::array<std::int32_t, 6> numbers{0, 0, 77, 0, 0, 0};
  const auto sent = std::ranges::search(bytes, std::as_bytes(std::span(numbers)));
  ASSERT_FALSE(sent.empty());
  sent.back() = std::byte{1};
  received_batch received;
  flat_reader from(bytes);
  EXPECT_THROW(read(from, received), std::out_of_range);
}

TEST(step_messages, bring_tables_over_wherever_they_stand) {
  received_batch received;
  for (unsigned seed = 0; seed < test::repeated(100); ++seed) {
    SCOPED_TRACE(seed);
    random_step sent(seed);
    device_batch& batch = sent.batch;
    const std::vector<std::int32_t> expected = batch.block_tables;
    std::vector<std::vector<std::int32_t>> elsewhere;
    for (std::size_t i = 0; i < batch.sequences.size(); ++i)
      elsewhere.emplace_back(batch.table(i).begin(), batch.table(i).end());
    for (const auto& table : elsewhere) batch.tables.push_back(table.data());
    if (!elsewhere.empty()) batch.block_tables.clear();
    for (sequence_rows& each : batch.sequences) each.table_offset = 0;
    const std::vector<std::byte> bytes = bytes_of(batch);
    flat_reader from(bytes);
    read(from, received);
    EXPECT_EQ(received.batch.block_tables, expected);
    for (std::size_t i = 0; i < elsewhere.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(received.batch.table(i), elsewhere[i]));
  }
}

TEST(step_messages, a_table_that_is_longer_than_what_came_is_refused) {
  device_batch batch;
  batch.sequences = {{.id = 1, .first_row = 0, .num_rows = 0, .table_offset = 0, .table_length = 2}};
  batch.block_tables = {3, 4};
  std::vector<std::byte> bytes = bytes_of(batch);
  // Behind the step's number and three empty arrays: the number of sequences, and the only one of them.
  sequence_rows* const sent = reinterpret_cast<sequence_rows*>(bytes.data() + 5 * sizeof(std::uint64_t));
  ASSERT_EQ(sent->table_length, 2);
  sent->table_length = 3;
  received_batch received;
  flat_reader from(bytes);
  EXPECT_THROW(read(from, received), std::out_of_range);
}

TEST(step_messages, bring_masks_over_where_there_are_any) {
  step_masks received;
  for (unsigned seed = 0; seed < test::repeated(300); ++seed) {
    SCOPED_TRACE(seed);
    const random_step sent(seed);
    const std::vector<std::byte> bytes = bytes_of(sent.masks);
    flat_reader from(bytes);
    read(from, received);
    for (std::size_t i = 0; i < sent.masks.is_masked.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(received.mask_of(i), sent.masks.mask_of(i)));
  }
}

TEST(step_messages, bring_a_result_over_with_what_was_kept) {
  for (unsigned seed = 0; seed < test::repeated(300); ++seed) {
    SCOPED_TRACE(seed);
    random_step step(seed);
    step_result sent;
    sent.step = step.batch.step;
    for (std::size_t i = 0; i < step.batch.samples.size(); ++i) {
      sampled_token& token = sent.tokens.emplace_back();
      token.id = step.random();
      token.token = step.number();
      if (step.random() % 2 == 0)
        token.logprobs =
            token_logprobs{step.number(), step.real(), step.number(), {{step.number(), step.real()}}};
      if (step.batch.kept[i] != nullptr) step.kept[i] = step.distributions[i];
    }
    sent.prompt_logprobs.resize(step.batch.prompt_logprobs.size());
    step_result collected;
    const std::vector<std::byte> told = bytes_of(sent);
    flat_reader of_collected(told);
    read(of_collected, collected);
    EXPECT_EQ(bytes_of(collected), told);
    ASSERT_EQ(collected.prompt_logprobs.size(), sent.prompt_logprobs.size());
    for (std::size_t i = 0; i < sent.tokens.size(); ++i)
      ASSERT_EQ(collected.tokens[i].logprobs.has_value(), sent.tokens[i].logprobs.has_value());
    const std::vector<std::byte> bytes = bytes_of(sent, step.batch);
    const std::vector<kept_distribution> kept = step.kept;
    for (kept_distribution& each : step.kept) each = {};
    step_result received;
    flat_reader from(bytes);
    read(from, received, step.batch);
    EXPECT_EQ(bytes_of(received, step.batch), bytes);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (step.batch.kept[i] == nullptr) continue;
      EXPECT_EQ(step.kept[i].ids, kept[i].ids);
      EXPECT_EQ(step.kept[i].weights, kept[i].weights);
    }
  }
}

// A process that dies while it writes leaves anything behind.
TEST(step_messages, that_are_damaged_are_refused_or_read_as_something_else) {
  int refused = 0, read_all_the_same = 0;
  for (unsigned seed = 0; seed < test::repeated(300); ++seed) {
    SCOPED_TRACE(seed);
    random_step step(seed);
    std::vector<std::byte> bytes = bytes_of(step.batch);
    for (int i = 0; i < 3; ++i) bytes[step.random() % bytes.size()] = static_cast<std::byte>(step.random());
    if (step.random() % 2 == 0) bytes.resize(bytes.size() - step.random() % bytes.size());
    received_batch received;
    step_masks masks;
    step_result result;
    const auto attempt = [&](auto&&... into) {
      flat_reader from(bytes);
      try {
        read(from, into...);
        ++read_all_the_same;
      } catch (const std::out_of_range&) {
        ++refused;
      }
    };
    attempt(received);
    attempt(masks);
    attempt(result, step.batch);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(read_all_the_same, 0);
}

TEST(flat_message, has_room_for_so_much_and_no_more) {
  std::vector<std::byte> room(16);
  flat_writer to(room);
  to.value(std::uint64_t{1});
  EXPECT_THROW(to.array(std::vector<std::int32_t>{1}), std::length_error);
}

}  // namespace
}  // namespace troupe
