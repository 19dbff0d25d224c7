// One shard of the streams: text to tokens on the way in, tokens to text on the way out. The only one that
// ends them.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/interfaces.hpp"
#include "actors/messaging/outbox.hpp"
#include "actors/net/telemetry/limited_log.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/output/output_processor.hpp"
#include "runtime/sampling/sampler.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// What every tokenizer shares, all of it immutable or safe to share.
struct tokenizer_parts {
  tokenizer_ptr vocabulary;
  std::shared_ptr<const chat_template> chat;
  sampling_limits limits;
  std::int32_t max_model_len = 0;
  std::int32_t max_sequence_len = 0;            // the same, or what the KV cache holds where that is less
  std::size_t max_prompt_bytes = 0;             // longer ones are refused before they are encoded
  std::chrono::nanoseconds request_timeout{0};  // from arrival; 0: none
  std::chrono::nanoseconds queue_timeout{0};    // until the first step; 0: none
  bool allow_auto_truncate = false;             // else a prompt that is too long is refused
  std::shared_ptr<metrics::engine_metrics> metrics;
};

class tokenizer_state {
 public:
  static inline const char* name = "tokenizer";
  explicit tokenizer_state(tokenizer_actor::base* self) : self_(self), out_(self) {}

  void start(tokenizer_parts parts);
  void meet(const company_roster& roster);
  // Once for each answer to a prompt; the prompt is encoded once.
  void generate(const msg::generate& message, const generation_request& request,
                const gateway_actor& gateway);
  void abort(request_id id);
  void output(const msg::token_output& message, const token_batch& batch);
  void convert(text_call& call, std::int64_t asked_at);
  void company_failed();
  void abort_all();
  void reload(const company_limits& limits);
  caf::result<msg::drained> drain();
  msg::tokenizer_counts count() const { return {streams_.size()}; }
  void take_stock(const msg::take_stock& stock) {
    if (stock.is_for_all) out_.take_stock();
  }
  void send_again(const msg::send_again& lost);

 private:
  struct stream {
    gateway_actor gateway;
    steady_time arrival{};
    std::optional<steady_time> scheduled;
    std::optional<steady_time> first_token;
    std::optional<steady_time> last_token;
    std::chrono::nanoseconds grammar_wait{0};
    std::optional<std::int32_t> max_tokens;
    std::vector<std::string> warnings;  // until the first event has taken them
    bool is_prompt_cut = false;         // its beginning was left out
    request_id first = 0;               // of the request's answers
    std::int32_t n = 1;
    engine_request_ptr submitted;  // until its first step
    msg::message_number submitted_as = 0;
    bool is_aborted = false;
    bool is_cut_off = false;  // aborted by the end of the grace
    bool has_lost_gateway = false;
  };
  // A request with several answers, until the last of them has ended.
  struct open_choices {
    std::int32_t left = 0;
    std::int32_t most_tokens = 0;
    bool any_opened = false;
  };
  struct encoded_prompt {
    std::vector<token_id> tokens;
    std::optional<std::int32_t> max_tokens;  // of the answer
    std::string warning = {};                // of what was done to it
    bool is_cut = false;                     // its beginning was left out
    reasoning_start reasoning = reasoning_start::none;
    grammar_spec_ptr grammar = nullptr;  // of the answer, behind its reasoning
  };
  // The prompt of the answers that are being opened.
  struct shared_prompt {
    request_id first = 0;
    result<encoded_prompt> prompt;
  };

  result<encoded_prompt> prompt_of(const msg::generate& message, const generation_request& request);
  result<encoded_prompt> encode(const generation_request& request, std::int64_t asked_at) const;
  // Leaves out of a prompt that is too long what the answer needs the room of.
  void cut(encoded_prompt& prompt, const generation_request& request) const;
  result<std::vector<token_id>> to_tokens(const net::tokenize_request& request, std::int64_t asked_at) const;
  result<net::tokenize_reply> tokenize(const net::tokenize_request& request, std::int64_t asked_at) const;
  result<std::string> detokenize(const std::vector<token_id>& tokens) const;
  void open(const msg::generate& message, const generation_request& request, const gateway_actor& gateway,
            encoded_prompt prompt);
  std::chrono::nanoseconds timeout_of(const generation_request& request) const;  // 0: none
  void refuse(const msg::generate& message, std::int32_t n, const gateway_actor& gateway, error failure);
  void tell_aborted(request_id id, stream& of);
  // Sends each gateway its events, takes ended streams out.
  void deliver(std::uint64_t step, stream_batch events);
  void fail_unbegun(finished& end, const stream& of) const;
  bool has_begun(request_id first) const;
  void observe(const stream_event& event, stream& from);
  // What the request has been through, beside its end.
  static request_times times_of(const stream& of);
  static void tell_history(finished& end, const stream& of);
  void observe_end(const finished& end, const stream& from);
  // One of a request's `n` answers has ended; with nothing for its tokens: it was never opened.
  void choice_ended(request_id first, std::int32_t n, std::optional<std::int32_t> tokens);
  void answer_drain();

  tokenizer_actor::base* self_;
  outbox<tokenizer_actor::base> out_;
  tokenizer_parts parts_;
  scheduler_actor scheduler_;
  std::unique_ptr<output_processor> processor_;
  std::unordered_map<request_id, stream> streams_;
  std::unordered_map<request_id, open_choices> choices_;  // by the first answer's id
  std::optional<shared_prompt> shared_prompt_;
  net::limited_log faults_;
  std::optional<error> closed_;  // why new requests are refused
  std::vector<caf::typed_response_promise<msg::drained>> drains_;
  std::uint64_t aborted_ = 0;  // all at once, with or without a drain
};

tokenizer_actor::behavior_type tokenizer_behavior(tokenizer_actor::stateful_pointer<tokenizer_state> self,
                                                  tokenizer_parts parts);

}  // namespace troupe
