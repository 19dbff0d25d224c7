#include "runtime/grammar/specification/compile_queue.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/grammar/specification/compile_spec.hpp"

namespace troupe::grammar {

namespace {

// None of those that wait takes longer than its steps allow: some seconds each.
compile_queue::compiled too_many_wait() {
  constexpr std::int32_t seconds = 5;
  error refusal{error_code::resource_exhausted,
                "the grammars that wait to be compiled fill the memory that they may have "
                "(grammar_cache_memory); try again later"};
  refusal.retry_after = seconds;
  return tl::unexpected(std::move(refusal));
}

}  // namespace

grammar_limits quick_limits(grammar_limits limits) {
  limits.max_compile_steps = std::max<std::uint64_t>(limits.max_compile_steps / 128, 1);
  return limits;
}

bool compile_queue::job::is_wanted_by(const std::string& tenant) const {
  return std::ranges::find(who, tenant, &waiter::tenant) != who.end();
}

std::optional<compile_queue::compiled> compile_queue::ask(request_id id, const grammar_spec_ptr& spec,
                                                          steady_time now, const std::string& tenant) {
  const spec_key key(spec);
  grammar_cache::lookup found = cache_.find(key, words_, now);
  if (found.known) return std::move(found.known);
  job_ptr entry;
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    entry = known->second;
    lane_jobs& lane = at(entry->lane);
    if (entry != lane.current && !entry->is_wanted_by(tenant)) add(lane, entry, tenant);
    entry->who.push_back({id, tenant});
  } else if (cache_.awaited_bytes() > room_for_waiting() && has_more_than_its_share(tenant)) {
    cache_.abandon(key, words_);
    return too_many_wait();
  } else {
    entry = std::make_shared<job>(job{.spec = key, .who = {{id, tenant}}});
    by_key_.emplace(key, entry);
    enter(source_bytes(*spec) <= max_quick_bytes ? compile_lane::quick : compile_lane::patient, entry);
  }
  waiting_.insert_or_assign(id, std::move(entry));
  return std::nullopt;
}

void compile_queue::enter(compile_lane lane, const job_ptr& entry) {
  entry->lane = lane;
  for (const waiter& each : entry->who) add(at(lane), entry, each.tenant);
}

// Once, though several requests of the tenant's want it.
void compile_queue::add(lane_jobs& lane, const job_ptr& entry, const std::string& tenant) {
  auto place = std::ranges::find(lane.tenants, tenant, &tenant_jobs::tenant);
  if (place == lane.tenants.end()) {
    lane.tenants.push_back({.tenant = tenant, .waiting = {}});
    place = std::prev(lane.tenants.end());
  }
  if (place->waiting.empty() || place->waiting.back() != entry) place->waiting.push_back(entry);
}

void compile_queue::remove(lane_jobs& lane, const job_ptr& entry, const std::string& tenant) {
  const auto place = std::ranges::find(lane.tenants, tenant, &tenant_jobs::tenant);
  if (place == lane.tenants.end()) return;
  std::erase(place->waiting, entry);
  if (place->waiting.empty()) lane.tenants.erase(place);
}

// Of a text that several wait for each has all.
bool compile_queue::has_more_than_its_share(const std::string& tenant) const {
  std::set<std::string> tenants{tenant};
  std::size_t its = 0;
  for (const auto& [spec, entry] : by_key_) {
    for (const waiter& each : entry->who) tenants.insert(each.tenant);
    if (entry->is_wanted_by(tenant)) its += grammar_cache::entry_bytes(spec.spec());
  }
  return its > room_for_waiting() / tenants.size();
}

void compile_queue::forget(request_id id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const job_ptr entry = std::move(found->second);
  waiting_.erase(found);
  const auto who = std::ranges::find(entry->who, id, &waiter::id);
  const std::string tenant = std::move(who->tenant);
  entry->who.erase(who);
  lane_jobs& lane = at(entry->lane);
  if (entry == lane.current) return;
  if (!entry->is_wanted_by(tenant)) remove(lane, entry, tenant);
  if (!entry->who.empty()) return;
  by_key_.erase(entry->spec);
  cache_.abandon(entry->spec, words_);
}

grammar_spec_ptr compile_queue::next(compile_lane lane) {
  lane_jobs& jobs = at(lane);
  if (jobs.current || jobs.tenants.empty()) return nullptr;
  if (jobs.tenants.front().tenant == jobs.last)
    std::rotate(jobs.tenants.begin(), std::next(jobs.tenants.begin()), jobs.tenants.end());
  jobs.last = jobs.tenants.front().tenant;
  jobs.current = jobs.tenants.front().waiting.front();
  for (const waiter& each : jobs.current->who) remove(jobs, jobs.current, each.tenant);
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
  std::vector<request_id> served;
  for (const waiter& each : ended->who) {
    waiting_.erase(each.id);
    served.push_back(each.id);
  }
  return served;
}

}  // namespace troupe::grammar
