// What every client of a company's simulation is owed, and whether it got it: the text that its request has
// when it runs alone, and one end.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/request.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/stream.hpp"
#include "tests/actors/company_grammars_fixture.hpp"

namespace troupe::test {

// An answer computed token by token, without an engine.
struct plain_answer {
  std::vector<token_id> tokens;
  std::string text;
  finish_reason reason = finish_reason::length;
  std::optional<std::string> stop_string;
  std::optional<token_id> stop_token;
};
plain_answer answer_alone(std::vector<token_id> prompt, const sampling_params& sampling,
                          std::int32_t max_tokens);

struct stream_entry {
  std::vector<token_id> prompt;
  sampling_params sampling;
  steady_time asked{};
  std::chrono::nanoseconds timeout{0};  // its own or the company's; 0: none
  std::size_t number = 0;               // among all that were opened
  request_id first = 0;                 // the first of the answers to its prompt, itself maybe
  bool is_choice = false;               // a further one
  bool found_queue_full = false;        // or was given up by it; of the first one, for all
  bool fits = true;                     // else it is refused
  const company_grammar* grammar = nullptr;
  bool aborted = false;  // its client has left
  plain_answer expected;
  std::vector<token_id> received = {};
  std::vector<token_id> echoed = {};
  std::string text = {};
  bool ended = false;
};

struct stream_counts {
  std::uint64_t finished = 0;  // by stop or length
  std::uint64_t stop_strings = 0;
  std::uint64_t aborted = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t queue_refusals = 0;  // by queue deadlines
  std::uint64_t full_queues = 0;
  std::uint64_t failed = 0;
  std::uint64_t whole_texts = 0;  // of a grammar, by its end
  std::uint64_t hard_texts = 0;   // of one that is hard to compile
  std::uint64_t refused_grammars = 0;
  std::uint64_t hard_refusals = 0;  // by the patient compiler
  std::uint64_t cached_tokens = 0;
};

class stream_ledger {
 public:
  struct rules {
    scheduler_limits limits;
    std::chrono::nanoseconds request_timeout{0};
    std::chrono::nanoseconds queue_timeout{0};
  };
  explicit stream_ledger(rules given) : rules_(std::move(given)) {}

  // A request is sent; `index` is the answer's.
  void open(request_id id, request_id first, const std::vector<token_id>& prompt,
            const generation_request& request, std::int32_t index, steady_time now);
  void abort(request_id id) { entries_.at(id).aborted = true; }
  // `may_fail`: whose actor was killed.
  void take(const stream_event& event, const std::set<request_id>& may_fail, steady_time now);

  const stream_entry& at(request_id id) const { return entries_.at(id); }
  std::vector<request_id> open_requests() const;
  std::size_t num_open() const { return open_; }
  const stream_counts& counts() const { return counts_; }

 private:
  bool fits(const stream_entry& entry) const;
  std::int32_t most_tokens(const stream_entry& entry) const;
  void take_end(stream_entry& entry, const finished& end, bool may_fail, steady_time now);
  void take_failure(stream_entry& entry, const error& failure, bool may_fail, steady_time now);
  std::size_t most_beside(const stream_entry& entry) const;
  void check_answer(const stream_entry& entry, const finished& end);
  void check_text(const stream_entry& entry);

  rules rules_;
  std::map<request_id, stream_entry> entries_;
  std::size_t open_ = 0;
  std::vector<std::size_t> open_at_;  // how many were open with each that was opened
  stream_counts counts_;
};

}  // namespace troupe::test
