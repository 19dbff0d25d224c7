// The whole company on its own threads: a small model, the CPU executor, real sockets.
#include "actors/company.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "actors/clients/http_gateway.hpp"
#include "actors/clients/socket_gateway.hpp"
#include "actors/interfaces.hpp"
#include "actors/net/options.hpp"
#include "actors/start/load_engine.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/actors/real_company_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

// One client that any thread may feed.
class waiting_client {
 public:
  net::stream_sink sink() {
    return [this](const stream_event& event) {
      const std::lock_guard lock(mutex_);
      late_ += end_ ? 1 : 0;
      tokens_.insert(tokens_.end(), event.tokens.begin(), event.tokens.end());
      if (event.end) end_ = event.end;
      changed_.notify_all();
    };
  }
  finished wait_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return end_.has_value(); });
    return *end_;
  }
  void wait_first() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !tokens_.empty() || end_; });
  }
  std::vector<token_id> tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }
  int late() {
    const std::lock_guard lock(mutex_);
    return late_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<token_id> tokens_;
  std::optional<finished> end_;
  int late_ = 0;
};

class CompanyOnThreads : public testing::Test {
 protected:
  company_options options() const { return small_company(file_.path()); }
  std::unique_ptr<company> started() {
    auto company = company::start(options());
    EXPECT_TRUE(company) << company.error().message;
    EXPECT_TRUE((*company)->wait_ready());
    return std::move(*company);
  }
  static generation_request_ptr request(int which, std::int32_t max_tokens) {
    auto made = std::make_shared<generation_request>();
    made->prompt = token_prompt{std::vector<token_id>(static_cast<std::size_t>(3 + which), 10 + which)};
    made->sampling.max_tokens = max_tokens;
    made->sampling.ignore_eos = true;
    made->sampling.temperature = which % 2 == 0 ? 0.0F : 1.0F;
    made->sampling.seed = static_cast<std::uint64_t>(which);
    return made;
  }

  temporary_file file_{tiny_model()};
};

TEST_F(CompanyOnThreads, HoldsRequestsToGrammarsAloneAndInACrowdToTheSameTokens) {
  constexpr int count = 9;
  const auto nth = [](int i) {
    static const std::vector<grammar_spec_ptr> specs{
        std::make_shared<const grammar_spec>(
            grammar_spec{.kind = grammar_kind::regex, .text = "[a-z]{3,9}[0-9]"}),
        std::make_shared<const grammar_spec>(
            grammar_spec{.kind = grammar_kind::json_object, .json = {.max_white_space = 0}}),
        nullptr};
    auto made = std::make_shared<generation_request>(*request(i, 20));
    made->sampling.grammar = specs[static_cast<std::size_t>(i) % specs.size()];
    return made;
  };
  const auto company = started();
  std::vector<std::vector<token_id>> alone;
  std::vector<finish_reason> reasons;
  for (int i = 0; i < count; ++i) {
    waiting_client client;
    company->port()->generate(nth(i), client.sink());
    reasons.push_back(client.wait_end().reason);
    alone.push_back(client.tokens());
  }
  EXPECT_EQ(reasons[0], finish_reason::stop) << "a grammar's end ends, whatever ignore_eos says";
  std::vector<waiting_client> crowd(count);
  for (int i = 0; i < count; ++i)
    company->port()->generate(nth(i), crowd[static_cast<std::size_t>(i)].sink());
  for (int i = 0; i < count; ++i) {
    waiting_client& client = crowd[static_cast<std::size_t>(i)];
    EXPECT_EQ(client.wait_end().reason, reasons[static_cast<std::size_t>(i)]);
    EXPECT_EQ(client.tokens(), alone[static_cast<std::size_t>(i)]) << i;
    EXPECT_EQ(client.late(), 0);
  }
  expect_idle(*company);
}

TEST_F(CompanyOnThreads, WarmsUpWithProgressAndThenIsReady) {
  auto company = company::start(options());
  ASSERT_TRUE(company);
  std::vector<std::string> items;
  ASSERT_TRUE((*company)->wait_ready([&](const warm_up_progress& item) {
    items.push_back(item.what);
    EXPECT_EQ(item.done, static_cast<std::int32_t>(items.size()));
    EXPECT_EQ(item.total, 2);
  }));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0], "Prompt batch:1 query:64 blocks:0");
  EXPECT_EQ(items[1], "Decode batch:8 query:1 blocks:16");
  EXPECT_TRUE((*company)->status().ready);
  EXPECT_EQ((*company)->port()->model().id, "tiny");
  expect_idle(**company);
}

TEST_F(CompanyOnThreads, GivesEveryRequestOfACrowdTheTokensItGetsAlone) {
  const std::unique_ptr<company> company = started();
  constexpr int crowd = 48;
  std::vector<std::vector<token_id>> alone;
  for (int i = 0; i < crowd; ++i) {
    waiting_client client;
    company->port()->generate(request(i, 20), client.sink());
    EXPECT_EQ(client.wait_end().reason, finish_reason::length);
    alone.push_back(client.tokens());
  }
  std::vector<waiting_client> clients(crowd);
  std::vector<std::thread> senders;
  for (int t = 0; t < 4; ++t)
    senders.emplace_back([&, t] {
      for (int i = t; i < crowd; i += 4) {
        waiting_client& client = clients[static_cast<std::size_t>(i)];
        const request_id id = company->port()->generate(request(i, i % 5 == 0 ? 400 : 20), client.sink());
        if (i % 5 != 0) continue;
        client.wait_first();
        company->port()->abort(id);
      }
    });
  for (std::thread& sender : senders) sender.join();
  for (int i = 0; i < crowd; ++i) {
    waiting_client& client = clients[static_cast<std::size_t>(i)];
    const finish_reason reason = client.wait_end().reason;
    const std::vector<token_id> tokens = client.tokens();
    // Whoever is to be aborted may have been quicker.
    if (i % 5 != 0) {
      EXPECT_EQ(reason, finish_reason::length);
    }
    const std::vector<token_id>& expected = alone[static_cast<std::size_t>(i)];
    for (std::size_t t = 0; t < std::min(tokens.size(), expected.size()); ++t)
      EXPECT_EQ(tokens[t], expected[t]);
    EXPECT_EQ(client.late(), 0);
  }
  expect_idle(*company);
}

TEST_F(CompanyOnThreads, ServesHttpAndTcpAndLeavesNoThreadAndNoDescriptor) {
  const std::size_t threads_before = threads();
  const std::size_t descriptors_before = descriptors();
  {
    const std::unique_ptr<company> company = started();
    const auto http = company->serve_http({});
    const auto tcp = company->serve_tcp({});
    ASSERT_TRUE(http && tcp);
    EXPECT_NE(talk(*http, get("/readyz")).find(" 200 "), std::string::npos);
    const std::string answer = talk(
        *http,
        post("/v1/completions", R"({"model":"tiny","prompt":[10,11],"max_tokens":5,"ignore_eos":true})"));
    EXPECT_NE(answer.find(" 200 "), std::string::npos) << answer;
    EXPECT_NE(answer.find("\"completion_tokens\":5"), std::string::npos) << answer;
    EXPECT_NE(talk(*http, get("/metrics")).find("vllm:generation_tokens_total"), std::string::npos);
    // The port is taken: an error, and the company goes on.
    net::http_options taken;
    taken.listen.port = *http;
    const auto refused = company->serve_http(taken);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::io_error);
    EXPECT_TRUE(company->status().live);
    expect_idle(*company);
    EXPECT_EQ(company->drain(std::chrono::seconds(5)), drain_outcome::complete);
    company->stop();
    company->stop();
  }
  // The last thread of CAF's may still be on its way out; so may one of the test before have been.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (threads() > threads_before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_LE(threads(), threads_before);
  EXPECT_EQ(descriptors(), descriptors_before);
}

TEST_F(CompanyOnThreads, EndsOpenStreamsOnceWhenItStopsWithoutADrain) {
  std::vector<waiting_client> clients(12);
  {
    const std::unique_ptr<company> company = started();
    for (std::size_t i = 0; i < clients.size(); ++i)
      company->port()->generate(request(static_cast<int>(i), 400), clients[i].sink());
    clients[0].wait_first();
  }
  for (waiting_client& client : clients) {
    const finished end = client.wait_end();
    EXPECT_TRUE(end.reason == finish_reason::error || end.reason == finish_reason::length);
    EXPECT_EQ(client.late(), 0);
  }
}

TEST_F(CompanyOnThreads, ADrainAbortsWhatItsGraceDoesNotSee) {
  const std::unique_ptr<company> company = started();
  std::vector<waiting_client> clients(30);
  for (std::size_t i = 0; i < clients.size(); ++i)
    company->port()->generate(request(static_cast<int>(i), 450), clients[i].sink());
  clients[0].wait_first();
  EXPECT_EQ(company->drain(std::chrono::nanoseconds(1)), drain_outcome::requests_cut);
  for (waiting_client& client : clients) {
    const finished end = client.wait_end();
    const bool is_refused = end.failure && end.failure->code == error_code::unavailable;
    const bool has_begun = &client == &clients[0];
    EXPECT_TRUE(end.reason == finish_reason::abort || end.reason == finish_reason::length ||
                (is_refused && !has_begun));
  }
  EXPECT_FALSE(company->status().ready);
  waiting_client late;
  company->port()->generate(request(1, 5), late.sink());
  EXPECT_EQ(late.wait_end().failure->code, error_code::unavailable);
  expect_idle(*company);
}

TEST_F(CompanyOnThreads, TunesOnceAndGivesTheSameTokensWithAndWithoutIt) {
  const temporary_file place("");
  struct outcome {
    std::ptrdiff_t tuned = 0;  // row counts
    std::vector<token_id> tokens;
  };
  const auto outcome_of = [&](warm_up_mode mode, bool tune) {
    company_options with = options();
    with.warm_up = mode;
    with.engine.tune = tune;
    with.engine.tuning_file = place.path();
    const auto company = company::start(with);
    outcome out;
    EXPECT_TRUE((*company)->wait_ready([&](const warm_up_progress& item) {
      if (item.what.starts_with("Tuning")) ++out.tuned;
    }));
    waiting_client client;
    (*company)->port()->generate(request(1, 20), client.sink());
    client.wait_end();
    out.tokens = client.tokens();
    return out;
  };
  const outcome skipped = outcome_of(warm_up_mode::skip, true);
  const outcome untuned = outcome_of(warm_up_mode::full, false);
  const outcome first = outcome_of(warm_up_mode::full, true);
  const outcome second = outcome_of(warm_up_mode::full, true);
  EXPECT_EQ(skipped.tuned, 0);
  EXPECT_EQ(untuned.tuned, 0);
  EXPECT_GT(first.tuned, 1);
  EXPECT_EQ(second.tuned, 0) << "the first start's file is read";
  EXPECT_EQ(skipped.tokens.size(), 20U);
  for (const outcome& each : {untuned, first, second}) EXPECT_EQ(each.tokens, skipped.tokens);
}

TEST_F(CompanyOnThreads, WorksInsideAForeignActorSystem) {
  caf::actor_system_config config;
  configure(config, "stealing", 2);
  caf::actor_system system{config};
  company_options within = options();
  within.system = &system;
  {
    auto company = company::start(within);
    ASSERT_TRUE(company);
    ASSERT_TRUE((*company)->wait_ready());
    waiting_client client;
    (*company)->port()->generate(request(1, 10), client.sink());
    EXPECT_EQ(client.wait_end().reason, finish_reason::length);
  }
  system.await_all_actors_done();  // hangs where one is left
}

TEST_F(CompanyOnThreads, InterruptEndsTheWaitForReadiness) {
  auto company = company::start(options());
  ASSERT_TRUE(company);
  (*company)->interrupt();
  // Either it was ready already, or the wait is over: never for ever.
  const auto ready = (*company)->wait_ready();
  if (!ready) {
    EXPECT_EQ(ready.error().code, error_code::unavailable);
  }
}

constexpr std::chrono::seconds patience{60};

// Holds the text worker up with work that nobody waits for once the company ends, until it is let go.
class held_text_worker {
 public:
  explicit held_text_worker(company& company) {
    company.port()->tokenize({text_prompt{"x"}, false}, [this](const auto&) {
      begun_.set_value();
      let_go_.get_future().wait_for(patience);
    });
    begun_.get_future().wait();
  }
  void let_go() { let_go_.set_value(); }

 private:
  std::promise<void> begun_, let_go_;
};

TEST_F(CompanyOnThreads, TellsAtItsStopThatOnlyWorkIsLeftThatNobodyWaitsFor) {
  const std::unique_ptr<company> company = started();
  held_text_worker held(*company);
  bool told = false;
  company->stop([&] {
    told = true;
    held.let_go();
  });
  EXPECT_TRUE(told);
}

// A step of it takes a second.
class slow_device final : public forwarding_executor {
 public:
  slow_device(std::promise<void>& begun, std::atomic<bool>& is_done)
      : forwarding_executor(make_null_executor({16, 64, 1}, [](const sample_row&) { return token_id{10}; })),
        begun_(begun),
        is_done_(is_done) {}
  void forward(const device_batch& batch) override {
    if (!std::exchange(has_begun_, true)) begun_.set_value();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    is_done_ = true;
    forwarding_executor::forward(batch);
  }

 private:
  std::promise<void>& begun_;
  std::atomic<bool>& is_done_;
  bool has_begun_ = false;
};

TEST_F(CompanyOnThreads, IsNotAbandonedAtItsStopWhileSomebodyElseIsHeldUp) {
  std::promise<void> begun;
  std::atomic<bool> is_step_done = false;
  company_options with = options();
  auto engine = load_engine(with.engine);
  ASSERT_TRUE(engine);
  engine->device = std::make_shared<slow_device>(begun, is_step_done);
  with.loaded = std::move(*engine);
  with.warm_up = warm_up_mode::skip;
  const auto company = company::start(std::move(with));
  ASSERT_TRUE(company && (*company)->wait_ready());
  held_text_worker held(**company);
  (*company)->port()->generate(request(1, 5), [](const auto&) {});
  begun.get_future().wait();
  (*company)->stop([&] {
    EXPECT_TRUE(is_step_done);
    held.let_go();
  });
  EXPECT_TRUE(is_step_done);
}

TEST_F(CompanyOnThreads, AnswersEveryCallAfterItsStop) {
  const std::unique_ptr<company> company = started();
  company->stop();
  const auto counts = company->count();
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, error_code::unavailable);
  EXPECT_EQ(company->serve_http({}).error().code, error_code::unavailable);
  net::engine_port& port = *company->port();
  waiting_client client;
  port.abort(port.generate(request(1, 5), client.sink()));
  EXPECT_EQ(client.wait_end().failure->code, error_code::unavailable);
  bool tokenized = true;
  port.tokenize({text_prompt{"x"}, false}, [&](const auto& reply) { tokenized = reply.has_value(); });
  EXPECT_FALSE(tokenized);
  bool detokenized = true;
  port.detokenize({1}, [&](const auto& reply) { detokenized = reply.has_value(); });
  EXPECT_FALSE(detokenized);
  EXPECT_FALSE(port.status().live);
  EXPECT_EQ(port.token_text(1), "");
  EXPECT_EQ(company->drain(std::chrono::seconds(1)), drain_outcome::complete);
}

struct no_options {};
struct failing_server {
  static result<failing_server> start(no_options, net::engine_port&) {
    throw std::runtime_error("no threads");
  }
  std::uint16_t port() const { return 0; }
  void drain(const std::function<void()>&) {}
  void close(std::chrono::milliseconds, const error&) {}
  void change(const net::connection_limits&) {}
};
class failing_gateway_state : public socket_gateway_state<failing_server, no_options> {
 public:
  using socket_gateway_state::socket_gateway_state;
};

TEST(SocketGateway, TellsWhyItsServerCouldNotStart) {
  caf::actor_system_config config;
  configure(config, "stealing", 1);
  caf::actor_system system{config};
  using promise = std::shared_ptr<std::promise<result<std::uint16_t>>>;
  const promise started = std::make_shared<promise::element_type>();
  auto listening = started->get_future();
  // CAF 0.17 binds a reference to nothing where an actor takes no argument, which UBSan reports.
  system.spawn(
      [](gateway_actor::stateful_pointer<failing_gateway_state> self, const promise& port) {
        self->state.start({});
        self->state.listen({}, {}, *port);
        return gateway_handlers<failing_gateway_state>(
            self, std::make_shared<metrics::engine_metrics>(metrics::metrics_options{}));
      },
      started);
  const result<std::uint16_t> port = listening.get();
  ASSERT_FALSE(port);
  EXPECT_NE(port.error().message.find("no threads"), std::string::npos);
  system.await_all_actors_done();  // hangs where the gateway has not quit
}

TEST(SocketGateway, IsMendedOnTheSamePort) {
  company_setup setup;  // its server has a thread of its own, and the clock of that
  setup.adjust = [](supervisor_parts& parts) { parts.board_clock = std::chrono::steady_clock::now; };
  stage stage(setup);
  const auto spawn = [&stage](std::uint16_t port, const gateway_started& started) -> gateway_actor {
    net::http_options options;
    options.listen.port = port;
    return stage.system().spawn(http_gateway_behavior, stage.roster().tokenizers, stage.ports(), options,
                                started);
  };
  const auto started = std::make_shared<std::promise<result<std::uint16_t>>>();
  auto listening = started->get_future();
  const gateway_actor first = spawn(0, started);
  stage.run();
  const std::uint16_t port = listening.get().value();
  const gateway_starter again = [spawn, port](const company_roster_ptr&) {
    return spawn(port, std::make_shared<std::promise<result<std::uint16_t>>>());
  };
  caf::anon_send(stage.supervisor(), msg::add_gateway{"http_gateway", "http_gateway"}, first, again);
  stage.run();
  const std::string ask = get("/livez");
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(talk(port, ask).starts_with("HTTP/1.1 200")) << i;
    stage.kill(stage.roster().socket_gateways.front());
    stage.run();
    stage.advance(std::chrono::minutes(2));
  }
  EXPECT_TRUE(talk(port, ask).starts_with("HTTP/1.1 200"));
  stage.expect_idle();
}

TEST_F(CompanyOnThreads, RefusesOptionsThatMakeNoSense) {
  company_options odd = options();
  odd.tokenizer_workers = 0;
  EXPECT_EQ(company::start(odd).error().param, "tokenizer_workers");
  odd = options();
  odd.actor_threads = -1;
  EXPECT_EQ(company::start(odd).error().param, "actor_threads");
  odd = options();
  odd.grammars.mask_threads = 100'000;
  EXPECT_EQ(company::start(odd).error().param, "grammar_threads");
  for (const std::int32_t drafts : {-1, 0, 65}) {
    odd = options();
    odd.drafts.emplace().config.num_speculative_tokens = drafts;
    EXPECT_EQ(company::start(odd).error().param, "num_speculative_tokens");
  }
  odd = options();
  odd.max_logprobs = -1;
  EXPECT_EQ(company::start(odd).error().param, "max_logprobs");
  odd = options();
  odd.engine.max_model_len = 1 << 20;
  EXPECT_EQ(company::start(odd).error().param, "max_model_len");
  odd = options();
  odd.engine.model_path = "/nowhere.gguf";
  EXPECT_FALSE(company::start(odd));
}

TEST_F(CompanyOnThreads, RefusesAtTheStartWhatAReloadRefuses) {
  const std::pair<const char*, void (*)(company_options&)> changes[] = {
      {"max_num_seqs", [](company_options& o) { o.engine.max_num_seqs = 0; }},
      {"max_num_batched_tokens", [](company_options& o) { o.engine.max_num_batched_tokens = -1; }},
      {"max_steps_in_flight", [](company_options& o) { o.scheduling.max_steps_in_flight = 0; }},
      {"scheduling_policy", [](company_options& o) { o.scheduling.policy = scheduling_policy{99}; }},
      {"watermark", [](company_options& o) { o.scheduling.watermark = std::nan(""); }},
      {"request_timeout", [](company_options& o) { o.request_timeout = std::chrono::seconds(-1); }},
      {"queue_timeout", [](company_options& o) { o.queue_timeout = std::chrono::seconds(-1); }},
      {"step_deadline", [](company_options& o) { o.step_deadline = std::chrono::seconds(0); }},
  };
  for (const auto& [name, change] : changes) {
    company_options odd = options();
    change(odd);
    const auto started = company::start(odd);
    ASSERT_FALSE(started) << name;
    EXPECT_EQ(started.error().param, name);
  }
}

}  // namespace
}  // namespace troupe::test
