// An actor's behavior whose messages are counted and timed, and whose mailbox is told of, in the metrics.
#pragma once
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/chaos.hpp"
#include "actors/messaging/message_types.hpp"
#include "actors/net/telemetry/limited_log.hpp"
#include "metrics/engine_metrics.hpp"

namespace troupe {

// What the handlers of one actor share.
class handler_meter {
 public:
  using clock = std::chrono::steady_clock;

  handler_meter(caf::scheduled_actor& self, std::shared_ptr<metrics::engine_metrics> metrics)
      : self_(self), metrics_(std::move(metrics)), kind_(metrics_->actor(self.name())), mailbox_(kind_) {}

  // Once every handler is there.
  void publish() const {
    answers();
    metrics_->add_pulse(self_.id(), pulse_);
  }
  void answers() const { pulse_->answers(self_.clock().now()); }

  template <class Message>
  metrics::histogram& durations_of() {
    return kind_.message(message_name<Message>());
  }
  template <class Message>
  std::atomic<std::uint64_t>& count_of() {
    return pulse_->count_of(message_name<Message>());
  }
  const char* role() const { return kind_.actor().c_str(); }

  // False: messages of this one's sender were lost before it. Whoever has missed some does not know what it
  // should, and ends, but for those who can ask for them.
  bool misses_none(const char* name, msg::message_number number) {
    const caf::strong_actor_ptr& sender = self_.current_sender();
    if (number == 0 || !sender) return true;
    msg::message_number& received = received_from(sender->id());
    const msg::message_number first = std::exchange(received, number) + 1;
    const std::uint64_t missing = number - first;
    if (missing == 0) return true;
    const std::string told =
        fmt::format("{} messages of actor {} were lost before {} {}", missing, sender->id(), name, number);
    if (make_up_) {
      lost_.warn(self_.clock().now(), fmt::format("actor {}: {}: they are asked for again", role(), told));
      make_up_(sender, first, missing);
      return true;
    }
    self_.quit(caf::make_error(caf::sec::runtime_error, told));
    return false;
  }
  // Asks the sender for `count` messages from `first` on, so that the actor need not end.
  using remedy = std::function<void(const caf::strong_actor_ptr& sender, msg::message_number first,
                                    std::uint64_t count)>;
  void set(remedy make_up) { make_up_ = std::move(make_up); }
  // A message that an actor has sent to itself is its timer.
  bool is_own() const { return self_.current_sender() == self_.ctrl(); }

  // The messages that the actor has in hand, without a look at what came meanwhile.
  void message_begins(clock::time_point now) {
    const std::size_t waiting = self_.mailbox().queue().total_task_size();
    mailbox_.set(waiting);
    pulse_->message_begins(now, waiting);
  }
  // Who is behind has its own handler next, or is an answer, which has none here. Who has handled any message
  // gets on, however many are before the question how it is.
  void message_ends() {
    mailbox_.set(0);
    pulse_->message_ends();
    answers();
  }

 private:
  struct received {
    caf::actor_id sender = 0;
    msg::message_number count = 0;
  };
  msg::message_number& received_from(caf::actor_id sender) {
    for (received& each : received_)
      if (each.sender == sender) return each.count;
    return received_.emplace_back(received{sender}).count;
  }

  caf::scheduled_actor& self_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  metrics::actor_meter& kind_;
  metrics::actor_meter::mailbox mailbox_;
  std::shared_ptr<metrics::actor_pulse> pulse_ = std::make_shared<metrics::actor_pulse>();
  remedy make_up_;
  net::limited_log lost_;
  std::vector<received> received_;  // also of senders that are gone: their ids never come again
};

// What a handler gives that may also leave a message without an answer.
template <class Answer>
struct answer_or_none {
  using type = caf::result<Answer>;
  static type none() { return caf::delegated<Answer>(); }
};
template <>
struct answer_or_none<void> {
  using type = void;
  static void none() {}
};
template <class... Answer>
struct answer_or_none<caf::result<Answer...>> {
  using type = caf::result<Answer...>;
  static type none() { return caf::delegated<Answer...>(); }
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
        name_(message_name<std::decay_t<Message>>()),
        durations_(is_work ? &meter_->durations_of<std::decay_t<Message>>() : nullptr),
        handled_(&meter_->count_of<std::decay_t<Message>>()) {}

  typename answer_or_none<Answer>::type operator()(Message message, Payload... payload) const {
    if (is_work && chaos::meet_message(meter_->role(), name_.c_str(), meter_->is_own()))
      return answer_or_none<Answer>::none();
    if constexpr (requires { message.number; })
      if (!meter_->misses_none(name_.c_str(), message.number)) return answer_or_none<Answer>::none();
    handled_->fetch_add(1, std::memory_order_relaxed);
    if constexpr (!is_work) {
      meter_->answers();
      return handler_(std::forward<Message>(message), std::forward<Payload>(payload)...);
    }
    const measurement running(*meter_, durations_);
    return handler_(std::forward<Message>(message), std::forward<Payload>(payload)...);
  }

 private:
  using clock = handler_meter::clock;
  // What comes once a second all the same tells nothing of how the actor is.
  static constexpr bool is_work = !std::is_same_v<std::decay_t<Message>, msg::take_stock>;

  class measurement {
   public:
    measurement(handler_meter& meter, metrics::histogram* durations) : meter_(meter), durations_(*durations) {
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
  std::string name_;
  metrics::histogram* durations_;  // null: nobody is told
  std::atomic<std::uint64_t>* handled_;
};

// Of an exception in a handler the log has the kind, not the words, which may be a client's.
void log_exceptions(caf::scheduled_actor& self);

// The actor's behavior, of its handlers in the order of its interface.
template <class Self, class... Handlers>
typename Self::behavior_type measured(Self* self, std::shared_ptr<metrics::engine_metrics> metrics,
                                      Handlers... handlers) {
  log_exceptions(*self);
  const auto meter = std::make_shared<handler_meter>(*self, std::move(metrics));
  typename Self::behavior_type behavior{measured_handler<Handlers>(std::move(handlers), meter)...};
  if constexpr (requires { &std::decay_t<decltype(self->state)>::make_up_for; })
    meter->set([self](const auto&... lost) { self->state.make_up_for(lost...); });
  meter->publish();
  return behavior;
}

}  // namespace troupe
