// Who waits, and in which order the scheduler admits them: one class per policy behind this interface.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/scheduler/sequence.hpp"

namespace troupe {

enum class scheduling_policy {
  fcfs,      // in the order of arrival, but for long prompts that wait for others (scheduler.hpp)
  priority,  // lower numbers first, equal ones in the order of arrival; preempts running ones of higher
             // numbers; within a bound on how long that may keep anybody waiting
  lpm,       // longest cached prefix first, within a bound on how long that may keep anybody waiting
  drr,       // deficit round robin over tenants, by tokens
};
// "fcfs", "priority", "lpm", "drr"; nothing for another word.
std::optional<scheduling_policy> parse_policy(std::string_view word);

// A sequence is in the queue between add() and remove(). Preempted sequences come back by add() too: their
// tickets are older than those of all that arrived after them.
class waiting_queue {
 public:
  virtual ~waiting_queue() = default;
  virtual std::size_t size() const = 0;
  virtual void add(sequence& who) = 0;
  // Ended or admitted.
  virtual void remove(sequence& who) = 0;
  // The first `most` to be admitted, in order; fewer where fewer wait. Valid until the queue changes.
  const std::vector<sequence*>& next(std::size_t most);
  // How many would be admitted before `who`. Takes time in proportion to all that wait.
  std::size_t ahead_of(const sequence& who) const;
  // `who` has been admitted (and removed) with these rows; policies that keep accounts charge them.
  virtual void admitted(const sequence& /*who*/, std::int32_t /*num_rows*/) {}
  // `who` has ended, from the queue or from running.
  virtual void finished(const sequence& /*who*/) {}
  // The requests whose cached_prefix the policy wants to know at the next plan, appended to `ids`.
  virtual void want_prefixes(std::vector<request_id>& /*ids*/) const {}
  // Whom the queue, being full, gives up for a newcomer of this priority number: the first answer of a
  // request that has not begun. Null: nobody, the newcomer is refused.
  virtual sequence* gives_way_to(std::int32_t /*priority*/) { return nullptr; }
  // Whether `waiting` is worth more than `runs`, so much that it takes its place.
  virtual bool preempts(const sequence& /*waiting*/, const sequence& /*runs*/) const { return false; }
  // Whether `later` may be admitted before `first`, which has to wait for others' prompts.
  virtual bool may_pass(const sequence& /*later*/, const sequence& /*first*/) const { return true; }
  // Whether `runs`, in the midst of a long prompt, leaves rows of a step to `waiting`.
  virtual bool shares_with(const sequence& /*runs*/, const sequence& /*waiting*/) const { return true; }
  // Of two running sequences, whether `a` is preempted before `b` where blocks are short. `a` runs for
  // longer.
  virtual bool yields_before(const sequence& /*a*/, const sequence& /*b*/) const { return false; }

 protected:
  struct older {
    bool operator()(const sequence* a, const sequence* b) const {
      return a->details->ticket < b->details->ticket;
    }
  };
  // Appends the first `most` to be admitted to `ordered`, which is empty.
  virtual void order(std::size_t most, std::vector<sequence*>& ordered) const = 0;

 private:
  std::vector<sequence*> next_;
};

// `quantum`: tokens that drr gives each tenant a round. `patience`: how many may pass a request under
// priority (aging_queue.hpp).
std::unique_ptr<waiting_queue> make_waiting_queue(scheduling_policy policy, std::int32_t quantum,
                                                  std::int32_t patience);

}  // namespace troupe
