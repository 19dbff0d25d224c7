#include "runtime/output/output_processor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "runtime/utf8.hpp"
#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"

namespace troupe {
namespace {

using params = std::shared_ptr<const sampling_params>;

params stopping_at(std::vector<std::string> stop, std::int32_t min_tokens = 0, bool include = false) {
  auto made = std::make_shared<sampling_params>();
  made->stop = std::move(stop);
  made->min_tokens = min_tokens;
  made->include_stop_str_in_output = include;
  return made;
}

token_event event_of(request_id id, const std::vector<token_id>& tokens,
                     std::optional<finish_reason> end = {}) {
  token_event event;
  event.id = id;
  event.tokens.assign(tokens.begin(), tokens.end());
  if (end)
    event.end = finished{.reason = *end, .stop_string = {}, .stop_token = {}, .failure = {}, .tokens = {}};
  return event;
}

// What one stream showed, put together.
struct seen {
  std::string text;
  std::vector<token_id> tokens;
  std::optional<finished> end;
  int ends = 0;

  void add(const stream_event& event) {
    EXPECT_EQ(valid_utf8_prefix(event.text), event.text.size()) << "half a character";
    EXPECT_EQ(ends, 0) << "an event after the end";
    text += event.text;
    tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
    if (event.end) {
      end = event.end;
      ++ends;
    }
  }
};

class output_processor_test : public testing::Test {
 protected:
  std::vector<token_id> encode(std::string_view text) const { return tokenizer_->encode(text, {}); }
  tokenizer_ptr tokenizer_ = test::tiny_tokenizer("gpt-2");
  output_processor processor_{tokenizer_};
};

TEST_F(output_processor_test, holds_back_what_may_become_a_stop_string) {
  processor_.open(1, encode("x"), stopping_at({"and the end"}));
  std::string shown;
  for (const auto id : encode("sand the en"))
    shown += processor_.process({event_of(1, {id})}).events.at(0).text;
  EXPECT_EQ(shown, "s");
  EXPECT_EQ(processor_.process({event_of(1, encode("t"))}).events.at(0).text, "and the ent");
}

TEST_F(output_processor_test, cuts_before_the_stop_string_and_tells_the_scheduler) {
  processor_.open(7, encode("x"), stopping_at({"zz", "STOP"}));
  const auto out = processor_.process({event_of(7, encode("one STOP two"))});
  ASSERT_EQ(out.events.size(), 1U);
  EXPECT_EQ(out.events[0].text, "one ");
  ASSERT_TRUE(out.events[0].end);
  EXPECT_EQ(out.events[0].end->reason, finish_reason::stop);
  EXPECT_EQ(out.events[0].end->stop_string, "STOP");
  EXPECT_EQ(out.events[0].end->tokens.completion_tokens,
            static_cast<std::int32_t>(encode("one STOP").size()));
  EXPECT_EQ(out.events[0].tokens.size(), encode("one STOP").size());
  EXPECT_EQ(out.stopped, std::vector<request_id>{7});
  EXPECT_TRUE(processor_.process({event_of(7, encode("late"), finish_reason::length)}).events.empty());
  EXPECT_EQ(processor_.size(), 0U);
}

TEST_F(output_processor_test, does_not_tell_a_scheduler_that_has_ended_the_request_itself) {
  processor_.open(7, encode("x"), stopping_at({"STOP"}));
  const auto out = processor_.process({event_of(7, encode("STOP"), finish_reason::length)});
  EXPECT_EQ(out.events.at(0).end->reason, finish_reason::stop);
  EXPECT_TRUE(out.stopped.empty());
}

TEST_F(output_processor_test, shows_the_stop_string_where_asked) {
  processor_.open(1, encode("x"), stopping_at({"STOP"}, 0, true));
  EXPECT_EQ(processor_.process({event_of(1, encode("one STOP two"))}).events.at(0).text, "one STOP");
}

TEST_F(output_processor_test, does_not_obey_a_stop_string_before_min_tokens) {
  const auto tokens = encode("Q Q Q Q");
  ASSERT_EQ(tokens.size(), 7U);
  processor_.open(1, encode("x"), stopping_at({"Q"}, 4));
  const auto out = processor_.process({event_of(1, tokens)});
  EXPECT_EQ(out.events.at(0).text, "Q Q ");
  EXPECT_EQ(out.events.at(0).end->tokens.completion_tokens, 5);
}

TEST_F(output_processor_test, tells_at_the_end_what_a_request_has_been_through_whoever_ends_it) {
  processor_.open(1, encode("x"), stopping_at({"STOP"}));
  auto first = event_of(1, encode("a"));
  first.details.emplace().accepted_drafts = 2;
  auto second = event_of(1, encode("b"));
  second.details.emplace().preemptions = 3;
  auto third = event_of(1, encode("STOP"));
  third.details.emplace().accepted_drafts = 4;
  const auto by_text = processor_.process({first, second, third}).events.at(2).end;
  ASSERT_TRUE(by_text);
  EXPECT_EQ(by_text->accepted_drafts, 6);
  EXPECT_EQ(by_text->preemptions, 3);

  processor_.open(1, encode("x"), stopping_at({}));
  auto last = event_of(1, {}, finish_reason::timeout);
  last.end->preemptions = 5;
  last.end->grammar_wait = std::chrono::milliseconds(7);
  const auto by_scheduler = processor_.process({first, second, last}).events.at(2).end;
  ASSERT_TRUE(by_scheduler);
  EXPECT_EQ(by_scheduler->accepted_drafts, 2);
  EXPECT_EQ(by_scheduler->preemptions, 5);
  EXPECT_EQ(by_scheduler->grammar_wait, std::chrono::milliseconds(7));
}

TEST_F(output_processor_test, gives_the_prompt_with_the_first_event_only) {
  const auto prompt = encode("the prompt");
  processor_.open(1, prompt, stopping_at({}));
  auto first = event_of(1, encode("a"));
  first.details.emplace().prompt_logprobs.resize(3);
  const auto out = processor_.process({first, event_of(1, encode("b"), finish_reason::length)});
  ASSERT_EQ(out.events.size(), 2U);
  EXPECT_EQ(out.events[0].prompt_tokens, prompt);
  EXPECT_EQ(out.events[0].prompt_logprobs.size(), 3U);
  EXPECT_TRUE(out.events[1].prompt_tokens.empty());
  EXPECT_EQ(out.events[1].end->tokens.prompt_tokens, static_cast<std::int32_t>(prompt.size()));
}

TEST_F(output_processor_test, counts_the_token_that_ends_a_request_but_does_not_show_it) {
  auto unskipped = std::make_shared<sampling_params>();
  unskipped->skip_special_tokens = false;
  processor_.open(1, encode("x"), unskipped);
  auto tokens = encode("bye");
  tokens.push_back(*tokenizer_->eos());
  const auto out = processor_.process({event_of(1, tokens, finish_reason::stop)});
  EXPECT_EQ(out.events.at(0).text, "bye");
  EXPECT_EQ(out.events.at(0).end->tokens.completion_tokens, static_cast<std::int32_t>(tokens.size()));
}

TEST_F(output_processor_test, flushes_held_back_text_at_every_kind_of_end) {
  for (const request_id id : {1, 2, 3}) processor_.open(id, encode("x"), stopping_at({"hello"}));
  processor_.process({event_of(1, encode("hel")), event_of(2, encode("hel")), event_of(3, encode("hel"))});
  EXPECT_EQ(processor_.process({event_of(1, {}, finish_reason::length)}).events.at(0).text, "hel");
  const auto aborted = processor_.end(2, finish_reason::abort);
  ASSERT_TRUE(aborted);
  EXPECT_EQ(aborted->text, "hel");
  EXPECT_FALSE(processor_.end(2, finish_reason::abort));
  const auto all = processor_.end_all({error_code::unavailable, "gone", {}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, 3U);
  EXPECT_EQ(all[0].text, "hel");
  EXPECT_EQ(all[0].end->reason, finish_reason::error);
  EXPECT_EQ(all[0].end->failure->message, "gone");
  EXPECT_EQ(processor_.size(), 0U);
}

TEST_F(output_processor_test, tells_reasoning_from_text_and_counts_its_tokens) {
  const auto thought = encode("<think>\nA city?\n</think>"), said = encode("\n\nTokyo");
  auto tokens = thought;
  tokens.insert(tokens.end(), said.begin(), said.end());
  for (const auto start : {reasoning_start::possible, reasoning_start::none}) {
    processor_.open(1, encode("x"), stopping_at({}), start);
    std::string reasoning, text;
    usage used;
    for (const token_id token : tokens) {
      const auto event = processor_.process({event_of(1, {token})}).events.at(0);
      reasoning += event.reasoning;
      text += event.text;
      EXPECT_EQ(event.tokens.size(), 1U);
    }
    used = processor_.process({event_of(1, {}, finish_reason::length)}).events.at(0).end->tokens;
    const bool is_told = start != reasoning_start::none;
    EXPECT_EQ(reasoning, is_told ? "A city?" : "");
    EXPECT_EQ(text, is_told ? "Tokyo" : "<think>\nA city?\n</think>\n\nTokyo");
    EXPECT_EQ(used.reasoning_tokens, is_told ? static_cast<std::int32_t>(thought.size()) : 0);
    EXPECT_EQ(used.completion_tokens, static_cast<std::int32_t>(tokens.size()));
  }
}

TEST_F(output_processor_test, an_answer_that_does_not_reason_has_no_such_tokens) {
  for (const std::string text : {"<b>", "Tokyo", "<thin"}) {
    processor_.open(1, encode("x"), stopping_at({}), reasoning_start::possible);
    const auto last = processor_.process({event_of(1, encode(text), finish_reason::length)}).events.at(0);
    EXPECT_EQ(last.text, text);
    EXPECT_EQ(last.end->tokens.reasoning_tokens, 0) << text;
  }
}

TEST_F(output_processor_test, a_stop_string_ends_an_answer_that_is_thinking) {
  processor_.open(1, encode("x"), stopping_at({"STOP"}), reasoning_start::begun);
  const auto out = processor_.process({event_of(1, encode("one STOP two"))});
  EXPECT_EQ(out.events.at(0).reasoning, "one");
  EXPECT_EQ(out.events.at(0).text, "");
  EXPECT_EQ(out.events.at(0).end->stop_string, "STOP");
  EXPECT_EQ(out.events.at(0).end->tokens.reasoning_tokens, out.events.at(0).end->tokens.completion_tokens);
}

// The whole text first, then its first complete stop string: of several that end at one place, the longest.
seen naive(const tokenizer& vocabulary, const std::vector<token_id>& tokens,
           const sampling_params& sampling) {
  seen expected;
  const auto text_of = [&](std::size_t count) {
    return vocabulary.decode(std::span(tokens).first(count), true);
  };
  // An unfinished character at the end of a prefix is not text yet.
  const auto settled = [&](std::size_t count) {
    auto pending = text_of(count);
    std::string text;
    drain_utf8(pending, text);
    return text;
  };
  for (std::size_t count = 1; count <= tokens.size(); ++count) {
    if (static_cast<std::int32_t>(count) <= sampling.min_tokens) continue;
    const auto text = settled(count);
    for (auto end = settled(count - 1).size() + 1; end <= text.size(); ++end) {
      std::string_view found;
      for (const auto& stop : sampling.stop) {
        if (stop != "\xC3" && stop.size() > found.size() &&
            std::string_view(text).substr(0, end).ends_with(stop))
          found = stop;
      }
      if (found.empty()) continue;
      expected.text = text.substr(0, sampling.include_stop_str_in_output ? end : end - found.size());
      expected.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
      expected.end = finished{.reason = finish_reason::stop,
                              .stop_string = std::string(found),
                              .stop_token = {},
                              .failure = {},
                              .tokens = {}};
      return expected;
    }
  }
  expected.text = replace_invalid_utf8(text_of(tokens.size()));
  expected.tokens = tokens;
  return expected;
}

TEST_F(output_processor_test, shows_the_same_text_however_the_tokens_come) {
  std::mt19937 random(3);
  static const std::vector<std::string> stops = {"ab", "abab", "b", "aab",  "é",
                                                 "éa", "a é",  "",  "\xC3", "ba"};
  static const std::vector<std::string> parts = {"a", "b", "é", " ", "日", "aa"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (auto length = random() % 14; length > 0; --length) text += parts[random() % parts.size()];
    auto tokens = tokenizer_->encode(text, {});
    for (auto& id : tokens) {
      if (random() % 12 == 0)
        id = static_cast<token_id>(random() % static_cast<unsigned>(tokenizer_->vocab_size()));
    }
    std::vector<std::string> wanted;
    for (auto count = random() % 4; count > 0; --count) wanted.push_back(stops[random() % stops.size()]);
    const auto sampling = stopping_at(wanted, static_cast<std::int32_t>(random() % 5), random() % 3 == 0);
    const auto expected = naive(*tokenizer_, tokens, *sampling);

    processor_.open(5, encode("x"), sampling);
    seen shown;
    for (std::size_t at = 0; at < tokens.size();) {
      const auto size = std::min<std::size_t>(1 + random() % 4, tokens.size() - at);
      const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(at);
      const auto out = processor_.process({event_of(5, {first, first + static_cast<std::ptrdiff_t>(size)})});
      for (const auto& event : out.events) shown.add(event);
      at += size;
    }
    for (const auto& event : processor_.process({event_of(5, {}, finish_reason::length)}).events)
      shown.add(event);

    EXPECT_EQ(shown.text, expected.text);
    EXPECT_EQ(shown.tokens, expected.tokens);
    EXPECT_EQ(shown.ends, 1);
    EXPECT_EQ(shown.end->stop_string, expected.end ? expected.end->stop_string : std::nullopt);
    EXPECT_EQ(shown.end->tokens.completion_tokens, static_cast<std::int32_t>(expected.tokens.size()));
  }
}

}  // namespace
}  // namespace troupe
