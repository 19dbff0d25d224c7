// The metrics of an actor's messages before it has begun: one with a thread of its own may take its time.
#pragma once
#include <string>
#include <type_traits>

#include "actors/messaging/message_types.hpp"
#include "metrics/engine_metrics.hpp"

namespace troupe {

template <class Actor>
struct expected_messages;

template <class... Signatures>
struct expected_messages<caf::typed_actor<Signatures...>> {
  // One row for each message that the interface has, at zero; what comes once a second all the same has none.
  static void add_to(metrics::engine_metrics& metrics, const std::string& kind) {
    (add(metrics.actor(kind), static_cast<Signatures*>(nullptr)), ...);
  }

 private:
  template <template <class...> class Signature, class Message, class... Payload, class Answer>
  static void add(metrics::actor_meter& meter,
                  Signature<caf::detail::type_list<Message, Payload...>, Answer>*) {
    if constexpr (!std::is_same_v<std::decay_t<Message>, msg::take_stock>)
      meter.message(message_name<std::decay_t<Message>>());
  }
};

}  // namespace troupe
