// An engine port made of plain code: a thread steps all requests, or the test hands out the events itself.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/net/engine_port.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::net::testing {

class scripted_engine final : public engine_port {
 public:
  enum class pace { steps, by_hand };
  explicit scripted_engine(pace how = pace::steps);
  ~scripted_engine() override;

  std::vector<request_id> generate_choices(generation_request_ptr request, choice_sink sink) override;
  void abort(request_id id) override;
  void tokenize(tokenize_request request, std::function<void(result<tokenize_reply>)> reply) override;
  void detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) override;
  void describe(request_id id, std::function<void(std::optional<request_state>)> reply) override;
  void reset_prefix_cache(std::function<void(bool)> reply) override;
  engine_status status() const override;
  model_card model() const override;
  std::string metrics_text() const override;
  std::string token_text(token_id id) const override;

  void set_status(engine_status status);
  // Text of one step of every request; "word " unless told otherwise.
  void set_word(std::string word);
  // describe() knows it no longer; its events come as before.
  void leave_scheduler(request_id id);
  // The ends of aborted requests come when release_ends() is called, from its thread.
  void hold_ends();
  void release_ends();
  // Tokenize calls are kept without an answer until the engine ends.
  void hold_text_calls();

  // By hand: the id of the n-th request (from 1), once it has come.
  request_id wait_for_request(std::size_t n);
  void emit(request_id id, stream_event event);
  void wait_for_abort(request_id id);

  std::size_t requests() const;
  std::size_t aborts() const;
  std::size_t running() const;
  void wait_until_idle();
  generation_request_ptr request_of(request_id id) const;
  stream_sink sink_of(request_id id) const;

 private:
  struct stream {
    generation_request_ptr request;
    stream_sink sink;
    std::int32_t told = 0;
  };
  void step_all();

  const pace pace_;
  mutable std::mutex mutex_;
  std::mutex delivery_;  // events of one stream come in order
  std::condition_variable changed_;
  std::map<request_id, stream> streams_;
  std::map<request_id, generation_request_ptr> seen_;
  std::set<request_id> aborted_;
  std::set<request_id> unscheduled_;
  std::vector<std::function<void(result<tokenize_reply>)>> held_;
  bool hold_ = false;
  bool holds_ends_ = false;
  std::string word_ = "word ";
  engine_status status_{true, true, ""};
  request_id last_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// An event with one piece of text and one token.
stream_event piece(std::string text, token_id token = 1);
// The last event.
stream_event last_piece(finish_reason reason = finish_reason::stop, std::string text = {});
stream_event failed(error failure);

}  // namespace troupe::net::testing
