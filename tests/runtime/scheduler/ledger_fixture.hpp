// What every request of a simulation is owed, and whether it got it: the tokens that it has when it runs
// alone.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/scheduler/scheduler.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

struct ledger_entry {
  std::vector<token_id> prompt;
  std::shared_ptr<const sampling_params> sampling;
  std::optional<steady_time> deadline;
  std::optional<steady_time> queue_deadline;
  std::vector<token_id> expected;
  finish_reason expected_reason = finish_reason::length;
  std::vector<token_id> received;
  request_id first = 0;  // of the answers to its prompt
  std::int32_t priority = 0;
  bool gave_way = false;                 // to a better one, in a full queue
  std::optional<std::int32_t> kills_at;  // the step that samples this or a later token of it dies
  bool ended = false;
};

class ledger {
 public:
  static constexpr std::int32_t vocab = 50;
  // spells_forced: as grammar_sessions has it.
  ledger(const scheduler_limits& limits, tokenizer_ptr spells_forced)
      : limits_(limits), spells_forced_(std::move(spells_forced)) {}

  // Whether a request can ever run in these limits.
  bool fits(const engine_request& request) const;
  // A request was accepted.
  void open(const engine_request& request);
  // Its stream took a stop string: no event is owed any more.
  void stop(request_id id) { entries_.at(id).ended = true; }
  // The scheduler says that these have made room for a request of this priority.
  void give_way(const token_batch& ends, std::int32_t priority);
  void poison(request_id id, std::int32_t kills_at) { entries_.at(id).kills_at = kills_at; }
  void take(const token_event& event, steady_time now);
  void check_all_ended() const;

  const ledger_entry& at(request_id id) const { return entries_.at(id); }
  std::vector<request_id> open_requests() const;
  std::uint64_t num_finished() const { return finished_; }  // by stop or length

 private:
  void fill_expected(ledger_entry& entry) const;
  void check_logprobs(const ledger_entry& entry, const token_event& event, const token_details& details,
                      bool first) const;
  void check_finished(ledger_entry& entry, const finished& end, request_id id, steady_time now);

  const scheduler_limits& limits_;
  tokenizer_ptr spells_forced_;
  std::map<request_id, ledger_entry> entries_;
  std::uint64_t finished_ = 0;
};

}  // namespace troupe
