// Deficit round robin over tenants, by tokens (Shreedhar and Varghese, 1996): every tenant gets the same
// quantum of tokens a round, and its next request is admitted in the round in which its quanta cover what it
// has cost so far. A tenant that floods the queue delays itself.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/scheduler/waiting_queue.hpp"

namespace troupe {

// A request costs its tokens to compute when it is admitted first, and its output when it is over; coming
// back after a preemption costs nothing. A tenant with nothing waiting and nothing running has no account: it
// comes back without debt and without credit.
class fair_queue final : public waiting_queue {
 public:
  // Tokens, at least 1.
  explicit fair_queue(std::int32_t quantum) : quantum_(quantum) {}

  std::size_t size() const override { return size_; }
  void add(sequence& who) override;
  void remove(sequence& who) override;
  void admitted(const sequence& who, std::int32_t num_rows) override;
  void finished(const sequence& who) override;

 private:
  struct account {
    std::set<sequence*, older> waiting;
    std::int64_t running = 0;
    std::int64_t first_round = 0;  // in which its first quantum came
    std::int64_t cost = 0;         // since then
    std::uint64_t place = 0;       // in the round
  };
  // The tenant's, and whether it is new.
  std::pair<account&, bool> open_account(const std::string& tenant);
  static std::int64_t cost_of(const sequence& who) {
    return who.details->admitted_once ? 0 : who.num_tokens() - who.num_computed;
  }
  // The round in which a request is admitted that brings the tenant's cost to `cost`.
  std::int64_t round_of(const account& tenant, std::int64_t cost) const {
    return tenant.first_round + (cost + quantum_ - 1) / quantum_;
  }
  void order(std::size_t most, std::vector<sequence*>& ordered) const override;

  std::int64_t quantum_;
  std::unordered_map<std::string, account> accounts_;
  std::size_t size_ = 0;
  std::int64_t round_ = 0;  // the latest in which anybody was admitted
  std::uint64_t places_ = 0;
};

}  // namespace troupe
