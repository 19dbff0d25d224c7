// From options to a company whose actors are there.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "actors/company_metrics.hpp"
#include "actors/company_state.hpp"
#include "actors/start/load_engine.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "actors/time_of_day.hpp"
#include "runtime/isolation/child_process.hpp"
#include "runtime/openai/tokenizer_info.hpp"
#include "runtime/supervision/thread_room.hpp"
#include "runtime/tokenizer/end_tokens.hpp"

namespace troupe {
namespace {

bool is_child_of_a_company() {
  const char* const parent = std::getenv(child_process::parent_variable);
  return parent != nullptr && parent == std::to_string(::getppid());
}

// The sizes of its steps are those that the engine is opened for.
scheduler_limits scheduling_of(const company_options& options) {
  scheduler_limits limits = options.scheduling;
  limits.max_num_seqs = options.engine.max_num_seqs;
  limits.max_num_batched_tokens = options.engine.max_num_batched_tokens;
  return limits;
}

company_limits limits_at_start(const company_options& options) {
  return {.scheduling = scheduling_of(options),
          .request_timeout = options.request_timeout,
          .queue_timeout = options.queue_timeout,
          .step_deadline = options.step_deadline,
          .connections = {}};
}

result<void> check(const company_options& options) {
  if (options.tokenizer_workers < 1 || options.tokenizer_workers > 64)
    return fail(error_code::invalid_argument, "tokenizer_workers must be between 1 and 64",
                "tokenizer_workers");
  if (options.actor_threads < 1 || options.actor_threads > 64)
    return fail(error_code::invalid_argument, "actor_threads must be between 1 and 64", "actor_threads");
  if (options.grammars.mask_threads > 64)
    return fail(error_code::invalid_argument, "grammar_threads must be at most 64", "grammar_threads");
  if (options.drafts && (options.drafts->config.num_speculative_tokens < 1 ||
                         options.drafts->config.num_speculative_tokens > most_draft_tokens))
    return fail(error_code::invalid_argument,
                fmt::format("num_speculative_tokens must be between 1 and {}", most_draft_tokens),
                "num_speculative_tokens");
  if (options.max_logprobs < 0)
    return fail(error_code::invalid_argument, "max_logprobs must be at least 0", "max_logprobs");
  if (auto checked = check_limits(limits_at_start(options)); !checked) return checked;
  if (is_child_of_a_company())
    return fail(
        error_code::unsupported,
        "this process was started to run a model for another one, and would start a company of its own: its "
        "main() must call run_if_runner_process() first, or host_executors()");
  return {};
}

result<scheduler_limits> limits_of(const company_options& options, const loaded_engine& engine) {
  scheduler_limits limits = scheduling_of(options);
  limits.max_model_len = engine.max_model_len;
  limits.end_tokens = end_tokens(*engine.vocabulary);
  if (const auto fits = check_prompt_fits_step(limits); !fits) return tl::unexpected<error>(fits.error());
  return limits;
}

net::model_card card_of(const company_options& options, const loaded_engine& engine) {
  net::model_card card;
  card.id = options.served_model_name.empty() ? engine.name : options.served_model_name;
  card.aliases = options.served_aliases;
  card.max_model_len = engine.max_model_len;
  card.vocab_size = engine.vocabulary->vocab_size();
  card.created = time_of_day();
  card.tokenizer_info =
      std::make_shared<const std::string>(openai::tokenizer_info_answer(*engine.vocabulary, *engine.chat));
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

// All but what the company itself keeps: its limits, its metrics, its board and its directory.
supervisor_parts parts_of(const company_options& options, loaded_engine engine) {
  supervisor_parts parts;
  parts.device = {std::move(engine.device), std::move(engine.draft)};
  parts.open_device = std::move(engine.open_device);
  parts.open_last_resort = std::move(engine.open_last_resort);
  parts.process = std::move(engine.process);
  // Of two: a thread that was started to see may be counted for a moment when it has ended.
  parts.has_thread = [] { return room_for_threads(2); };
  parts.steps = std::move(engine.steps);
  parts.warm_up = options.warm_up;
  parts.vocabulary = engine.vocabulary;
  parts.tokenizer.chat = engine.chat;
  parts.tokenizer.limits.vocab_size = engine.vocabulary->vocab_size();
  parts.tokenizer.limits.max_logprobs = options.max_logprobs;
  parts.tokenizer.max_model_len = engine.max_model_len;
  parts.tokenizer.request_timeout = options.request_timeout;
  parts.tokenizer.queue_timeout = options.queue_timeout;
  parts.tokenizer.allow_auto_truncate = options.allow_auto_truncate;
  parts.tokenizer_workers = options.tokenizer_workers;
  parts.grammars = options.grammars;
  parts.drafts = options.drafts;
  return parts;
}

}  // namespace

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

  process = engine.process;
  supervisor_parts parts = parts_of(options, std::move(engine));
  parts.limits = std::move(*limits);
  parts.metrics = metrics;
  parts.board = board;
  parts.directory = directory;
  supervisor = system->spawn(supervisor_behavior, std::move(parts));
  supervisor->attach_functor([board = board](const caf::error& reason) {
    if (reason == caf::exit_reason::user_shutdown) return;
    board->failed("supervisor");
    board->tell_failure();
  });
  const auto answer = ask<company_roster_ptr>(supervisor, msg::start_company{});
  if (!answer) return fail(error_code::internal, "the supervisor could not start the company");
  ports.system = system;
  ports.directory = directory;
  ports.numbers = std::make_shared<request_numbers>((*answer)->tokenizers.size());
  port = std::make_shared<lasting_port>(std::make_shared<actor_port>(gateway_actor(), ports));
  return {};
}

result<std::unique_ptr<company>> company::start(company_options options) {
  if (const auto checked = check(options); !checked) return tl::unexpected<error>(checked.error());
  result<loaded_engine> engine =
      options.loaded ? result<loaded_engine>(std::move(*options.loaded)) : load_engine(options.engine);
  if (!engine) return tl::unexpected<error>(engine.error());
  constexpr int threads_beside_workers = 8;  // of CAF's own, and of the actors that have one each
  if (const auto room = room_for_threads(options.actor_threads + threads_beside_workers); !room)
    return tl::unexpected<error>(room.error());
  std::unique_ptr<company> started(new company(std::make_unique<state>()));
  started->state_->open_system(options);
  if (auto hired = started->state_->hire(options, std::move(*engine)); !hired)
    return tl::unexpected<error>(hired.error());
  return started;
}

}  // namespace troupe
