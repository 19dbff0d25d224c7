// What one actor sends to others. Its messages to each of them are numbered, so that one that is lost is
// missed: at the next one, or when the sender tells how many there were (measured.hpp counts them).
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "actors/messaging/message_types.hpp"

namespace troupe {

// `Self`: the actor's base, whose outbox this is. Used by its own handlers alone.
template <class Self>
class outbox {
 public:
  explicit outbox(Self* self) : self_(self) {}

  // To nobody where `to` is null. The message's number.
  template <class Handle, class Message, class... Payload>
  msg::message_number send(const Handle& to, Message message, Payload&&... payload) {
    const msg::message_number number = message.number = next(to);
    self_->send(to, std::move(message), std::forward<Payload>(payload)...);
    return number;
  }

  // The same, with an answer: .then(...). It is waited for without end, since the supervisor introduces
  // another receiver where this one ends.
  template <class Handle, class Message, class... Payload>
  auto ask(const Handle& to, Message message, Payload&&... payload) {
    message.number = next(to);
    return self_->request(to, caf::infinite, std::move(message), std::forward<Payload>(payload)...);
  }

  // Counts it among the receivers before the first message.
  template <class Handle>
  void know(const Handle& to) {
    if (to) link_to(to);
  }

  // Tells every receiver how many there were.
  void take_stock(bool is_for_all = false) {
    std::erase_if(links_, [&](link& each) {
      const auto to = caf::actor_cast<caf::strong_actor_ptr>(each.to);
      if (!to) return true;
      to->enqueue(self_->ctrl(), caf::make_message_id(),
                  caf::make_message(msg::take_stock{is_for_all, ++each.sent}), self_->context());
      return false;
    });
  }

 private:
  struct link {
    caf::actor_id id = 0;
    caf::weak_actor_ptr to;  // null: it is gone
    msg::message_number sent = 0;
  };

  // A company has a dozen receivers: a linear search finds one soonest.
  template <class Handle>
  msg::message_number next(const Handle& to) {
    return to ? ++link_to(to).sent : 0;
  }
  template <class Handle>
  link& link_to(const Handle& to) {
    const caf::actor_id id = to.id();
    for (link& each : links_)
      if (each.id == id) return each;
    return links_.emplace_back(link{id, caf::actor_cast<caf::weak_actor_ptr>(to)});
  }

  Self* self_;
  std::vector<link> links_;
};

}  // namespace troupe
