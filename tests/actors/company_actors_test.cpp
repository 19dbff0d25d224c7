// The company's behaviour, message by message, on one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/company_metrics.hpp"
#include "metrics/exposition.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "runtime/generation_request.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

// What the default script answers to a prompt of this length.
std::string alphabet(std::size_t prompt_length, std::int32_t count) {
  std::string text;
  for (std::int32_t i = 0; i < count; ++i)
    text += static_cast<char>('a' + (static_cast<std::int32_t>(prompt_length) + i) % 26);
  return text;
}

void expect_one_end(const client& who, finish_reason reason) {
  ASSERT_EQ(who.ends.size(), 1U);
  EXPECT_STREQ(to_string(who.ends[0].reason), to_string(reason));
  EXPECT_EQ(who.events_after_end, 0U);
}

TEST(Company, IsReadyAfterWarmUpWithEveryBlockFree) {
  stage stage;
  EXPECT_TRUE(stage.status().ready);
  EXPECT_TRUE(stage.status().live);
  // One prefill, one decode; the sampler comes when nothing runs.
  EXPECT_EQ(stage.board().wait_news(0).progress.size(), 2U);
  stage.expect_idle();
}

using message_rows = std::set<std::pair<std::string, std::string>>;  // actor, message

message_rows rows_of(const std::string& metrics) {
  message_rows found;
  const metrics::exposition text(metrics);
  for (const metrics::metric_sample* each : text.all("troupe_actor_message_seconds_count"))
    found.emplace(each->labels.at("actor"), each->labels.at("message"));
  return found;
}

TEST(Company, HasARowForEachMessageFromBeforeItsActorsOn) {
  const message_rows before = rows_of(make_company_metrics("m", std::nullopt)->text());
  for (const char* kind :
       {"supervisor", "model_runner", "grammar_compiler", "scheduler", "kv_cache", "structured_output",
        "drafter", "tokenizer", "gateway", "http_gateway", "tcp_gateway"})
    EXPECT_TRUE(std::ranges::any_of(before, [&](const auto& row) { return row.first == kind; })) << kind;
  stage stage;
  const auto who = stage.ask("hello", 7);
  stage.run();
  expect_one_end(*who, finish_reason::length);
  EXPECT_EQ(rows_of(stage.port().metrics_text()), before);
}

TEST(Company, AnswersARequestTokenByToken) {
  stage stage;
  const auto who = stage.ask("hello", 7);
  stage.run();
  expect_one_end(*who, finish_reason::length);
  EXPECT_EQ(who->text, alphabet(5, 7));
  EXPECT_EQ(who->ends[0].tokens.prompt_tokens, 5);
  EXPECT_EQ(who->ends[0].tokens.completion_tokens, 7);
  stage.expect_idle();
}

TEST(Company, AnswersManyRequestsAtOnceEachAsIfAlone) {
  stage stage;
  std::vector<std::shared_ptr<client>> clients;
  for (std::int32_t i = 1; i <= 20; ++i)
    clients.push_back(stage.ask(std::string(static_cast<std::size_t>(i), 'x'), i + 3));
  stage.run();
  for (std::int32_t i = 1; i <= 20; ++i) {
    const client& who = *clients[static_cast<std::size_t>(i - 1)];
    expect_one_end(who, finish_reason::length);
    EXPECT_EQ(who.text, alphabet(static_cast<std::size_t>(i), i + 3));
  }
  stage.expect_idle();
}

TEST(Company, EndsWithStopAtTheEndToken) {
  stage stage({.script = [](const sample_row& row) { return row.num_generated < 3 ? 'z' : end_token; }});
  const auto who = stage.ask("hello", 50);
  stage.run();
  expect_one_end(*who, finish_reason::stop);
  EXPECT_EQ(who->text, "zzz");
  stage.expect_idle();
}

TEST(Company, TellsAtTheEndWhenARequestCameAndWhatItReached) {
  stage stage({.max_num_seqs = 1});
  const steady_time begin = stage.now();
  const auto first = stage.ask("hello", 4);
  const auto second = stage.ask("hello", 4);
  const auto refused = stage.ask(std::string(500, 'x'), 4);
  while (first->tokens.size() < 3 && stage.run(1) > 0) {
  }
  stage.advance(std::chrono::seconds(2));
  stage.run();
  ASSERT_TRUE(first->ends.at(0).times);
  const request_times& times = *first->ends[0].times;
  EXPECT_EQ(times.arrival, begin);
  EXPECT_EQ(times.scheduled, begin);
  EXPECT_EQ(times.first_token, begin);
  EXPECT_EQ(times.last_token, begin + std::chrono::seconds(2));
  ASSERT_TRUE(second->ends.at(0).times);
  EXPECT_EQ(second->ends[0].times->arrival, begin);
  EXPECT_EQ(second->ends[0].times->scheduled, begin + std::chrono::seconds(2));
  EXPECT_FALSE(refused->ends.at(0).times);
}

TEST(Company, TellsWhatRanAlsoOfARequestThatEndsDuringItsFirstStep) {
  stage stage({.max_num_seqs = 1});
  const steady_time begin = stage.now();
  const auto first = stage.ask("hello", 4);
  const auto second = stage.ask("hello", 4);
  const auto* runner = caf::actor_cast<caf::abstract_actor*>(stage.roster().model_runner);
  const auto run_all_but_the_runner = [&] {
    while (stage.run_any(0, runner)) {
    }
  };
  run_all_but_the_runner();
  stage.advance(std::chrono::seconds(2));
  stage.abort(*first);
  stage.abort(*second);
  run_all_but_the_runner();
  ASSERT_EQ(first->ends.size(), 1U) << "the step need not end for that";
  stage.run();
  ASSERT_TRUE(first->ends.at(0).times);
  EXPECT_EQ(first->ends[0].reason, finish_reason::abort);
  EXPECT_EQ(first->ends[0].times->scheduled, begin);
  EXPECT_EQ(stage.metric("vllm:request_queue_time_seconds_count"), 1);
  ASSERT_TRUE(second->ends.at(0).times);
  EXPECT_FALSE(second->ends[0].times->scheduled);
  stage.expect_idle();
}

TEST(Company, TellsTheSchedulerWhenAStopStringEndsAStream) {
  std::int32_t steps = 0;
  stage stage({.before_step = [&](const device_batch& batch) { steps += batch.step != 0 ? 1 : 0; }});
  sampling_params sampling = greedy(100);
  sampling.stop = {"jk"};
  const auto who = stage.ask("hello", sampling);  // f g h i j k ...
  stage.run();
  expect_one_end(*who, finish_reason::stop);
  EXPECT_EQ(who->text, "fghi");
  EXPECT_EQ(who->ends[0].stop_string, "jk");
  EXPECT_EQ(who->ends[0].tokens.completion_tokens, 6);
  EXPECT_LT(steps, 12);  // not the 100 that were asked for
  stage.expect_idle();
}

TEST(Company, RefusesWhatCanNeverRunAndServesTheNext) {
  stage stage;
  const auto too_long = stage.ask(std::string(500, 'x'), 5);
  sampling_params odd = greedy(5);
  odd.temperature = -1.0F;
  const auto out_of_range = stage.ask("hello", odd);
  const auto empty = stage.ask("", 5);
  const auto good = stage.ask("hello", 5);
  stage.run();
  for (const auto& [who, code] : {std::pair(too_long, error_code::context_length_exceeded),
                                  std::pair(out_of_range, error_code::invalid_argument),
                                  std::pair(empty, error_code::invalid_argument)}) {
    expect_one_end(*who, finish_reason::error);
    ASSERT_TRUE(who->ends[0].failure);
    EXPECT_EQ(who->ends[0].failure->code, code);
  }
  EXPECT_EQ(out_of_range->ends[0].failure->param, "temperature");
  expect_one_end(*good, finish_reason::length);
  stage.expect_idle();
}

TEST(Company, GivesLongPromptsToTheLastTokenizerAndEveryRequestItsOwnNumber) {
  stage stage({.num_blocks = 6000, .max_num_batched_tokens = 4096, .max_model_len = 20'000});
  std::set<request_id> ids;
  for (int i = 0; i < 30; ++i) {
    const bool is_long = i % 3 == 0;
    const auto who = stage.ask(std::string(is_long ? 17'000 : 10, 'x'), 3);
    EXPECT_TRUE(ids.insert(who->id).second);
    EXPECT_EQ(who->id % 3 == 2, is_long);
    stage.run();
    expect_one_end(*who, finish_reason::length);
  }
  stage.expect_idle();
}

TEST(Company, RefusesAPromptThatCannotFitBeforeEncodingIt) {
  stage stage;
  const auto text = stage.ask(std::string(1 << 20, 'x'), 3);
  auto chat = std::make_shared<generation_request>();
  chat_prompt prompt;
  prompt.messages = {{{"role", "user"}, {"content", std::string(1 << 20, 'x')}}};
  chat->prompt = prompt;
  std::optional<finished> end;
  stage.port().generate(chat, [&](const stream_event& event) { end = event.end; });
  stage.run();
  expect_one_end(*text, finish_reason::error);
  EXPECT_EQ(text->ends[0].failure->param, "prompt");
  ASSERT_TRUE(end && end->failure);
  EXPECT_EQ(end->failure->param, "messages");
  EXPECT_EQ(end->failure->code, error_code::context_length_exceeded);
  stage.expect_idle();
}

TEST(Company, GivesSeveralAnswersToAPromptEachWithASeedOfItsOwn) {
  stage stage({.script = [](const sample_row& row) {
    return 'a' + (static_cast<std::int32_t>(row.sampling->seed) + row.position) % 26;
  }});
  for (const std::int32_t n : {1, 2, 5, 16}) {
    sampling_params sampling = greedy(6);
    sampling.seed = 3;
    const auto choices = stage.ask_choices("hello", sampling, n);
    const auto other = stage.ask_choices("another", sampling, 2);  // between them, from the same gateway
    stage.run();
    std::set<request_id> ids;
    for (std::int32_t i = 0; i < n; ++i) {
      const client& who = *choices[static_cast<std::size_t>(i)];
      expect_one_end(who, finish_reason::length);
      EXPECT_EQ(who.text, alphabet(static_cast<std::size_t>(5 + 3 + i), 6)) << i;
      EXPECT_EQ(who.prompt_tokens, 5U);
      EXPECT_EQ(who.ends[0].tokens.prompt_tokens, 5);
      EXPECT_TRUE(ids.insert(who.id).second);
      EXPECT_EQ(who.id % 3, choices[0]->id % 3) << "one shard";
    }
    EXPECT_EQ(other[1]->text, alphabet(7 + 3 + 1, 6));
  }
  stage.expect_idle();
}

TEST(Company, EndsEachOfSeveralAnswersByItself) {
  stage stage;
  const auto choices = stage.ask_choices("hello", greedy(40), 4);
  stage.run(40);
  stage.abort(*choices[2]);
  stage.abort(*choices[0]);
  stage.run();
  for (const std::size_t i : {0U, 2U}) expect_one_end(*choices[i], finish_reason::abort);
  for (const std::size_t i : {1U, 3U}) {
    expect_one_end(*choices[i], finish_reason::length);
    EXPECT_EQ(choices[i]->text, alphabet(5, 40));
  }
  stage.expect_idle();
}

TEST(Company, RefusesEveryAnswerToAPromptThatCannotBe) {
  stage stage;
  const auto choices = stage.ask_choices(std::string(200, 'x'), greedy(3), 3);
  stage.run();
  for (const auto& who : choices) {
    expect_one_end(*who, finish_reason::error);
    ASSERT_TRUE(who->ends[0].failure);
    EXPECT_EQ(who->ends[0].failure->code, error_code::context_length_exceeded);
  }
  stage.expect_idle();
}

TEST(Company, CutsAPromptThatIsTooLongWhereThatIsAllowedAndSaysSo) {
  stage stage({.allow_auto_truncate = true});
  for (const std::size_t size : {200U, 100'000U}) {
    const auto who = stage.ask(std::string(size, 'x'), 8);
    stage.run();
    expect_one_end(*who, finish_reason::length);
    EXPECT_EQ(who->ends[0].tokens.prompt_tokens, 120);
    EXPECT_NE(who->warning.find(std::to_string(size)), std::string::npos) << who->warning;
    EXPECT_NE(who->warning.find(std::to_string(size - 120)), std::string::npos) << who->warning;
  }
  const auto fits = stage.ask("hello", 8);
  const auto one_fits = stage.ask("hello", 127);
  const auto none_fits = stage.ask("hello", 128);
  stage.run();
  EXPECT_EQ(fits->warning, "");
  expect_one_end(*one_fits, finish_reason::length);
  EXPECT_EQ(one_fits->ends[0].tokens.prompt_tokens, 1);
  EXPECT_EQ(one_fits->ends[0].tokens.completion_tokens, 127);
  EXPECT_NE(one_fits->warning.find("the first 4 were left out"), std::string::npos) << one_fits->warning;
  expect_one_end(*none_fits, finish_reason::length);
  EXPECT_EQ(none_fits->ends[0].tokens.prompt_tokens, 5);
  EXPECT_EQ(none_fits->ends[0].tokens.completion_tokens, 123);
  EXPECT_EQ(none_fits->warning.find("max_tokens was lowered to 123"), 0U) << none_fits->warning;
  stage.expect_idle();
}

TEST(Company, RefusesWhatFindsTheQueueFull) {
  stage stage({.max_num_seqs = 1, .max_num_queued_requests = 2});
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(stage.ask("hello", 20));
  stage.run();
  int refused = 0;
  for (const auto& who : clients) {
    ASSERT_EQ(who->ends.size(), 1U);
    if (who->ends[0].reason != finish_reason::error) continue;
    ++refused;
    EXPECT_EQ(who->ends[0].failure->code, error_code::resource_exhausted);
  }
  EXPECT_GE(refused, 1);
  EXPECT_LE(refused, 4);
  stage.expect_idle();
}

// The heart of the matter: a client may leave between any two messages of the company.
TEST(Company, AbortAfterAnyMessageEndsTheStreamOnceAndFreesEverything) {
  for (std::size_t messages = 0;; ++messages) {
    SCOPED_TRACE(messages);
    stage stage;
    const auto other = stage.ask("other", 9);
    const auto who = stage.ask("hello", 6);
    const bool over = stage.run(messages) < messages;
    const bool ended = !who->ends.empty();
    stage.abort(*who);
    stage.run();
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->events_after_end, 0U);
    if (!ended) {
      const finish_reason reason = who->ends[0].reason;
      EXPECT_TRUE(reason == finish_reason::abort || reason == finish_reason::length);
    }
    EXPECT_EQ(who->text, alphabet(5, 6).substr(0, who->text.size()));
    expect_one_end(*other, finish_reason::length);
    EXPECT_EQ(other->text, alphabet(5, 9));
    stage.expect_idle();
    if (over) break;
  }
}

TEST(Company, AbortOfAnUnknownOrEndedRequestDoesNothing) {
  stage stage;
  stage.port().abort(4711);
  const auto who = stage.ask("hello", 3);
  stage.run();
  stage.abort(*who);
  stage.abort(*who);
  stage.run();
  expect_one_end(*who, finish_reason::length);
  stage.expect_idle();
}

TEST(Company, PreemptsWhenBlocksRunOutAndEveryAnswerStaysTheSame) {
  stage stage({.num_blocks = 8, .block_size = 4});  // 32 tokens for all
  std::vector<std::shared_ptr<client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(stage.ask("abcdef", 20));  // 26 tokens each
  stage.run();
  for (const auto& who : clients) {
    expect_one_end(*who, finish_reason::length);
    EXPECT_EQ(who->text, alphabet(6, 20));
  }
  std::uint64_t told = 0;
  for (const auto& who : clients) told += static_cast<std::uint64_t>(who->ends[0].preemptions);
  const auto counts = stage.query<msg::request_counts>(stage.roster().scheduler, msg::count{});
  EXPECT_GT(counts->preemptions, 0U);
  EXPECT_EQ(told, counts->preemptions);
  stage.expect_idle();
}

TEST(Company, EndsARequestAtItsDeadlineInAnyState) {
  for (std::size_t messages = 3;; ++messages) {
    SCOPED_TRACE(messages);
    stage stage({.max_num_seqs = 1, .request_timeout = std::chrono::seconds(5)});
    const auto running = stage.ask("hello", 6);
    const auto waiting = stage.ask("hello", 6);
    const bool over = stage.run(messages) < messages;
    stage.advance(std::chrono::seconds(4));
    stage.advance(std::chrono::seconds(2));
    stage.run();
    for (const auto& who : {running, waiting}) {
      ASSERT_EQ(who->ends.size(), 1U);
      EXPECT_TRUE(who->ends[0].reason == finish_reason::timeout || who->text == alphabet(5, 6));
    }
    stage.expect_idle();
    if (over) break;
  }
}

TEST(Company, EndsARequestAtItsOwnTimeoutOrTheCompanysWhicheverIsShorter) {
  struct {
    int company, own, expected;
  } const cases[] = {{0, 3, 3}, {5, 3, 3}, {5, 9, 5}, {5, 0, 5}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.expected);
    stage stage({.request_timeout = std::chrono::seconds(one.company)});
    auto request = std::make_shared<generation_request>();
    request->prompt = text_prompt{"hello"};
    request->sampling = greedy(100);
    request->timeout = std::chrono::seconds(one.own);
    std::optional<finished> end;
    stage.port().generate(request, [&](const stream_event& event) { end = event.end; });
    stage.run(20);
    stage.advance(std::chrono::seconds(one.expected) - std::chrono::nanoseconds(1));
    stage.run(10);
    EXPECT_FALSE(end);
    stage.advance(std::chrono::nanoseconds(1));
    stage.run();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->reason, finish_reason::timeout);
    EXPECT_LT(end->tokens.completion_tokens, 100);
    stage.expect_idle();
  }
}

TEST(Company, AStepThatDoesNotEndIsNotLive) {
  stage stage({.step_deadline = std::chrono::seconds(10)});
  const auto who = stage.ask("hello", 50);
  // Until a step is with the runner and not answered.
  bool in_flight = false;
  for (int i = 0; i < 100 && !in_flight; ++i) {
    stage.run(1);
    stage.advance(std::chrono::seconds(11));
    in_flight = !stage.status().live;
  }
  EXPECT_TRUE(in_flight);
  stage.run();
  EXPECT_TRUE(stage.status().live);
  expect_one_end(*who, finish_reason::length);
  stage.expect_idle();
}

// A member that takes no message, while all the others go on, and after how many seconds that is told.
struct hanging_member {
  std::string name;
  std::function<const caf::abstract_actor*(const company_roster&)> find;
  int patience = 10;
};

TEST(Company, AnActorThatDoesNotAnswerIsNotLive) {
  const auto held = [](const auto& handle) { return caf::actor_cast<caf::abstract_actor*>(handle); };
  const std::vector<hanging_member> members{
      {"kv_cache", [&](const company_roster& r) { return held(r.kv_cache); }},
      {"scheduler", [&](const company_roster& r) { return held(r.scheduler); }},
      {"structured_output", [&](const company_roster& r) { return held(r.structured_output); }},
      {"tokenizer 0", [&](const company_roster& r) { return held(r.tokenizers[0]); }},
      {"text worker", [&](const company_roster& r) { return held(r.text_worker); }},
      {"gateway", [&](const company_roster& r) { return held(r.gateway); }},
      {"quick grammar_compiler", [&](const company_roster& r) { return held(r.compilers.quick); }, 120},
      {"patient grammar_compiler", [&](const company_roster& r) { return held(r.compilers.patient); }, 120}};
  for (const hanging_member& member : members) {
    SCOPED_TRACE(member.name);
    stage stage({.step_deadline = std::chrono::seconds(10)});
    const caf::abstract_actor* hanging = member.find(stage.roster());
    for (int second = 0; second < member.patience + 4; ++second) {
      EXPECT_TRUE(stage.status().live || second >= member.patience) << second;
      stage.advance(std::chrono::seconds(1));
      while (stage.run_any(0, hanging)) {
      }
    }
    EXPECT_FALSE(stage.status().live);
    EXPECT_EQ(stage.status().reason, member.name + " does not answer");
    stage.take_stock();
    EXPECT_TRUE(stage.status().live);
    stage.expect_served();
  }
}

// Long texts, one after the other, before the question how it is.
TEST(Company, AnActorThatIsFarBehindAndGetsOnIsLive) {
  stage stage({.step_deadline = std::chrono::seconds(10)});
  const auto worker = stage.roster().text_worker;
  const auto* late = caf::actor_cast<caf::abstract_actor*>(worker);
  const auto roster = std::make_shared<const company_roster>(stage.roster());
  for (int i = 0; i < 10; ++i)
    caf::anon_send(caf::actor_cast<caf::actor>(worker), msg::meet{}, company_roster_ptr(roster));
  for (int i = 0; i < 10; ++i) {
    for (int second = 0; second < 8; ++second) {
      stage.advance(std::chrono::seconds(1));
      while (stage.run_any(0, late)) {
      }
    }
    EXPECT_TRUE(stage.status().live) << i << ": " << stage.status().reason;
    ASSERT_TRUE(stage.run_only(worker));
  }
  stage.expect_served();
}

TEST(Company, CompilersThatNobodyAsksForAGrammarAreLive) {
  stage stage({.step_deadline = std::chrono::seconds(10)});
  for (int second = 0; second < 300; ++second) {
    stage.advance(std::chrono::seconds(1));
    stage.run();
    ASSERT_TRUE(stage.status().live) << second << " s: " << stage.status().reason;
  }
  stage.expect_served();
}

// Between any two messages more time passes than a step, or a queue, may take.
TEST(Company, WhoeverHoldsAStepOrTheQueueUpIsNotLive) {
  stage stage({.step_deadline = std::chrono::seconds(10), .warm_up = warm_up_mode::skip});
  const auto who = stage.ask("hello", 5);
  std::set<std::string> reasons;
  for (int i = 0; i < 10'000 && who->ends.empty(); ++i) {
    stage.run(1);
    stage.advance(std::chrono::seconds(11));
    reasons.insert(stage.status().reason);
  }
  for (const char* reason : {"", "a step does not end", "the queue does not move"})
    EXPECT_TRUE(reasons.contains(reason)) << reason;
  stage.take_stock();
  EXPECT_TRUE(stage.status().live);
  expect_one_end(*who, finish_reason::length);
  stage.expect_idle();
}

}  // namespace
}  // namespace troupe::test
