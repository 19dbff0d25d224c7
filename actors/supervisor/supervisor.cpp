#include "actors/supervisor/supervisor.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/grammars/grammar_compiler.hpp"
#include "actors/messaging/measured.hpp"
#include "actors/runner/model_runner.hpp"
#include "actors/scheduler/scheduler.hpp"

namespace troupe {
namespace {

// How long a message may be missed that none comes after.
constexpr std::chrono::seconds stock_taking{1};

// What whoever has ended says of that, where it does.
std::string words_of(const caf::error& reason) {
  const caf::message& context = reason.context();
  return context.match_elements<std::string>() ? context.get_as<std::string>(0) : to_string(reason);
}

}  // namespace

void supervisor_state::prepare(supervisor_parts parts) {
  parts_ = std::move(parts);
  layout_ = parts_.device.target->layout();
  parts_.limits.num_blocks = layout_.num_blocks;
  parts_.limits.block_size = layout_.block_size;
  roster_.num_blocks = layout_.num_blocks;
  if (parts_.drafts) {
    parts_.limits.disable_drafts_by_batch_size = parts_.drafts->config.disable_by_batch_size;
    parts_.limits.adaptive_drafts = parts_.drafts->config.adaptive;
    spdlog::info("drafts: {}", to_json(parts_.drafts->config));
  }
  limits_at_start_ = parts_.limits;
  backoff_ = restart_backoff(parts_.pauses);
  vocabulary_ = std::make_shared<grammar::lazy_token_trie>(parts_.vocabulary);
  const std::int32_t tokenizers = parts_.tokenizer_workers + 1;
  roster_.tokenizers.resize(static_cast<std::size_t>(tokenizers));
  tree_ = supervision_tree(supervision_of(tokenizers, parts_.drafts.has_value()));
  add_roles();
  self_->attach_functor([watched = watched_] {
    for (const caf::actor_addr& each : *watched) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
  });
  self_->set_down_handler([this](caf::down_msg& message) { on_down(message.source, message.reason); });
}

company_roster_ptr supervisor_state::start() {
  if (introduced_) return introduced_;
  for (const std::string& role : tree_.roles()) {
    roles_.at(role).start();
  }
  introduce();
  if (parts_.process) look_after_device();
  take_stock();
  return introduced_;
}

void supervisor_state::take_stock() {
  std::optional<std::string> silent = silent_member();
  if (silent && silent != silent_) spdlog::error("{} does not answer", *silent);
  silent_ = silent;
  asked_at_ = self_->clock().now();
  parts_.board->looked_after(parts_.board_clock(), std::move(silent));
  out_.know(roster_.kv_cache);  // which hears nothing else from here, nor do the compilers
  out_.know(roster_.compilers.quick);
  out_.know(roster_.compilers.patient);
  out_.take_stock(true);
  self_->delayed_send(supervisor_actor(self_), stock_taking, msg::take_stock{});
}

// The runner's steps have deadlines of their own. Of what was asked before the last time: where the
// supervisor itself was late, nobody else is to blame.
std::optional<std::string> supervisor_state::silent_member() const {
  for (const auto& [address, role] : members_) {
    const std::string& kind = roles_.at(role).kind;
    if (!asked_at_ || kind == model_runner_state::name) continue;
    const auto pulse = parts_.metrics->pulse(address.id());
    const auto answered = pulse ? pulse->last_answer() : std::nullopt;
    const std::chrono::nanoseconds patience = kind == grammar_compiler_state::name
                                                  ? parts_.board->patience_for_compiling()
                                                  : parts_.board->patience_for_answers();
    if (answered && *asked_at_ - *answered > patience) return role;
  }
  return std::nullopt;
}

// Whatever it was, twice is once.
void supervisor_state::send_again() {
  introduce();
  tell_limits(roster_.scheduler);
  for (const auto& [step, took] : step_costs_) tell_step_cost(roster_.scheduler, step, took);
  if (awaits_blame_) ask_for_blame();
}

void supervisor_state::introduce() {
  introduced_ = std::make_shared<const company_roster>(roster_);
  parts_.directory->publish(introduced_);
  const auto tell = [this](const auto& actor) {
    if (actor) out_.send(actor, msg::meet{}, introduced_);
  };
  tell(roster_.structured_output);
  tell(roster_.drafter);
  tell(roster_.scheduler);
  for (const tokenizer_actor& tokenizer : roster_.tokenizers) tell(tokenizer);
  tell(roster_.text_worker);
  for (const gateway_actor& gateway : gateways()) tell(gateway);
}

std::vector<gateway_actor> supervisor_state::gateways() const {
  std::vector<gateway_actor> all;
  if (roster_.gateway) all.push_back(roster_.gateway);
  for (const gateway_actor& gateway : roster_.socket_gateways)
    if (gateway) all.push_back(gateway);
  return all;
}

company_roster_ptr supervisor_state::add_gateway(const msg::add_gateway& named, const gateway_actor& gateway,
                                                 const gateway_starter& start) {
  const std::string& role = named.name;
  if (roles_.contains(role)) return introduced_;
  const std::size_t place = roster_.socket_gateways.size();
  roster_.socket_gateways.push_back(gateway);
  roles_[role] = {.kind = named.kind,
                  .start =
                      [this, place, role, start] {
                        gateway_actor& now = roster_.socket_gateways[place];
                        now = start(introduced_);
                        if (now) watch(now, role);
                        tell_limits(now);
                      },
                  .vacate = [this, place] { roster_.socket_gateways[place] = nullptr; }};
  tree_.add("gateways", role);
  watch(gateway, role);
  tell_limits(gateway);
  introduce();
  return introduced_;
}

void supervisor_state::on_down(const caf::actor_addr& source, const caf::error& reason) {
  watched_->erase(source);
  const auto found = members_.find(source);
  // Who goes on without an actor, or is computed again by the next one, is not lost with it.
  if (found != members_.end() && roles_.at(found->second).holds_requests) lost_in_drain();
  has_drained(source.id());
  if (stopping_.erase(source) != 0) return start_stopped();
  if (found == members_.end()) return;
  const std::string role = found->second;
  members_.erase(found);
  spdlog::error("actor {} has ended: {}", role, words_of(reason));
  roles_.at(role).vacate();
  if (failed_) return introduce();
  if (role == model_runner_state::name) return on_runner_down(reason);
  restart(role, false);
}

void supervisor_state::restart(const std::string& role, bool is_excused) {
  if (failed_) return;
  const supervision_tree::verdict verdict = tree_.ended(role, self_->clock().now(), is_excused);
  if (verdict.gives_up) {
    const bool goes_on = role == model_runner_state::name && turn_to_last_resort();
    return goes_on ? restart(role, true) : fail(role);
  }
  if (verdict.is_left_out) {
    spdlog::error("actor {} has ended too often: the service goes on without it", role);
    left_out_.insert(role);
    return introduce();
  }
  for (auto each = verdict.restarts.rbegin(); each != verdict.restarts.rend(); ++each) stop(*each);
  to_start_.insert(verdict.restarts.begin(), verdict.restarts.end());
  start_stopped();
}

void supervisor_state::start_stopped() {
  if (!stopping_.empty() || to_start_.empty() || failed_) return;
  const bool is_scheduler_new = to_start_.contains(scheduler_state::name);
  for (const std::string& each : tree_.roles()) {
    if (to_start_.erase(each) == 0) continue;
    left_out_.erase(each);
    spdlog::warn("actor {} is started again", each);
    parts_.metrics->actor(roles_.at(each).kind).add_restart();
    ++restarts_[each];
    roles_.at(each).start();
  }
  introduce();
  // The one before may not have heard the question.
  if (is_scheduler_new && awaits_blame_) replace_runner({});
}

void supervisor_state::stop(const std::string& role) {
  const auto found = std::ranges::find(members_, role, [](const auto& member) { return member.second; });
  if (found == members_.end()) return;
  stopping_.insert(found->first);
  caf::anon_send_exit(found->first, caf::exit_reason::user_shutdown);
  members_.erase(found);
  roles_.at(role).vacate();
}

void supervisor_state::fail(const std::string& role, const std::string& why) {
  failed_ = true;
  lost_in_drain();
  spdlog::critical("actor {} cannot be started again, since it {}: the company ends", role, why);
  introduce();
  parts_.board->failed(role, why);
  for (const tokenizer_actor& tokenizer : roster_.tokenizers)
    if (tokenizer) out_.send(tokenizer, msg::company_failed{});
  // Last, since nobody knows how long those take who want to hear of it.
  parts_.board->tell_failure();
}

supervisor_actor::behavior_type supervisor_behavior(supervisor_actor::stateful_pointer<supervisor_state> self,
                                                    supervisor_parts parts) {
  const auto metrics = parts.metrics;
  self->state.prepare(std::move(parts));
  return measured(
      self, metrics, [self](const msg::start_company&) { return self->state.start(); },
      [self](const msg::continue_warm_up&) { self->state.continue_warm_up(); },
      [self](const msg::look_after_device&) { self->state.look_after_device(); },
      [self](const msg::start_next_runner&) { self->state.start_next_runner(); },
      [self](const msg::take_stock& stock) {
        if (stock.number == 0) self->state.take_stock();  // the others are not its own
      },
      [self](const msg::send_again&) { self->state.send_again(); },
      [self](const msg::add_gateway& message, const gateway_actor& gateway, const gateway_starter& start) {
        return self->state.add_gateway(message, gateway, start);
      },
      [self](const msg::drain_company& message) { return self->state.drain(message.grace); },
      [self](const msg::reload&, const company_limits_ptr& limits, const reload_call_ptr& call) {
        self->state.reload(limits, *call);
      },
      [self](const msg::describe_company&, const company_call_ptr& call) { self->state.report(*call); },
      [self](const msg::end_grace&) { self->state.end_grace(); },
      [self](const msg::abort_all&) { self->state.abort_all(); },
      [self](const msg::abandon_connections&) { self->state.abandon_connections(); });
}

}  // namespace troupe
