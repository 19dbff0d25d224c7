// The streams of one gateway: what an actor with sockets, and the one without, have in common.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "actors/interfaces.hpp"
#include "actors/messaging/measured.hpp"
#include "actors/messaging/outbox.hpp"
#include "runtime/generation_request.hpp"

namespace troupe {

class gateway_state {
 public:
  static inline const char* name = "gateway";
  explicit gateway_state(gateway_actor::base* self) : self_(self), out_(self) {}
  virtual ~gateway_state() = default;

  void start(tokenizer_pool tokenizers) { tokenizers_ = std::move(tokenizers); }
  // Ends the streams of tokenizers that are gone.
  void meet(const tokenizer_pool& tokenizers);
  void open(const msg::open_stream& message, client_stream_ptr stream, const generation_request_ptr& request);
  void abort(request_id id);
  void output(const stream_batch& events);
  msg::drained close_doors();
  caf::result<msg::drained> drain();
  // Nothing stands between this gateway and its end any more.
  void closed();
  // The end comes, whatever stands there still.
  void abandon();
  virtual void reload(const net::connection_limits&) {}
  msg::gateway_counts count() const { return {streams_.size()}; }
  // And of what its server has told, whose messages nobody misses.
  void take_stock(const msg::take_stock& stock);

 protected:
  bool is_abandoned() const { return abandoned_; }

  gateway_actor::base* self_;

 private:
  std::uint64_t shard_of(request_id id) const { return id % tokenizers_.size(); }
  void end_streams_of(std::uint64_t shard);
  // While draining: once no stream is open, the connections are asked to end.
  void go_on_draining();
  // Calls closed(), now or later.
  virtual void close_connections() { closed(); }
  // Whether they are closed by now, where closed() was to be called later.
  virtual bool are_connections_closed() const { return false; }

  outbox<gateway_actor::base> out_;
  tokenizer_pool tokenizers_;
  std::unordered_map<request_id, client_stream_ptr> streams_;
  bool takes_requests_ = true;
  bool draining_ = false;
  bool closing_ = false;
  bool closed_ = false;
  bool abandoned_ = false;
  std::vector<caf::typed_response_promise<msg::drained>> drains_;
};

// The handlers of a gateway, for a state derived from gateway_state.
template <class State>
gateway_actor::behavior_type gateway_handlers(gateway_actor::stateful_pointer<State> self,
                                              std::shared_ptr<metrics::engine_metrics> metrics) {
  return measured(
      self, std::move(metrics),
      [self](const msg::open_stream& message, const client_stream_ptr& stream,
             const generation_request_ptr& request) { self->state.open(message, stream, request); },
      [self](const msg::abort& message) { self->state.abort(message.id); },
      [self](const msg::stream_output&, const stream_batch_ptr& events) { self->state.output(*events); },
      [self](const msg::meet&, const company_roster_ptr& roster) { self->state.meet(roster->tokenizers); },
      [self](const msg::close_doors&) { return self->state.close_doors(); },
      [self](const msg::drain&) { return self->state.drain(); },
      [self](const msg::connections_closed&) { self->state.closed(); },
      [self](const msg::abandon_connections&) { self->state.abandon(); },
      [self](const msg::reload&, const company_limits_ptr& limits) {
        self->state.reload(limits->connections);
      },
      [self](const msg::count&) { return self->state.count(); },
      [self](const msg::take_stock& stock) { self->state.take_stock(stock); });
}

// A gateway without sockets, for the embedding program.
gateway_actor::behavior_type gateway_behavior(gateway_actor::stateful_pointer<gateway_state> self,
                                              tokenizer_pool tokenizers,
                                              std::shared_ptr<metrics::engine_metrics> metrics);

}  // namespace troupe
