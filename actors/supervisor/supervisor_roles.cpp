// The company's roles: in which order they start, and how each is filled.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/clients/gateway.hpp"
#include "actors/drafter/drafter.hpp"
#include "actors/drafter/model_drafter.hpp"
#include "actors/grammars/grammar_compiler.hpp"
#include "actors/grammars/structured_output.hpp"
#include "actors/kv_cache/kv_cache.hpp"
#include "actors/runner/model_runner.hpp"
#include "actors/scheduler/scheduler.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "actors/tokenizer/prompt_size.hpp"

namespace troupe {
namespace {

// Of kinds that fill several roles.
constexpr const char* text_worker = "text worker";
constexpr const char* quick_compiler = "quick grammar_compiler";
constexpr const char* patient_compiler = "patient grammar_compiler";
std::string tokenizer_of(std::int32_t shard) { return fmt::format("{} {}", tokenizer_state::name, shard); }

}  // namespace

supervised supervision_of(std::int32_t tokenizers, bool has_drafter) {
  using enum restart_strategy;
  const auto group = [](std::string name, restart_strategy strategy, restart_intensity intensity,
                        std::vector<supervised> members) {
    return supervised{std::move(name), strategy, intensity, std::move(members)};
  };
  // Few in the inner groups: what they cannot help is for the outer ones.
  constexpr restart_intensity often{5, std::chrono::minutes(1)};
  constexpr restart_intensity seldom{2, std::chrono::minutes(1)};
  std::vector<supervised> keepers{supervised::role(kv_cache_state::name),
                                  supervised::role(structured_output_state::name)};
  std::vector<supervised> texts;
  for (std::int32_t shard = 0; shard < tokenizers; ++shard)
    texts.push_back(supervised::role(tokenizer_of(shard)));
  texts.push_back(supervised::role(text_worker));
  std::vector<supervised> requests{supervised::role(scheduler_state::name),
                                   group("keepers", one_for_one, seldom, std::move(keepers))};
  if (has_drafter) {
    requests.push_back(group("drafting", one_for_one, seldom, {supervised::role(drafter_state::name)}));
    requests.back().is_dispensable = true;
  }
  return group(
      "company", one_for_one, often,
      {supervised::role(model_runner_state::name), supervised::role(quick_compiler),
       supervised::role(patient_compiler), group("requests", rest_for_one, seldom, std::move(requests)),
       group("texts", one_for_one, seldom, std::move(texts)),
       group("gateways", one_for_one, seldom, {supervised::role(gateway_state::name)})});
}

template <class Handle>
void supervisor_state::add_role(const std::string& name, const char* kind, Handle& place,
                                std::function<Handle()> spawn) {
  roles_[name] = {.kind = kind,
                  .start =
                      [this, name, &place, spawn = std::move(spawn)] {
                        place = spawn();
                        if (place) watch(place, name);
                      },
                  .vacate = [&place] { place = nullptr; }};
}

// The order is the tree's, not this one's.
void supervisor_state::add_roles() {
  const auto& metrics = parts_.metrics;
  add_model_runner();
  add_role<grammar_compiler_actor>(
      quick_compiler, grammar_compiler_state::name, roster_.compilers.quick,
      [this] { return spawn_compiler(grammar::quick_limits(parts_.grammars.limits)); });
  add_role<grammar_compiler_actor>(patient_compiler, grammar_compiler_state::name, roster_.compilers.patient,
                                   [this] { return spawn_compiler(parts_.grammars.limits); });
  add_role<scheduler_actor>(scheduler_state::name, scheduler_state::name, roster_.scheduler, [this, metrics] {
    const scheduler_actor scheduler =
        self_->spawn(scheduler_behavior, scheduler_parts{parts_.limits, parts_.board, metrics});
    for (const auto& [step, took] : step_costs_) tell_step_cost(scheduler, step, took);
    return scheduler;
  });
  add_role<kv_cache_actor>(kv_cache_state::name, kv_cache_state::name, roster_.kv_cache, [this, metrics] {
    const kv_cache_options options{layout_.num_blocks, layout_.block_size,
                                   parts_.limits.enable_prefix_caching};
    return self_->spawn(kv_cache_behavior, options, metrics);
  });
  add_role<structured_output_actor>(
      structured_output_state::name, structured_output_state::name, roster_.structured_output,
      [this, metrics] {
        return self_->spawn(
            structured_output_behavior,
            structured_output_parts{
                .grammars = parts_.grammars, .vocabulary = parts_.vocabulary, .metrics = metrics});
      });
  add_role<drafter_actor>(drafter_state::name, drafter_state::name, roster_.drafter, [this, metrics] {
    return parts_.drafts->config.method == speculative_method::draft_model
               ? self_->spawn(model_drafter_behavior, metrics)
               : self_->spawn(drafter_behavior, *parts_.drafts, metrics);
  });
  for (std::size_t shard = 0; shard < roster_.tokenizers.size(); ++shard)
    add_role<tokenizer_actor>(
        tokenizer_of(static_cast<std::int32_t>(shard)), tokenizer_state::name, roster_.tokenizers[shard],
        [this, shard] { return spawn_tokenizer(shard + 1 == roster_.tokenizers.size()); });
  add_role<tokenizer_actor>(text_worker, tokenizer_state::name, roster_.text_worker,
                            [this] { return spawn_tokenizer(true); });
  add_role<gateway_actor>(gateway_state::name, gateway_state::name, roster_.gateway, [this, metrics] {
    return self_->spawn(gateway_behavior, roster_.tokenizers, metrics);
  });
  for (const char* name : {kv_cache_state::name, drafter_state::name, text_worker})
    roles_.at(name).holds_requests = false;
}

bool supervisor_state::has_own_thread_for(const char* kind) const {
  if (!parts_.detach) return false;
  const auto room = parts_.has_thread ? parts_.has_thread() : result<void>{};
  if (!room) spdlog::warn("actor {} has no thread of its own: {}", kind, room.error().message);
  return room.has_value();
}

grammar_compiler_actor supervisor_state::spawn_compiler(const grammar::grammar_limits& limits) {
  const bool is_detached = has_own_thread_for(grammar_compiler_state::name);
  const grammar_compiler_parts compiler{vocabulary_, limits, is_detached, parts_.metrics};
  return is_detached ? self_->spawn<caf::detached>(grammar_compiler_behavior, compiler)
                     : self_->spawn(grammar_compiler_behavior, compiler);
}

tokenizer_actor supervisor_state::spawn_tokenizer(bool long_texts) {
  tokenizer_parts parts = parts_.tokenizer;
  parts.vocabulary = parts_.vocabulary;
  parts.metrics = parts_.metrics;
  parts.max_sequence_len = static_cast<std::int32_t>(
      std::min<std::int64_t>(parts.max_model_len, std::int64_t{layout_.num_blocks} * layout_.block_size));
  parts.max_prompt_bytes = largest_prompt(*parts.vocabulary, parts.max_model_len);
  const tokenizer_actor tokenizer = long_texts && has_own_thread_for(tokenizer_state::name)
                                        ? self_->spawn<caf::detached>(tokenizer_behavior, parts)
                                        : self_->spawn(tokenizer_behavior, parts);
  if (drain_.phase > drain_phase::doors) caf::anon_send(tokenizer, msg::drain{});
  return tokenizer;
}

}  // namespace troupe
