// What the supervisor tells operators of the tree and of whoever is in it.
#include <algorithm>
#include <chrono>

#include "actors/runner/model_runner.hpp"
#include "actors/supervisor/supervisor.hpp"

namespace troupe {
namespace {

const char* word_of(restart_strategy strategy) {
  return strategy == restart_strategy::one_for_one ? "one_for_one" : "rest_for_one";
}

void add_signs_of_life(const metrics::engine_metrics& metrics, caf::actor_id who, net::actor_report& report) {
  const auto pulse = metrics.pulse(who);
  if (!pulse) return;
  report.is_busy = pulse->is_busy();
  report.mailbox = pulse->waiting();
  report.handled = pulse->handled();
  if (const auto last = pulse->last_message())
    report.last_message = std::max(std::chrono::steady_clock::now() - *last, std::chrono::nanoseconds(0));
}

}  // namespace

void supervisor_state::report(company_call& call) const {
  net::company_report report;
  const net::engine_status status = parts_.board->status(self_->clock().now());
  report.status = status.live && status.ready ? "ready" : status.reason;
  report.supervisor.state = net::actor_state::running;
  add_signs_of_life(*parts_.metrics, self_->id(), report.supervisor);
  report.tree = report_of(tree_.describe(self_->clock().now()));
  call.reply(std::move(report));
}

net::tree_report supervisor_state::report_of(const supervision_tree::outline& part) const {
  net::tree_report report;
  report.name = part.name;
  if (!part.is_group) {
    report.actor = report_of(part.name);
    return report;
  }
  report.group = net::group_report{word_of(part.strategy), part.intensity.most, part.intensity.period,
                                   part.recent_restarts};
  for (const supervision_tree::outline& member : part.members) report.members.push_back(report_of(member));
  return report;
}

// Who opens its device is there, but fills no role yet.
net::actor_report supervisor_state::report_of(const std::string& role) const {
  net::actor_report report;
  if (const auto found = restarts_.find(role); found != restarts_.end()) report.restarts = found->second;
  const auto member = std::ranges::find(members_, role, [](const auto& each) { return each.second; });
  if (member == members_.end()) {
    const bool is_to_start = to_start_.contains(role) || (role == model_runner_state::name && is_pausing_);
    if (is_to_start && !failed_) report.state = net::actor_state::starting;
    return report;
  }
  const bool is_opening = role == model_runner_state::name && !roster_.model_runner;
  report.state = is_opening ? net::actor_state::starting : net::actor_state::running;
  add_signs_of_life(*parts_.metrics, member->first.id(), report);
  return report;
}

}  // namespace troupe
