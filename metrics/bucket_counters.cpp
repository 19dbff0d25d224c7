#include "metrics/bucket_counters.hpp"

#include <cstddef>
#include <utility>

#include "metrics/catalogue.hpp"

namespace troupe::metrics {
namespace {

constexpr std::size_t roomy_number = 16;  // bytes, with what names differ in

family_lines lines_with(const label_list& labels) {
  return lines_of(describe(metric::bucket_executions), with_labels({}, labels));
}

}  // namespace

bucket_counters::bucket_counters(label_list labels)
    : labels_(std::move(labels)), of_none_(lines_with(labels_)) {}

std::atomic<std::uint64_t>& bucket_counters::of(const std::string& bucket) {
  const std::lock_guard lock(names_mutex_);
  counter*& found = by_name_[bucket];
  if (found != nullptr) return found->count;
  label_list labels = labels_;
  labels.emplace_back(describe(metric::bucket_executions).labels.front(), bucket);
  std::string start = lines_with(labels).starts.front();
  const std::lock_guard lock_list(counters_mutex_);
  found = &counters_.emplace_back(std::move(start));
  return found->count;
}

void bucket_counters::append_to(std::string& text) const {
  text += of_none_.head;
  const std::lock_guard lock(counters_mutex_);
  if (counters_.empty()) return append_sample(text, of_none_.starts.front(), 0);
  text.reserve(text.size() + counters_.size() * (counters_.front().start.size() + roomy_number));
  for (const counter& each : counters_)
    append_sample(text, each.start, each.count.load(std::memory_order_relaxed));
}

}  // namespace troupe::metrics
