// An actor's behavior whose messages are timed and whose mailbox is told of, in the metrics.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "actors/chaos.hpp"
#include "actors/messages.hpp"
#include "metrics/engine_metrics.hpp"

namespace troupe {

// What the handlers of one actor share.
class handler_meter {
 public:
  using clock = std::chrono::steady_clock;

  handler_meter(caf::scheduled_actor& self, std::shared_ptr<metrics::engine_metrics> metrics)
      : self_(self), metrics_(std::move(metrics)), kind_(metrics_->actor(self.name())), mailbox_(kind_) {}

  // Once every handler is there.
  void publish() const { metrics_->add_pulse(self_.id(), pulse_); }

  template <class Message>
  metrics::histogram& durations_of() {
    return kind_.message(message_name<Message>());
  }
  template <class Message>
  std::atomic<std::uint64_t>& count_of() {
    return pulse_->count_of(message_name<Message>());
  }
  const char* role() const { return kind_.actor().c_str(); }
  // The messages that the actor has in hand, without a look at what came meanwhile.
  void message_begins(clock::time_point now) {
    const std::size_t waiting = self_.mailbox().queue().total_task_size();
    mailbox_.set(waiting);
    pulse_->message_begins(now, waiting);
  }
  // Who is behind has its own handler next, or is an answer, which has none here.
  void message_ends() {
    mailbox_.set(0);
    pulse_->message_ends();
  }

 private:
  caf::scheduled_actor& self_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  metrics::actor_meter& kind_;
  metrics::actor_meter::mailbox mailbox_;
  std::shared_ptr<metrics::actor_pulse> pulse_ = std::make_shared<metrics::actor_pulse>();
};

// Called like the handler that it holds.
template <class Handler, class Signature = decltype(&Handler::operator())>
class measured_handler;

template <class Handler, class Answer, class Message, class... Payload>
class measured_handler<Handler, Answer (Handler::*)(Message, Payload...) const> {
 public:
  measured_handler(Handler handler, std::shared_ptr<handler_meter> meter)
      : handler_(std::move(handler)),
        meter_(std::move(meter)),
        durations_(&meter_->durations_of<std::decay_t<Message>>()),
        handled_(&meter_->count_of<std::decay_t<Message>>()) {}

  Answer operator()(Message message, Payload... payload) const {
    chaos::meet_message(meter_->role());
    handled_->fetch_add(1, std::memory_order_relaxed);
    const measurement running(*meter_, *durations_);
    return handler_(std::forward<Message>(message), std::forward<Payload>(payload)...);
  }

 private:
  using clock = handler_meter::clock;

  class measurement {
   public:
    measurement(handler_meter& meter, metrics::histogram& durations) : meter_(meter), durations_(durations) {
      meter_.message_begins(began_);
    }
    ~measurement() {
      durations_.observe(metrics::in_seconds(clock::now() - began_));
      meter_.message_ends();
    }
    measurement(const measurement&) = delete;
    measurement& operator=(const measurement&) = delete;

   private:
    handler_meter& meter_;
    metrics::histogram& durations_;
    const clock::time_point began_ = clock::now();
  };

  Handler handler_;
  std::shared_ptr<handler_meter> meter_;
  metrics::histogram* durations_;
  std::atomic<std::uint64_t>* handled_;
};

// The actor's behavior, of its handlers in the order of its interface.
template <class Self, class... Handlers>
typename Self::behavior_type measured(Self* self, std::shared_ptr<metrics::engine_metrics> metrics,
                                      Handlers... handlers) {
  const auto meter = std::make_shared<handler_meter>(*self, std::move(metrics));
  typename Self::behavior_type behavior{measured_handler<Handlers>(std::move(handlers), meter)...};
  meter->publish();
  return behavior;
}

}  // namespace troupe
