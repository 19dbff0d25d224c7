// What a server's sockets ask of the engine, and how answers come back: the seam between Asio and CAF.
// This folder knows sockets and runtime/, not CAF; an actor implements the port by messages, a test by plain
// code.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/openai/tokenize.hpp"
#include "runtime/request.hpp"
#include "runtime/request_state.hpp"
#include "runtime/result.hpp"
#include "runtime/stream.hpp"

namespace troupe::net {

// One client's stream. Called from any thread, in order, never after an event with `end`; must not block, nor
// ask for the end of all. One that throws is called no more, and its request is aborted. It should hold no
// actor that waits for it alive (caf::actor_addr): who has gone away is not asked for, but aborts its
// request.
using stream_sink = std::function<void(stream_event)>;
// The same for the streams of all answers to one request: `index` tells which.
using choice_sink = std::function<void(std::int32_t index, stream_event)>;

// Why nothing is taken any more once the service has been told to end.
inline constexpr const char* draining_reason = "draining: the service is shutting down";

// Everything a gateway reports about the engine without asking an actor for it.
struct engine_status {
  bool live = true;               // steps progress, or a device that opens does
  bool ready = false;             // warmed up, not draining, no trouble with the runner
  std::string reason = {};        // why not, in words: "warming up [3/8]", "draining"
  bool waits_for_runner = false;  // not ready, yet who asks is kept until there is one
  bool is_dealt_with = false;     // not live, and who must end what hangs will: nobody else need
  std::string degraded = {};      // ready, but with less than was asked for, and why; empty: with all of it

  bool takes_requests() const { return (live && ready) || waits_for_runner; }
};

struct model_card {
  std::string id;  // the first --served-model-name
  std::int32_t max_model_len = 0;
  std::int32_t vocab_size = 0;
  std::int64_t created = 0;  // unix seconds
  // The answer of /tokenizer_info; null: there is no tokenizer yet.
  std::shared_ptr<const std::string> tokenizer_info = nullptr;
  std::vector<std::string> aliases = {};  // its other names
};

using openai::tokenize_request;
struct tokenize_reply {
  std::vector<token_id> tokens;
};

// Why nothing can be made of it (invalid_argument): there is no request, or it wants another number of
// answers than 1 to max_choices.
std::optional<error> fault_of(const generation_request_ptr& request);
// The end of a stream that was refused.
stream_event refused_stream(error why);

// All calls are safe from any thread and return at once; callbacks come on any thread, exactly once.
class engine_port {
 public:
  virtual ~engine_port() = default;
  // Opens request->n streams (1 to max_choices) of one prompt, and gives their ids by index. The only end of
  // each is an event with `end`, also for a refusal: its `failure` holds the reason. Another n, and a request
  // that is none, end so before this returns, under the id 0; all do where the company has stopped.
  virtual std::vector<request_id> generate_choices(generation_request_ptr request, choice_sink sink) = 0;
  // The same where one answer is wanted, whatever n says.
  request_id generate(generation_request_ptr request, stream_sink sink) {
    if (request && request->n != 1) {
      auto single = std::make_shared<generation_request>(*request);
      single->n = 1;
      request = std::move(single);
    }
    return generate_choices(
               std::move(request),
               [sink = std::move(sink)](std::int32_t, stream_event event) { sink(std::move(event)); })
        .front();
  }
  virtual void abort(request_id id) = 0;
  virtual void tokenize(tokenize_request request, std::function<void(result<tokenize_reply>)> reply) = 0;
  virtual void detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) = 0;
  // Where a request stands; nothing for one that is unknown or has ended.
  virtual void describe(request_id id, std::function<void(std::optional<request_state>)> reply) = 0;
  // Forgets every cached prefix. False where requests still hold blocks of them, which come free as they end.
  virtual void reset_prefix_cache(std::function<void(bool)> reply) = 0;
  virtual engine_status status() const = 0;
  virtual model_card model() const = 0;
  virtual std::string metrics_text() const = 0;           // Prometheus text format
  virtual std::string token_text(token_id id) const = 0;  // of one token; raw bytes
};

}  // namespace troupe::net
