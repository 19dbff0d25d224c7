#include "runtime/grammar/compile_queue.hpp"

#include <algorithm>
#include <utility>

#include "runtime/grammar/compile_spec.hpp"

namespace troupe::grammar {

grammar_limits quick_limits(grammar_limits limits) {
  limits.max_compile_steps = std::max<std::uint64_t>(limits.max_compile_steps / 128, 1);
  return limits;
}

std::optional<compile_queue::compiled> compile_queue::ask(request_id id, const grammar_spec_ptr& spec,
                                                          steady_time now, const std::string& tenant) {
  const spec_key key(spec);
  grammar_cache::lookup found = cache_.find(key, words_, now);
  if (found.known) return std::move(found.known);
  job_ptr entry;
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    entry = known->second;
    if (std::ranges::find(entry->tenants, tenant) == entry->tenants.end()) {
      entry->tenants.push_back(tenant);
      if (entry != at(entry->lane).current) enter(at(entry->lane), entry, tenant);
    }
  } else {
    entry = std::make_shared<job>(job{.spec = key, .tenants = {tenant}});
    by_key_.emplace(key, entry);
    enter(source_bytes(*spec) <= max_quick_bytes ? compile_lane::quick : compile_lane::patient, entry);
  }
  entry->who.push_back(id);
  waiting_.insert_or_assign(id, std::move(entry));
  return std::nullopt;
}

void compile_queue::enter(compile_lane lane, const job_ptr& entry) {
  entry->lane = lane;
  for (const std::string& tenant : entry->tenants) enter(at(lane), entry, tenant);
}

void compile_queue::enter(lane_jobs& lane, const job_ptr& entry, const std::string& tenant) {
  auto place = std::ranges::find(lane.tenants, tenant, &tenant_jobs::tenant);
  if (place == lane.tenants.end()) place = lane.tenants.insert(place, {tenant, {}});
  place->waiting.push_back(entry);
}

void compile_queue::leave(lane_jobs& lane, const job_ptr& entry) {
  for (tenant_jobs& each : lane.tenants) std::erase(each.waiting, entry);
  std::erase_if(lane.tenants, [](const tenant_jobs& each) { return each.waiting.empty(); });
}

void compile_queue::forget(request_id id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const job_ptr entry = std::move(found->second);
  waiting_.erase(found);
  std::erase(entry->who, id);
  lane_jobs& lane = at(entry->lane);
  if (!entry->who.empty() || entry == lane.current) return;
  leave(lane, entry);
  by_key_.erase(entry->spec);
  cache_.abandon(entry->spec, words_);
}

grammar_spec_ptr compile_queue::next(compile_lane lane) {
  lane_jobs& jobs = at(lane);
  if (jobs.current || jobs.tenants.empty()) return nullptr;
  tenant_jobs first = std::move(jobs.tenants.front());
  jobs.tenants.pop_front();
  jobs.current = first.waiting.front();
  jobs.tenants.push_back(std::move(first));  // behind the others, whose turn is next
  leave(jobs, jobs.current);
  return jobs.current->spec.pointer();
}

std::vector<request_id> compile_queue::done(compile_lane lane, const compiled& outcome, steady_time now) {
  const job_ptr ended = std::exchange(at(lane).current, nullptr);
  if (!ended) return {};
  const bool is_open = lane == compile_lane::quick && ran_out_of_steps(outcome);
  if (is_open && !ended->who.empty()) {
    enter(compile_lane::patient, ended);
    return {};
  }
  by_key_.erase(ended->spec);
  // A fault of ours says nothing about the grammar: the next request has it compiled anew.
  if (is_open || (!outcome && outcome.error().code == error_code::internal))
    cache_.abandon(ended->spec, words_);
  else
    cache_.put(ended->spec, words_, outcome, now);
  for (const request_id id : ended->who) waiting_.erase(id);
  return std::move(ended->who);
}

}  // namespace troupe::grammar
