#include "metrics/actor_table.hpp"

#include <algorithm>
#include <utility>

#include "metrics/catalogue.hpp"

namespace troupe::metrics {
namespace {

prometheus::MetricFamily empty_family(metric id, prometheus::MetricType type) {
  const metric_description& what = describe(id);
  return {std::string(what.name), std::string(what.help), type, {}};
}

prometheus::ClientMetric labelled(const label_list& labels, const std::string& actor) {
  prometheus::ClientMetric sample = with_labels({}, labels);
  sample.label.push_back({"actor", actor});
  return sample;
}

}  // namespace

histogram& actor_meter::message(const std::string& name) {
  return messages_.add({{"actor", actor_}, {"message", name}});
}

actor_table::actor_table(label_list labels)
    : labels_(std::move(labels)), messages_(describe(metric::actor_message_time), labels_) {}

actor_meter& actor_table::meter(const std::string& actor) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(meters_.begin(), meters_.end(), [&](const auto& each) { return each->actor() == actor; });
  if (found != meters_.end()) return **found;
  meters_.push_back(std::make_unique<actor_meter>(actor, messages_));
  return *meters_.back();
}

void actor_table::add(std::uint64_t actor, const std::shared_ptr<actor_pulse>& pulse) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pulses_, [](const auto& each) { return each.second.expired(); });
  pulses_[actor] = pulse;
}

std::shared_ptr<actor_pulse> actor_table::pulse(std::uint64_t actor) const {
  const std::lock_guard lock(mutex_);
  const auto found = pulses_.find(actor);
  return found == pulses_.end() ? nullptr : found->second.lock();
}

std::vector<prometheus::MetricFamily> actor_table::collect() const {
  prometheus::MetricFamily mailboxes =
      empty_family(metric::actor_mailbox_size, prometheus::MetricType::Gauge);
  prometheus::MetricFamily restarts = empty_family(metric::actor_restarts, prometheus::MetricType::Counter);
  const std::lock_guard lock(mutex_);
  if (meters_.empty()) return {};
  for (const auto& meter : meters_) {
    mailboxes.metric.push_back(labelled(labels_, meter->actor()));
    mailboxes.metric.back().gauge.value = static_cast<double>(meter->mailbox_size());
    restarts.metric.push_back(labelled(labels_, meter->actor()));
    restarts.metric.back().counter.value = static_cast<double>(meter->restarts());
  }
  return {std::move(mailboxes), std::move(restarts)};
}

}  // namespace troupe::metrics
