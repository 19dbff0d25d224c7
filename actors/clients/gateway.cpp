#include "actors/clients/gateway.hpp"

#include <utility>

#include "actors/lost_part.hpp"

namespace troupe {
void gateway_state::open(const msg::open_stream& message, client_stream_ptr stream,
                         const generation_request_ptr& request) {
  if (!takes_requests_) {
    stream->fail(shutting_down());
    return;
  }
  const request_id id = message.id;
  const std::uint64_t shard = shard_of(id);
  if (!tokenizers_[shard]) {
    stream->fail(lost_part());
    return;
  }
  streams_.emplace(id, std::move(stream));
  out_.send(tokenizers_[shard],
            msg::generate{id, self_->clock().now(), message.index, message.first, message.asked_at}, request,
            gateway_actor(self_));
}

void gateway_state::abort(request_id id) {
  if (streams_.contains(id)) out_.send(tokenizers_[shard_of(id)], msg::abort{id});
}

void gateway_state::output(const stream_batch& events) {
  for (const stream_event& event : events) {
    const auto found = streams_.find(event.id);
    if (found == streams_.end()) continue;
    const client_stream_ptr stream = found->second;
    if (event.end) streams_.erase(found);
    if (!stream->push(event)) abort(event.id);
  }
  go_on_draining();
}

void gateway_state::meet(const tokenizer_pool& tokenizers) {
  for (std::uint64_t shard = 0; shard < tokenizers_.size(); ++shard)
    if (tokenizers[shard] != tokenizers_[shard]) end_streams_of(shard);
  tokenizers_ = tokenizers;
  go_on_draining();
}

void gateway_state::end_streams_of(std::uint64_t shard) {
  for (auto each = streams_.begin(); each != streams_.end();) {
    if (shard_of(each->first) == shard) {
      each->second->fail(lost_part());
      each = streams_.erase(each);
    } else {
      ++each;
    }
  }
}

msg::drained gateway_state::close_doors() {
  takes_requests_ = false;
  return {};
}

caf::result<msg::drained> gateway_state::drain() {
  auto promise = self_->make_response_promise<msg::drained>();
  drains_.push_back(promise);
  takes_requests_ = false;  // nobody has told a gateway that is new to close its doors
  draining_ = true;
  if (closed_) closed();
  go_on_draining();
  return promise;
}

void gateway_state::go_on_draining() {
  if (!draining_ || closing_ || !streams_.empty()) return;
  closing_ = true;
  close_connections();
}

void gateway_state::take_stock(const msg::take_stock& stock) {
  if (!stock.is_for_all) return;
  for (const auto& [id, stream] : streams_)
    if (stream->client_has_left()) abort(id);
  if (closing_ && !closed_ && are_connections_closed()) closed();
  out_.take_stock();
}

void gateway_state::closed() {
  closed_ = true;
  for (auto& promise : std::exchange(drains_, {})) promise.deliver(msg::drained{});
}

void gateway_state::abandon() {
  abandoned_ = true;
  closed();
}

gateway_actor::behavior_type gateway_behavior(gateway_actor::stateful_pointer<gateway_state> self,
                                              tokenizer_pool tokenizers,
                                              std::shared_ptr<metrics::engine_metrics> metrics) {
  self->state.start(std::move(tokenizers));
  return gateway_handlers<gateway_state>(self, std::move(metrics));
}

}  // namespace troupe
