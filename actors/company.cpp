#include "actors/company.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/actor_port.hpp"
#include "actors/company_metrics.hpp"
#include "actors/http_gateway.hpp"
#include "actors/interfaces.hpp"
#include "actors/lost_part.hpp"
#include "actors/net/closed_port.hpp"
#include "actors/net/kept_listener.hpp"
#include "actors/refusal_counter.hpp"
#include "actors/supervisor.hpp"
#include "actors/tcp_gateway.hpp"

namespace troupe {

struct company::state {
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> own_system;  // none where the actors live in the embedding program's
  caf::actor_system* system = nullptr;
  std::shared_ptr<company_board> board;
  supervisor_actor supervisor;
  std::shared_ptr<company_directory> directory = std::make_shared<company_directory>();
  const std::shared_ptr<open_clients> clients = std::make_shared<open_clients>();
  port_parts ports;
  std::shared_ptr<metrics::engine_metrics>
      metrics;  // the ports', for those who are there after stop() as well
  std::unique_ptr<net::engine_port> port;
  std::vector<std::shared_ptr<net::kept_listener>> listeners;  // of the gateways
  std::shared_ptr<net::trace_exporter> traces;                 // none where they go nowhere
  std::optional<device_process> process;                       // of the runner; nothing: this one
  bool stopped = false;
  std::mutex stopping;  // the supervisor's handle may be asked for by a thread that is to interrupt

  void open_system(const company_options& options);
  result<void> hire(const company_options& options, loaded_engine engine);
  // Spawns a gateway with a server of its own and waits until that listens.
  template <class Behavior, class Options>
  result<std::uint16_t> serve(Behavior behavior, Options options, const char* name);
  // Sends a request and waits for its answer; nothing where the receiver is gone. Sends it again where there
  // is none for long, since a message may be lost: only what may be asked twice.
  template <class Answer, class Handle, class... Message>
  std::optional<Answer> ask(const Handle& actor, Message... message) const {
    return ask_until<Answer>(steady_time::max(), actor, message...);
  }
  // The same, and nothing where there is no answer by then.
  template <class Answer, class Handle, class... Message>
  std::optional<Answer> ask_until(steady_time end, const Handle& actor, Message... message) const;
  // Ends the supervisor, and everybody else with it; where it does not react, each of them.
  void end_everybody(caf::scoped_actor& self) const;
  // Once the supervisor is gone nobody else ends a device that hangs.
  void end_runner() const;
};

namespace {

// How long an answer of an actor may take before it is asked for again.
constexpr std::chrono::seconds answer_time{5};

result<void> check(const company_options& options) {
  if (options.tokenizer_workers < 1 || options.tokenizer_workers > 64)
    return fail(error_code::invalid_argument, "tokenizer_workers must be between 1 and 64",
                "tokenizer_workers");
  if (options.actor_threads < 1 || options.actor_threads > 64)
    return fail(error_code::invalid_argument, "actor_threads must be between 1 and 64", "actor_threads");
  return {};
}

result<scheduler_limits> limits_of(const company_options& options, const loaded_engine& engine) {
  scheduler_limits limits = options.scheduling;
  limits.max_num_seqs = options.engine.max_num_seqs;
  limits.max_num_batched_tokens = options.engine.max_num_batched_tokens;
  limits.max_model_len = engine.max_model_len;
  limits.end_tokens = end_tokens(*engine.vocabulary);
  if (const auto fits = check_prompt_fits_step(limits); !fits) return tl::unexpected<error>(fits.error());
  return limits;
}

net::model_card card_of(const company_options& options, const loaded_engine& engine) {
  net::model_card card;
  card.id = options.served_model_name.empty() ? engine.name : options.served_model_name;
  card.max_model_len = engine.max_model_len;
  card.vocab_size = engine.vocabulary->vocab_size();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  card.created = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return card;
}

std::shared_ptr<net::trace_exporter> open_traces(const company_options& options,
                                                 const std::shared_ptr<metrics::engine_metrics>& metrics) {
  if (!options.traces) return nullptr;
  return std::make_shared<net::trace_exporter>(
      *options.traces, [metrics](net::span_fate fate, std::uint64_t spans) {
        switch (fate) {
          case net::span_fate::exported:
            return metrics->add_exported_spans(spans);
          case net::span_fate::queue_full:
            return metrics->add_dropped_spans(metrics::span_loss::queue_full, spans);
          case net::span_fate::rejected:
            return metrics->add_dropped_spans(metrics::span_loss::rejected, spans);
          case net::span_fate::unreachable:
            return metrics->add_dropped_spans(metrics::span_loss::unreachable, spans);
        }
      });
}

// Calls `what` with each of them, but for the supervisor.
template <class Function>
void for_everybody(const company_roster& roster, Function what) {
  const auto call = [&what](const auto& actor) {
    if (actor) what(actor);
  };
  call(roster.kv_cache);
  call(roster.model_runner);
  call(roster.compilers.quick);
  call(roster.compilers.patient);
  call(roster.structured_output);
  call(roster.drafter);
  call(roster.scheduler);
  for (const tokenizer_actor& tokenizer : roster.tokenizers) call(tokenizer);
  call(roster.text_worker);
  call(roster.gateway);
  for (const gateway_actor& gateway : roster.socket_gateways) call(gateway);
}

}  // namespace

template <class Answer, class Handle, class... Message>
std::optional<Answer> company::state::ask_until(steady_time end, const Handle& actor,
                                                Message... message) const {
  caf::scoped_actor self{*system};
  std::optional<Answer> answer;
  for (bool is_late = true; is_late;) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return std::nullopt;
    is_late = false;
    self->request(actor, std::min<steady_time::duration>(answer_time, left), message...)
        .receive([&](const Answer& given) { answer = given; },
                 [&](const caf::error& why) { is_late = why == caf::sec::request_timeout; });
  }
  return answer;
}

template <class Behavior, class Options>
result<std::uint16_t> company::state::serve(Behavior behavior, Options options, const char* name) {
  if (stopped) return fail(error_code::unavailable, "the company has stopped");
  if (traces) options.observers.push_back(traces);
  options.observers.push_back(std::make_shared<refusal_counter>(ports.metrics));
  if (!options.listen.kept) options.listen.kept = std::make_shared<net::kept_listener>();
  auto started = std::make_shared<std::promise<result<std::uint16_t>>>();
  auto listening = started->get_future();
  const gateway_actor gateway =
      system->spawn(behavior, directory->current()->tokenizers, ports, options, std::move(started));
  result<std::uint16_t> port_number = listening.get();
  if (!port_number) return port_number;
  listeners.push_back(options.listen.kept);
  // The next one listens on the same socket. Whether it can, its own end tells.
  Options same_port = options;
  same_port.listen.port = *port_number;
  const gateway_starter start = [system = system, behavior, ports = ports,
                                 same_port](const company_roster_ptr& now) -> gateway_actor {
    return system->spawn(behavior, now->tokenizers, ports, same_port,
                         std::make_shared<std::promise<result<std::uint16_t>>>());
  };
  ask<company_roster_ptr>(supervisor, msg::add_gateway{fmt::format("{} {}", name, *port_number), name},
                          gateway, start);
  return port_number;
}

void company::state::end_everybody(caf::scoped_actor& self) const {
  constexpr std::chrono::seconds to_react{1};
  self->monitor(supervisor);
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  self->receive([](const caf::down_msg&) {},
                caf::after(to_react) >>
                    [this] {
                      spdlog::error("the supervisor does not end");
                      for_everybody(*directory->current(), [](const auto& actor) {
                        caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
                      });
                    });
}

void company::state::end_runner() const {
  constexpr std::chrono::milliseconds for_last_step{300};
  if (!process) return;
  if (const model_runner_actor runner = directory->current()->model_runner) {
    caf::scoped_actor self{*system};
    self->monitor(runner);
    self->receive([](const caf::down_msg&) {},
                  caf::after(for_last_step) >>
                      [this] {
                        if (!board->runs_step())
                          return spdlog::info("the runner computes for no request: its process is ended");
                        spdlog::warn("a step does not end: its process is killed (threads: {})",
                                     process->describe_threads());
                      });
  }
  process->kill();
}

void company::state::open_system(const company_options& options) {
  system = options.system;
  if (system != nullptr) return;
  config = std::make_unique<caf::actor_system_config>();
  configure(*config, options.actor_policy, static_cast<std::size_t>(options.actor_threads));
  own_system = std::make_unique<caf::actor_system>(*config);
  system = own_system.get();
}

result<void> company::state::hire(const company_options& options, loaded_engine engine) {
  result<scheduler_limits> limits = limits_of(options, engine);
  if (!limits) return tl::unexpected<error>(limits.error());
  board = std::make_shared<company_board>(options.step_deadline);
  ports.card = card_of(options, engine);
  ports.clients = clients;
  ports.board = board;
  metrics = options.metrics ? options.metrics : make_company_metrics(ports.card.id, options.drafts);
  describe_engine(*metrics, options, engine);
  ports.metrics = metrics;
  ports.vocabulary = engine.vocabulary;
  traces = open_traces(options, ports.metrics);

  supervisor_parts parts;
  parts.limits = std::move(*limits);
  parts.tokenizer.vocabulary = engine.vocabulary;
  parts.tokenizer.chat = engine.chat;
  parts.tokenizer.limits.vocab_size = ports.card.vocab_size;
  parts.tokenizer.limits.max_logprobs = options.max_logprobs;
  parts.tokenizer.max_model_len = engine.max_model_len;
  parts.tokenizer.request_timeout = options.request_timeout;
  parts.tokenizer.queue_timeout = options.queue_timeout;
  parts.tokenizer.allow_auto_truncate = options.allow_auto_truncate;
  parts.tokenizer.metrics = ports.metrics;
  parts.tokenizer_workers = options.tokenizer_workers;
  parts.grammars = options.grammars;
  parts.grammar_cache = options.grammar_cache;
  parts.grammar_jump_forward = options.grammar_jump_forward;
  parts.grammar_threads = options.grammar_threads;
  parts.grammar_mask_steps_per_step = options.grammar_mask_steps_per_step;
  parts.drafts = options.drafts;
  parts.device = {std::move(engine.device), std::move(engine.draft)};
  parts.open_device = std::move(engine.open_device);
  parts.open_last_resort = std::move(engine.open_last_resort);
  process = engine.process;
  parts.process = std::move(engine.process);
  parts.board = board;
  parts.buckets = std::move(engine.buckets);
  parts.pad_to_buckets = engine.pad_to_buckets;
  parts.padded = engine.padded;
  parts.warm_up = options.warm_up;
  parts.tune = engine.tune;
  parts.tuned = std::move(engine.tuned);
  parts.tuning_file = std::move(engine.tuning_file);
  parts.tuned_for = std::move(engine.tuned_for);
  parts.directory = directory;
  supervisor = system->spawn(supervisor_behavior, std::move(parts));
  supervisor->attach_functor([board = board](const caf::error& reason) {
    if (reason != caf::exit_reason::user_shutdown) board->failed("supervisor");
  });
  const auto answer = ask<company_roster_ptr>(supervisor, msg::start_company{});
  if (!answer) return fail(error_code::internal, "the supervisor could not start the company");
  ports.system = system;
  ports.directory = directory;
  ports.numbers = std::make_shared<request_numbers>((*answer)->tokenizers.size());
  port = std::make_unique<actor_port>(gateway_actor(), ports);
  return {};
}

company::company(std::unique_ptr<state> parts) : state_(std::move(parts)) {}

company::~company() { stop(); }

result<std::unique_ptr<company>> company::start(company_options options) {
  if (const auto checked = check(options); !checked) return tl::unexpected<error>(checked.error());
  result<loaded_engine> engine =
      options.loaded ? result<loaded_engine>(std::move(*options.loaded)) : load_engine(options.engine);
  if (!engine) return tl::unexpected<error>(engine.error());
  std::unique_ptr<company> started(new company(std::make_unique<state>()));
  started->state_->open_system(options);
  if (auto hired = started->state_->hire(options, std::move(*engine)); !hired)
    return tl::unexpected<error>(hired.error());
  return started;
}

result<void> company::wait_ready(const progress_callback& progress) {
  std::size_t seen = 0;
  while (true) {
    const company_board::news news = state_->board->wait_news(seen);
    for (const warm_up_progress& item : news.progress)
      if (progress) progress(item);
    seen += news.progress.size();
    if (news.failure) return fail(error_code::unavailable, fmt::format("{} has ended", *news.failure));
    if (news.ready) return {};
    if (news.interrupted) return fail(error_code::unavailable, "interrupted");
  }
}

void company::interrupt_wait() { state_->board->interrupt(); }

void company::interrupt() {
  interrupt_wait();
  const std::lock_guard lock(state_->stopping);
  if (state_->supervisor) caf::anon_send(state_->supervisor, msg::abort_all{});
}

result<std::uint16_t> company::serve_http(const net::http_options& options) {
  return state_->serve(http_gateway_behavior, options, http_gateway_state::name);
}

result<std::uint16_t> company::serve_tcp(const net::tcp_options& options) {
  return state_->serve(tcp_gateway_behavior, options, tcp_gateway_state::name);
}

net::engine_port& company::port() { return *state_->port; }

net::engine_status company::status() const { return state_->board->status(std::chrono::steady_clock::now()); }

std::optional<std::string> company::failure() const { return state_->board->failure(); }

void company::on_failure(std::function<void(const std::string& actor)> callback) {
  state_->board->on_failure(std::move(callback));
}

void company::reload(company_limits limits, std::function<void(result<void>)> reply) {
  const auto call = std::make_shared<reload_call>(
      std::move(reply), fail(error_code::unavailable, "there is no supervisor any more"));
  const auto wanted = std::make_shared<const company_limits>(std::move(limits));
  const std::lock_guard lock(state_->stopping);
  if (state_->supervisor)
    caf::anon_send(state_->supervisor, msg::reload{}, company_limits_ptr(wanted), reload_call_ptr(call));
}

void company::note_reload(bool taken) { state_->metrics->set_last_reload(taken); }

void company::describe(std::function<void(result<net::company_report>)> reply) const {
  const auto call = std::make_shared<company_call>(
      std::move(reply), fail(error_code::unavailable, "there is no supervisor any more"));
  const std::lock_guard lock(state_->stopping);
  if (state_->supervisor) caf::anon_send(state_->supervisor, msg::describe_company{}, call);
}

result<company::counts> company::count() const {
  if (state_->stopped) return fail(error_code::unavailable, "the company has stopped");
  counts all;
  const company_roster_ptr roster = state_->directory->current();
  const auto requests = state_->ask<msg::request_counts>(roster->scheduler, msg::count{});
  const auto blocks = state_->ask<msg::kv_cache_counts>(roster->kv_cache, msg::count{});
  if (!requests || !blocks) return fail(error_code::unavailable, "an actor has ended");
  all.running = requests->running;
  all.waiting = requests->waiting;
  all.blocks = blocks->blocks;
  all.free_blocks = blocks->free_blocks;
  all.blocks_consistent = blocks->consistent;
  for (const tokenizer_actor& tokenizer : roster->tokenizers)
    if (const auto streams = state_->ask<msg::tokenizer_counts>(tokenizer, msg::count{}))
      all.tokenizer_streams += streams->streams;
  std::vector<gateway_actor> gateways = roster->socket_gateways;
  gateways.push_back(roster->gateway);
  for (const gateway_actor& gateway : gateways)
    if (const auto streams = state_->ask<msg::gateway_counts>(gateway, msg::count{}))
      all.client_streams += streams->streams;
  return all;
}

drain_outcome company::drain(std::chrono::nanoseconds grace) {
  constexpr std::chrono::seconds for_the_answer{1};
  constexpr std::chrono::milliseconds for_last_ends{500};  // of those that were aborted, on their way
  if (state_->stopped) return drain_outcome::complete;
  constexpr std::chrono::hours longest_grace{24 * 365};
  const steady_time end = std::chrono::steady_clock::now() +
                          std::min<std::chrono::nanoseconds>(grace, longest_grace) + for_the_answer;
  const auto drained =
      state_->ask_until<msg::company_drained>(end, state_->supervisor, msg::drain_company{grace});
  if (!drained) spdlog::error("the supervisor does not answer: requests are cut off");
  if (drained && drained->outcome == drain_outcome::complete) return drained->outcome;
  if (drained) state_->clients->wait_for_none(for_last_ends);
  end_streams();
  return drained ? drained->outcome : drain_outcome::requests_cut;
}

void company::end_streams() { state_->clients->end_all(shutting_down()); }

void company::stop() {
  if (std::exchange(state_->stopped, true) || !state_->supervisor) return;
  {
    caf::scoped_actor self{*state_->system};
    state_->board->begin_stop();
    for (const auto& listener : state_->listeners) listener->close();
    state_->end_everybody(self);
    state_->end_runner();
    self->wait_for(state_->supervisor);
    for_everybody(*state_->directory->current(), [&self](const auto& actor) { self->wait_for(actor); });
  }
  state_->port = std::make_unique<net::closed_port>(
      [] { return net::engine_status{.live = false, .ready = false, .reason = "the company has stopped"}; });
  if (state_->traces) state_->traces->close();
  state_->ports = {};
  state_->directory = std::make_shared<company_directory>();
  {
    const std::lock_guard lock(state_->stopping);
    state_->supervisor = nullptr;
  }
  state_->own_system.reset();
}

}  // namespace troupe
