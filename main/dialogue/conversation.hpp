// One answer at a time from a company inside this process, written to the standard output as it comes; what
// the model thinks first goes to the standard error.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "actors/net/engine_port.hpp"
#include "runtime/json/json.hpp"

namespace troupe::cli {

// How an answer ended.
struct answer {
  std::string reasoning;
  std::string text;
  finished end;
};

class conversation {
 public:
  explicit conversation(net::engine_port& port) : port_(port) {}

  // Asks and waits for the end, printing every piece of text. An answer may be shorter than max_tokens where
  // the context leaves no more, and is aborted where the standard output takes no more. One thread at a time.
  answer ask(const json& messages, const sampling_params& sampling);
  // Ends the answer that is being written; false where there is none. Any thread.
  bool abort();

 private:
  answer ask_once(const json& messages, const sampling_params& sampling);

  net::engine_port& port_;
  std::mutex mutex_;
  std::optional<request_id> asking_;
};

}  // namespace troupe::cli
