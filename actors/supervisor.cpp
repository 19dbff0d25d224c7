#include "actors/supervisor.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/drafter.hpp"
#include "actors/gateway.hpp"
#include "actors/grammar_compiler.hpp"
#include "actors/kv_cache.hpp"
#include "actors/measured.hpp"
#include "actors/model_drafter.hpp"
#include "actors/model_runner.hpp"
#include "actors/prompt_size.hpp"
#include "actors/scheduler.hpp"
#include "actors/structured_output.hpp"

namespace troupe {
void supervisor_state::prepare(supervisor_parts parts) {
  parts_ = std::move(parts);
  self_->set_down_handler([this](caf::down_msg& message) { on_down(message.source, message.reason); });
}

// Not a link: it would go both ways, and a killed member would take the supervisor along before it could
// report.
template <class Handle>
void supervisor_state::watch(const Handle& actor, std::string role) {
  self_->monitor(actor);
  self_->attach_functor([actor] { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); });
  spdlog::debug("actor {} started", role);
  members_.push_back({actor.address(), std::move(role)});
}

company_roster_ptr supervisor_state::start() {
  if (roster_) return roster_;
  const kv_layout layout = parts_.device->layout();
  const bool fixed_shapes = parts_.device->fixed_shapes();
  parts_.limits.num_blocks = layout.num_blocks;
  parts_.limits.block_size = layout.block_size;
  roster_ = std::make_shared<company_roster>();
  roster_->kv_cache = self_->spawn(
      kv_cache_behavior,
      kv_cache_options{layout.num_blocks, layout.block_size, parts_.limits.enable_prefix_caching},
      parts_.tokenizer.metrics);
  watch(roster_->kv_cache, "kv_cache");
  roster_->model_runner = spawn_model_runner();
  watch(roster_->model_runner, "model_runner");
  start_structured_output();
  start_drafter();
  roster_->scheduler = self_->spawn(
      scheduler_behavior,
      scheduler_parts{parts_.limits, roster_->kv_cache, roster_->model_runner, roster_->structured_output,
                      roster_->drafter, parts_.board, parts_.tokenizer.metrics});
  watch(roster_->scheduler, "scheduler");

  tokenizer_parts parts = parts_.tokenizer;
  parts.max_sequence_len = static_cast<std::int32_t>(
      std::min<std::int64_t>(parts.max_model_len, std::int64_t{layout.num_blocks} * layout.block_size));
  parts.max_prompt_bytes = largest_prompt(*parts.vocabulary, parts.max_model_len);
  parts.scheduler = roster_->scheduler;
  for (std::int32_t shard = 0; shard <= parts_.tokenizer_workers; ++shard) {
    roster_->tokenizers.push_back(spawn_tokenizer(parts, shard == parts_.tokenizer_workers));
    watch(roster_->tokenizers.back(), fmt::format("tokenizer {}", shard));
  }
  roster_->text_worker = spawn_tokenizer(parts, true);
  watch(roster_->text_worker, "text worker");
  self_->send(roster_->scheduler, msg::connect_tokenizers{}, roster_->tokenizers);

  roster_->gateway = self_->spawn(gateway_behavior, roster_->tokenizers, parts_.tokenizer.metrics);
  watch(roster_->gateway, "gateway");
  gateways_.push_back(roster_->gateway);

  start_warm_up(layout, fixed_shapes);
  return roster_;
}

model_runner_actor supervisor_state::spawn_model_runner() {
  model_runner_parts parts{std::exchange(parts_.device, nullptr),
                           parts_.draft,
                           parts_.buckets,
                           parts_.pad_to_buckets,
                           parts_.tokenizer.metrics,
                           parts_.tuning_file,
                           parts_.tuned_for};
  if (parts_.detach) return self_->spawn<caf::detached>(model_runner_behavior, std::move(parts));
  return self_->spawn(model_runner_behavior, std::move(parts));
}

grammar_compilers supervisor_state::spawn_compilers() {
  const auto vocabulary = std::make_shared<grammar::lazy_token_trie>(parts_.tokenizer.vocabulary);
  const auto spawn = [&](const grammar::grammar_limits& limits) {
    const grammar_compiler_parts compiler{vocabulary, limits, parts_.detach, parts_.tokenizer.metrics};
    return parts_.detach ? self_->spawn<caf::detached>(grammar_compiler_behavior, compiler)
                         : self_->spawn(grammar_compiler_behavior, compiler);
  };
  return {spawn(grammar::quick_limits(parts_.grammars)), spawn(parts_.grammars)};
}

void supervisor_state::start_structured_output() {
  roster_->compilers = spawn_compilers();
  watch(roster_->compilers.quick, "quick grammar_compiler");
  watch(roster_->compilers.patient, "patient grammar_compiler");
  roster_->structured_output = self_->spawn(
      structured_output_behavior,
      structured_output_parts{parts_.grammar_cache, parts_.grammars, parts_.grammar_threads,
                              parts_.tokenizer.vocabulary, parts_.grammar_jump_forward, roster_->compilers,
                              roster_->model_runner, parts_.tokenizer.metrics});
  watch(roster_->structured_output, "structured_output");
}

void supervisor_state::start_drafter() {
  if (!parts_.drafts) return;
  parts_.limits.disable_drafts_by_batch_size = parts_.drafts->config.disable_by_batch_size;
  parts_.limits.adaptive_drafts = parts_.drafts->config.adaptive;
  roster_->drafter =
      std::exchange(parts_.draft, nullptr)
          ? self_->spawn(model_drafter_behavior, roster_->model_runner, parts_.tokenizer.metrics)
          : self_->spawn(drafter_behavior, *parts_.drafts, parts_.tokenizer.metrics);
  watch(roster_->drafter, "drafter");
  spdlog::info("drafts: {}", to_json(parts_.drafts->config));
}

tokenizer_actor supervisor_state::spawn_tokenizer(const tokenizer_parts& parts, bool long_texts) {
  if (parts_.detach && long_texts) return self_->spawn<caf::detached>(tokenizer_behavior, parts);
  return self_->spawn(tokenizer_behavior, parts);
}

void supervisor_state::add_gateway(const gateway_actor& gateway, std::string role) {
  watch(gateway, std::move(role));
  gateways_.push_back(gateway);
}

void supervisor_state::on_down(const caf::actor_addr& source, const caf::error& reason) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const member& each) { return each.address == source; });
  if (found == members_.end()) return;
  const member gone = *found;
  members_.erase(found);
  std::erase_if(gateways_, [&](const gateway_actor& each) { return each.address() == source; });
  const tokenizer_pool& tokenizers = roster_->tokenizers;
  for (std::uint64_t shard = 0; shard < tokenizers.size(); ++shard)
    if (tokenizers[shard].address() == source)
      for (const gateway_actor& gateway : gateways_) self_->send(gateway, msg::tokenizer_lost{shard});
  fail(gone.role, self_->system().render(reason));
}

void supervisor_state::fail(const std::string& role, const std::string& reason) {
  spdlog::error("actor {} has ended: {}", role, reason);
  if (std::exchange(failed_, true)) return;
  parts_.board->failed(role);
  for (const tokenizer_actor& tokenizer : roster_->tokenizers) self_->send(tokenizer, msg::company_failed{});
}

caf::result<msg::company_drained> supervisor_state::drain(std::chrono::nanoseconds grace) {
  auto promise = self_->make_response_promise<msg::company_drained>();
  if (!roster_ || draining_ == drain_phase::done) {
    promise.deliver(msg::company_drained{!cut_off_});
    return promise;
  }
  drains_.push_back(promise);
  flush_time_ = std::min(grace / 4, flush_time_);
  self_->delayed_send(supervisor_actor(self_), grace - flush_time_, msg::abort_all{});
  if (draining_ == drain_phase::none) drain_tokenizers();
  return promise;
}

void supervisor_state::abort_all() {
  if (!roster_) return;
  if (draining_ == drain_phase::tokenizers) cut_off_ = true;
  self_->delayed_send(supervisor_actor(self_), flush_time_, msg::abandon_connections{});
  for (const tokenizer_actor& tokenizer : roster_->tokenizers) self_->send(tokenizer, msg::abort_all{});
}

void supervisor_state::abandon_connections() {
  if (draining_ == drain_phase::gateways) cut_off_ = true;
  for (const gateway_actor& gateway : gateways_) self_->send(gateway, msg::abandon_connections{});
}

void supervisor_state::drain_tokenizers() {
  draining_ = drain_phase::tokenizers;
  parts_.board->draining();
  undrained_ = roster_->tokenizers.size();
  for (const tokenizer_actor& tokenizer : roster_->tokenizers) ask_to_drain(tokenizer);
}

// After the tokenizers: their last words are then already in the gateways' mailboxes.
void supervisor_state::drain_gateways() {
  draining_ = drain_phase::gateways;
  undrained_ = gateways_.size() + 1;  // one more, so that an empty list ends too
  for (const gateway_actor& gateway : gateways_) ask_to_drain(gateway);
  one_drained();
}

template <class Handle>
void supervisor_state::ask_to_drain(const Handle& actor) {
  self_->request(actor, caf::infinite, msg::drain{})
      .then([this](const msg::drained&) { one_drained(); }, [this](const caf::error&) { one_drained(); });
}

void supervisor_state::one_drained() {
  if (--undrained_ > 0) return;
  if (draining_ == drain_phase::tokenizers) return drain_gateways();
  draining_ = drain_phase::done;
  for (auto& promise : std::exchange(drains_, {})) promise.deliver(msg::company_drained{!cut_off_});
}

supervisor_actor::behavior_type supervisor_behavior(supervisor_actor::stateful_pointer<supervisor_state> self,
                                                    supervisor_parts parts) {
  const auto metrics = parts.tokenizer.metrics;
  self->state.prepare(std::move(parts));
  return measured(
      self, metrics, [self](const msg::start_company&) { return self->state.start(); },
      [self](const msg::continue_warm_up&) { self->state.continue_warm_up(); },
      [self](const msg::add_gateway& message, const gateway_actor& gateway) {
        self->state.add_gateway(gateway, message.name);
      },
      [self](const msg::drain_company& message) { return self->state.drain(message.grace); },
      [self](const msg::abort_all&) { self->state.abort_all(); },
      [self](const msg::abandon_connections&) { self->state.abandon_connections(); });
}

}  // namespace troupe
