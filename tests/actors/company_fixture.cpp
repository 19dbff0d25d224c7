#include "tests/actors/company_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "actors/company_metrics.hpp"
#include "metrics/exposition.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/generation_request.hpp"
#include "tests/support/overlapping_executor.hpp"

namespace troupe::test {
namespace {

class bytes final : public tokenizer {
 public:
  bytes() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i] = static_cast<char>(i);
  }
  std::vector<token_id> encode(std::string_view text, const encode_options&) const override {
    std::vector<token_id> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::string_view piece(token_id id) const override {
    if (id < 0 || id >= end_token) return "";
    return {&pieces_[static_cast<std::size_t>(id)], 1};
  }
  std::string decode(std::span<const token_id> ids, bool) const override {
    std::string text;
    for (const token_id id : ids) text += piece(id);
    return text;
  }
  std::int32_t vocab_size() const override { return end_token + 1; }
  bool is_special(token_id id) const override { return id == end_token; }
  bool is_end_of_generation(token_id id) const override { return id == end_token; }
  std::optional<token_id> bos() const override { return std::nullopt; }
  std::optional<token_id> eos() const override { return end_token; }
  std::optional<token_id> find(std::string_view) const override { return std::nullopt; }

 private:
  std::array<char, 256> pieces_{};
};

// The null executor, with a hook that may throw.
class scripted_executor final : public forwarding_executor {
 public:
  scripted_executor(const company_setup& setup)
      : forwarding_executor(make_null_executor({setup.block_size, setup.num_blocks, 1}, setup.script)),
        before_(setup.before_step),
        follows_input_(setup.follows_input) {}
  void forward(const device_batch& batch) override {
    before_(batch);
    forwarding_executor::forward(batch);
  }
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    forwarding_executor::sample(batch, masks, result);
    for (std::size_t i = 0; follows_input_ && i < batch.samples.size(); ++i)
      result.tokens[i].token =
          'a' + (batch.tokens[static_cast<std::size_t>(batch.samples[i].row)] - 'a' + 1) % 26;
  }

 private:
  std::function<void(const device_batch&)> before_;
  bool follows_input_;
};

}  // namespace

tokenizer_ptr byte_vocabulary() { return std::make_shared<const bytes>(); }

sampling_params greedy(std::int32_t max_tokens) {
  sampling_params sampling;
  sampling.temperature = 0.0F;
  sampling.max_tokens = max_tokens;
  return sampling;
}

stage::stage(company_setup setup)
    : system_(config_),
      coordinator_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
      board_(std::make_shared<company_board>(setup.step_deadline)) {
  supervisor_parts parts;
  parts.open_device = [setup](bool) -> result<runner_device> {
    auto device = std::make_unique<scripted_executor>(setup);
    if (!setup.overlaps) return runner_device{std::move(device), nullptr};
    return runner_device{std::make_shared<overlapping_executor>(std::move(device), *setup.overlaps,
                                                                setup.on_forward, setup.on_collect),
                         nullptr};
  };
  parts.limits.max_num_seqs = setup.max_num_seqs;
  parts.limits.max_num_batched_tokens = setup.max_num_batched_tokens;
  parts.limits.max_model_len = setup.max_model_len;
  parts.limits.max_num_queued_requests = setup.max_num_queued_requests;
  parts.limits.max_steps_in_flight = setup.max_steps_in_flight;
  parts.limits.enable_prefix_caching = setup.enable_prefix_caching;
  parts.limits.end_tokens = {end_token};
  parts.vocabulary = byte_vocabulary();
  parts.tokenizer.chat = std::make_shared<const chat_template>(chat_template::chatml());
  parts.tokenizer.limits.vocab_size = end_token + 1;
  parts.tokenizer.max_model_len = setup.max_model_len;
  parts.tokenizer.request_timeout = setup.request_timeout;
  parts.tokenizer.allow_auto_truncate = setup.allow_auto_truncate;
  parts.metrics = make_company_metrics("m", std::nullopt);
  parts.tokenizer_workers = setup.tokenizer_workers;
  parts.detach = false;
  parts.grammars.limits = setup.grammars;
  parts.steps.buckets = setup.buckets;
  parts.steps.pad_to_buckets = setup.pad_to_buckets;
  parts.warm_up = setup.warm_up;
  parts.pauses = {std::chrono::nanoseconds(0), std::chrono::nanoseconds(0)};
  parts.board = board_;
  parts.board_clock = [this] { return coordinator_.clock().now(); };
  setup.adjust(parts);
  if (!parts.device.target) parts.device = *parts.open_device(true);
  parts.directory = directory_;
  port_parts& ports = ports_;
  ports.board = board_;
  ports.metrics = parts.metrics;
  ports.vocabulary = parts.vocabulary;

  supervisor_ = system_.spawn(supervisor_behavior, std::move(parts));
  query<company_roster_ptr>(supervisor_, msg::start_company{});
  actors_at_start_ = system_.registry().running();
  ports.system = &system_;
  ports.directory = directory_;
  ports.numbers = std::make_shared<request_numbers>(roster().tokenizers.size());
  port_ = std::make_unique<actor_port>(gateway_actor(), ports);
}

stage::~stage() {
  caf::anon_send_exit(supervisor_, caf::exit_reason::user_shutdown);
  run();
}

std::shared_ptr<client> stage::ask(const std::string& text, sampling_params sampling) {
  return ask_choices(text, std::move(sampling), 1).front();
}

std::vector<std::shared_ptr<client>> stage::ask_choices(const std::string& text, sampling_params sampling,
                                                        std::int32_t n) {
  auto request = std::make_shared<generation_request>();
  request->prompt = text_prompt{text};
  request->sampling = std::move(sampling);
  request->n = n;
  std::vector<std::shared_ptr<client>> clients;
  for (std::int32_t i = 0; i < n; ++i) clients.push_back(std::make_shared<client>());
  const auto ids =
      port_->generate_choices(std::move(request), [clients](std::int32_t index, const stream_event& event) {
        client& who = *clients[static_cast<std::size_t>(index)];
        who.events_after_end += who.ends.empty() ? 0 : 1;
        who.text += event.text;
        for (const std::string& warning : event.warnings) who.warning += warning;
        who.prompt_tokens += event.prompt_tokens.size();
        who.tokens.insert(who.tokens.end(), event.tokens.begin(), event.tokens.end());
        if (event.end) who.ends.push_back(*event.end);
      });
  for (std::size_t i = 0; i < clients.size(); ++i) clients[i]->id = ids[i];
  return clients;
}

std::shared_ptr<client> stage::ask(const std::string& text, std::int32_t max_tokens) {
  return ask(text, greedy(max_tokens));
}

void stage::abort(const client& who) { port_->abort(who.id); }

// test_coordinator::run() would also fire every timer, however far in the future.
void stage::run() {
  while (coordinator_.try_run_once()) {
  }
}

std::size_t stage::run(std::size_t count) {
  std::size_t done = 0;
  while (done < count && coordinator_.try_run_once()) ++done;
  return done;
}

bool stage::run_any(std::uint64_t drawn, const caf::abstract_actor* except) {
  return run_one_of([except](const caf::abstract_actor* each) { return except == nullptr || each != except; },
                    drawn);
}

bool stage::run_one_of(const std::function<bool(const caf::abstract_actor*)>& chosen_from,
                       std::uint64_t drawn) {
  auto& jobs = coordinator_.jobs;
  const auto may_run = [&chosen_from](const caf::resumable* job) {
    return chosen_from(dynamic_cast<const caf::abstract_actor*>(job));
  };
  auto left = static_cast<std::uint64_t>(std::count_if(jobs.begin(), jobs.end(), may_run));
  if (left == 0) return false;
  left = drawn % left;
  const auto chosen =
      std::find_if(jobs.begin(), jobs.end(), [&](const auto* job) { return may_run(job) && left-- == 0; });
  std::rotate(jobs.begin(), chosen, chosen + 1);
  return coordinator_.try_run_once();
}

bool stage::lose_message_of(caf::abstract_actor* actor, bool is_answer) {
  auto& mailbox = dynamic_cast<caf::scheduled_actor&>(*actor).mailbox();
  if (mailbox.blocked()) return false;  // a look would unblock it, and nobody would wake the actor any more
  mailbox.fetch_more();
  auto& waiting = std::get<caf::scheduled_actor::normal_queue_index>(mailbox.queue().queues());
  const caf::mailbox_element* next = waiting.peek();
  if (next == nullptr || next->mid.is_response() != is_answer || next->sender == actor->ctrl()) return false;
  waiting.take_front();
  return true;
}

void stage::take_stock() {
  for (int round = 0; round < 3; ++round) {
    advance(std::chrono::seconds(1));
    run();
  }
}

void stage::advance(std::chrono::nanoseconds time) { coordinator_.advance_time(time); }

double stage::metric(const std::string& name, const std::map<std::string, std::string>& labels) {
  return metrics::exposition(port().metrics_text()).sum(name, labels).value_or(-1);
}

net::engine_status stage::status() { return board_->status(coordinator_.clock().now()); }

void stage::expect_served(std::chrono::nanoseconds settling) {
  advance(settling);
  run();
  EXPECT_TRUE(status().ready);
  EXPECT_TRUE(status().live);
  std::vector<std::shared_ptr<client>> later;
  for (int i = 0; i < 4; ++i) later.push_back(ask("hello", 5));
  run();
  for (const auto& who : later) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->text, "fghij");
  }
  expect_idle();
}

void stage::expect_idle(std::size_t own_actors) {
  run();
  EXPECT_LE(system_.registry().running(), actors_at_start_ + roster().socket_gateways.size() + own_actors);
  const auto blocks = query<msg::kv_cache_counts>(roster().kv_cache, msg::count{});
  ASSERT_TRUE(blocks) << "kv_cache does not answer";
  EXPECT_EQ(blocks->free_blocks, blocks->blocks);
  EXPECT_TRUE(blocks->consistent);
  const auto requests = query<msg::request_counts>(roster().scheduler, msg::count{});
  ASSERT_TRUE(requests) << "scheduler does not answer";
  EXPECT_EQ(requests->running, 0);
  EXPECT_EQ(requests->waiting, 0);
  const auto grammars = query<msg::structured_output_counts>(roster().structured_output, msg::count{});
  ASSERT_TRUE(grammars) << "structured_output does not answer";
  EXPECT_EQ(grammars->open, 0U);
  EXPECT_EQ(grammars->waiting, 0U);
  for (const tokenizer_actor& tokenizer : roster().tokenizers) {
    const auto streams = query<msg::tokenizer_counts>(tokenizer, msg::count{});
    ASSERT_TRUE(streams) << "tokenizer does not answer";
    EXPECT_EQ(streams->streams, 0U);
  }
  const auto streams = query<msg::gateway_counts>(roster().gateway, msg::count{});
  ASSERT_TRUE(streams) << "gateway does not answer";
  EXPECT_EQ(streams->streams, 0U);
}

void add_drafts(company_setup& setup) {
  setup.adjust = [adjust = setup.adjust](supervisor_parts& parts) {
    adjust(parts);
    parts.drafts.emplace();
  };
}

void expect_alphabet(const client& who) {
  for (std::size_t i = 1; i < who.tokens.size(); ++i)
    EXPECT_EQ((who.tokens[i] - who.tokens[i - 1] + 26) % 26, 1) << "token " << i;
}

}  // namespace troupe::test
