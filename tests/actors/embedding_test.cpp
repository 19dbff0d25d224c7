// What an embedding program may do wrong, and what it may count on, with a company on its own threads.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/company.hpp"
#include "metrics/exposition.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/isolation/child_process.hpp"
#include "tests/actors/real_company_fixture.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

class Embedding : public testing::Test {
 protected:
  company_options options() const { return small_company(file_.path()); }
  std::unique_ptr<company> started(company_options with) {
    auto company = company::start(std::move(with));
    EXPECT_TRUE(company) << company.error().message;
    EXPECT_TRUE((*company)->wait_ready());
    return std::move(*company);
  }
  static std::shared_ptr<generation_request> request(std::int32_t max_tokens) {
    auto made = std::make_shared<generation_request>();
    made->prompt = token_prompt{{1, 2, 3}};
    made->sampling.max_tokens = max_tokens;
    made->sampling.ignore_eos = true;
    made->sampling.temperature = 0.0F;
    return made;
  }
  // How an answer ends that nobody disturbs.
  static finished end_of(net::engine_port& port, const std::shared_ptr<generation_request>& wanted) {
    std::promise<finished> ended;
    port.generate(wanted, [&](const stream_event& event) {
      if (event.end) ended.set_value(*event.end);
    });
    return ended.get_future().get();
  }

  temporary_file file_{tiny_model()};
};

TEST_F(Embedding, ASinkThatThrowsEndsItsOwnRequestAlone) {
  const auto company = started(options());
  net::engine_port& port = *company->port();
  std::promise<finished> beside;
  port.generate(request(60), [&](const stream_event& event) {
    if (event.end) beside.set_value(*event.end);
  });
  std::atomic<int> calls = 0;
  port.generate(request(100'000 / 400), [&](const stream_event&) {
    ++calls;
    throw std::runtime_error("mine");
  });
  port.generate(request(3), net::stream_sink());
  port.generate(request(3), [](const stream_event& event) {
    if (event.end) throw 5;
  });
  EXPECT_EQ(beside.get_future().get().reason, finish_reason::length);
  expect_idle(*company);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(company->status().ready);
  EXPECT_FALSE(company->failure());
}

TEST_F(Embedding, ARepliesCallbackThatThrowsEndsNobody) {
  const auto company = started(options());
  net::engine_port& port = *company->port();
  const auto thrower = [](const auto&) { throw std::runtime_error("mine"); };
  for (int i = 0; i < 20; ++i) {
    port.describe(1, thrower);
    port.reset_prefix_cache([](bool) { throw std::runtime_error("mine"); });
    port.tokenize({text_prompt{"x"}, false}, thrower);
    port.detokenize({1}, thrower);
    company->describe(thrower);
  }
  EXPECT_EQ(end_of(port, request(3)).reason, finish_reason::length);
  EXPECT_FALSE(company->failure());
  const std::string text = port.metrics_text();
  EXPECT_EQ(text.find("troupe_actor_restarts_total{actor=\"scheduler\"} 1"), std::string::npos);
}

TEST_F(Embedding, RequestsThatAreNoneAreRefusedByTheirEnd) {
  const auto company = started(options());
  net::engine_port& port = *company->port();
  for (const std::int32_t n : {0, -1, max_choices + 1, std::numeric_limits<std::int32_t>::max()}) {
    auto wrong = request(3);
    wrong->n = n;
    std::vector<finished> ends;
    port.generate_choices(wrong,
                          [&](std::int32_t, const stream_event& event) { ends.push_back(*event.end); });
    ASSERT_EQ(ends.size(), 1U) << n;
    EXPECT_EQ(ends[0].failure->code, error_code::invalid_argument);
    EXPECT_EQ(ends[0].failure->param, "n");
  }
  EXPECT_EQ(end_of(port, nullptr).failure->code, error_code::invalid_argument);
  auto several = request(3);
  several->n = 3;
  EXPECT_EQ(end_of(port, several).tokens.completion_tokens, 3);  // generate() has one answer
}

TEST_F(Embedding, APortIsThereAsLongAsItsCompany) {
  const auto company = started(options());
  net::engine_port& port = *company->port();
  std::atomic<bool> over = false;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      while (!over) {
        company->port()->model();
        port.token_text(1);
        port.metrics_text();
        end_of(port, request(2));
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  company->stop();
  over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(end_of(port, request(2)).failure->code, error_code::unavailable);
}

TEST_F(Embedding, ACompanyThatHasStoppedSaysSo) {
  const auto company = started(options());
  EXPECT_TRUE(company->status().ready);
  company->stop();
  EXPECT_FALSE(company->status().live);
  EXPECT_FALSE(company->status().takes_requests());
  const auto waited = company->wait_ready();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, error_code::unavailable);
}

TEST_F(Embedding, TimesThatNoClockTellsAreLongOnes) {
  company_options endless = options();
  endless.request_timeout = endless.queue_timeout = endless.step_deadline = std::chrono::nanoseconds::max();
  const auto company = started(std::move(endless));
  auto wanted = request(3);
  wanted->timeout = std::chrono::nanoseconds::max();
  EXPECT_EQ(end_of(*company->port(), wanted).reason, finish_reason::length);
  EXPECT_TRUE(company->status().live);
}

// Its main() did not look, and would do once more what it does in the process that has started this one.
TEST_F(Embedding, AProgramThatWasStartedToRunAModelStartsNoCompany) {
  company_options isolated = options();
  isolated.engine.isolation.emplace();
  ::setenv(child_process::parent_variable, std::to_string(::getppid()).c_str(), 1);
  const auto refused = company::start(std::move(isolated));
  const auto within = company::start(options());
  ::unsetenv(child_process::parent_variable);
  for (const auto* each : {&refused, &within}) {
    ASSERT_FALSE(*each);
    EXPECT_EQ(each->error().code, error_code::unsupported);
    EXPECT_NE(each->error().message.find("run_if_runner_process()"), std::string::npos);
  }
  EXPECT_TRUE(company::start(options()));
}

TEST_F(Embedding, ThePortMayBeKeptAndUsedWhenTheCompanyIsGone) {
  std::shared_ptr<net::engine_port> kept;
  {
    const auto company = started(options());
    kept = company->port();
    EXPECT_EQ(end_of(*kept, request(3)).reason, finish_reason::length);
  }
  EXPECT_EQ(end_of(*kept, request(3)).failure->code, error_code::unavailable);
  EXPECT_EQ(end_of(*kept, nullptr).failure->message, "there is no request");
  int ends = 0;
  auto three = request(3);
  three->n = 3;
  kept->generate_choices(three, [&](std::int32_t, const stream_event& event) {
    ends += event.end ? 1 : 0;
    throw std::runtime_error("mine");
  });
  EXPECT_EQ(ends, 3);
  kept->tokenize({text_prompt{"x"}, false}, [](const auto&) { throw 5; });
  kept->abort(7);
  EXPECT_FALSE(kept->status().takes_requests());
}

// How long a process lives is its parent's affair.
TEST_F(Embedding, NoChildOfTheProgramsOwnIsTouched) {
  std::string program = "/bin/sleep", time = "1000";
  const std::array<char*, 3> words{program.data(), time.data(), nullptr};
  pid_t own = 0;
  ASSERT_EQ(::posix_spawn(&own, program.c_str(), nullptr, nullptr, words.data(), environ), 0);
  company_options isolated = options();
  isolated.engine.isolation = runner_program{runner_program_path(), {"runner", "any"}};
  {
    const auto first = started(isolated), second = started(isolated);
    first->stop();
    const auto calm = request(1);
    calm->prompt = token_prompt{{10, 11}};  // some others are faults to this runner
    EXPECT_EQ(end_of(*second->port(), calm).reason, finish_reason::length);
    EXPECT_EQ(metrics::exposition(second->port()->metrics_text()).sum("troupe_actor_restarts_total"), 0.0);
  }
  EXPECT_EQ(::waitpid(own, nullptr, WNOHANG), 0) << "it runs on";
  ::kill(own, SIGKILL);
  EXPECT_EQ(::waitpid(own, nullptr, 0), own);
}

TEST_F(Embedding, ADrainWhoseGraceIsOverIsADrain) {
  const auto company = started(options());
  company->drain(std::chrono::seconds(-2));
  EXPECT_EQ(company->requests_cut(), 0U);
  EXPECT_FALSE(company->status().takes_requests());
  EXPECT_EQ(end_of(*company->port(), request(3)).failure->code, error_code::unavailable);
}

}  // namespace
}  // namespace troupe::test
