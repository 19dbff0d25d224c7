#include "runtime/scheduler/fair_queue.hpp"

#include <algorithm>
#include <queue>

namespace troupe {

std::pair<fair_queue::account&, bool> fair_queue::open_account(const std::string& tenant) {
  const auto [found, is_new] = accounts_.try_emplace(tenant);
  if (is_new) found->second.place = ++places_;
  return {found->second, is_new};
}

void fair_queue::add(sequence& who) {
  const auto [tenant, is_new] = open_account(who.details->tenant);
  // Quanta of rounds in which nothing waited are not saved up; debt stays.
  if (tenant.waiting.empty() && (is_new || round_of(tenant, tenant.cost) < round_)) {
    tenant.first_round = round_;
    tenant.cost = 0;
  }
  if (who.details->admitted_once) --tenant.running;  // it comes back after a preemption
  tenant.waiting.insert(&who);
  ++size_;
}

void fair_queue::remove(sequence& who) {
  const auto found = accounts_.find(who.details->tenant);
  if (found == accounts_.end() || found->second.waiting.erase(&who) == 0) return;
  --size_;
}

void fair_queue::admitted(const sequence& who, std::int32_t) {
  account& tenant = open_account(who.details->tenant).first;
  ++tenant.running;
  tenant.cost += cost_of(who);
  round_ = std::max(round_, round_of(tenant, tenant.cost));
}

void fair_queue::finished(const sequence& who) {
  const auto found = accounts_.find(who.details->tenant);
  if (found == accounts_.end()) return;
  account& tenant = found->second;
  if (who.running) --tenant.running;
  if (who.details->admitted_once) tenant.cost += who.num_generated();
  if (tenant.running <= 0 && tenant.waiting.empty()) accounts_.erase(found);
}

// Merges the tenants' lines by (round, place in the round).
void fair_queue::order(std::size_t most, std::vector<sequence*>& ordered) const {
  struct head {
    std::int64_t round;
    const account* tenant;
    std::set<sequence*, older>::const_iterator next;
    std::int64_t cost;  // of the tenant, `next` included
  };
  const auto later = [](const head& a, const head& b) {
    return a.round != b.round ? a.round > b.round : a.tenant->place > b.tenant->place;
  };
  std::priority_queue<head, std::vector<head>, decltype(later)> heads(later);
  const auto push = [&](const account& tenant, std::set<sequence*, older>::const_iterator next,
                        std::int64_t cost) {
    if (next == tenant.waiting.end()) return;
    cost += cost_of(**next);
    heads.push({round_of(tenant, cost), &tenant, next, cost});
  };
  for (const auto& [name, tenant] : accounts_) push(tenant, tenant.waiting.begin(), tenant.cost);
  while (!heads.empty() && ordered.size() < most) {
    const head first = heads.top();
    heads.pop();
    ordered.push_back(*first.next);
    push(*first.tenant, std::next(first.next), first.cost);
  }
}

}  // namespace troupe
