// Follows a request from its first byte to its end, which it tells the observers.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "actors/net/telemetry/request_observer.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/stream.hpp"
#include "runtime/telemetry/request_report.hpp"

namespace troupe::net {

// Of a request that the engine has. Hears all of its events; its report is told when it goes. An answer of
// whose end it has not heard was aborted. `observers` must outlive it.
class request_tracker {
 public:
  // `begun`: what is known by now; its wishes must be.
  request_tracker(const request_observers& observers, request_report begun);
  ~request_tracker();
  request_tracker(const request_tracker&) = delete;
  request_tracker& operator=(const request_tracker&) = delete;

  // Of the answer at `index`, which must be below the number of choices.
  void add(std::size_t index, const stream_event& event);
  // Nobody waits for its answers any more: it ends now, and was aborted, whatever the engine tells from now
  // on. Where that had got by now, and what it has computed, is heard still.
  void give_up();
  std::size_t choices() const { return answers_.size(); }
  // Of the answer at `index`, by now. Whoever ends it in the place of a part that is gone does not know them.
  const usage& tokens(std::size_t index) const { return answers_[index].tokens; }
  bool all_ended() const;

 private:
  void add_end(const finished& end);
  void add_times(const request_times& of);
  // The times of answers whose ends do not tell them, as far as they were seen here.
  void add_seen_times();
  // Leaves out what came after the end.
  void cut_times();

  struct answer {
    usage tokens = {};
    finish_reason reason = finish_reason::abort;
    bool ended = false;
    bool has_times = false;  // its end told them
  };

  const request_observers& observers_;
  request_report report_;
  std::vector<answer> answers_;
  std::optional<steady_time> first_token_;  // when it was seen here
  std::optional<steady_time> last_token_;
};

request_wishes wishes_of(const generation_request& request, const openai::answer_options& options);

// A request has ended: now, where the report does not say when.
void tell_ended(const request_observers& observers, request_report report) noexcept;

}  // namespace troupe::net
