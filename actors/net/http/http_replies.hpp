// How http_connection waits for what the engine tells, for those of its files that ask something.
#pragma once
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/http/http_connection.hpp"
#include "actors/net/sockets/mailbox.hpp"

namespace troupe::net {

inline const std::string no_comment;
inline constexpr std::size_t unbounded_mailbox = std::numeric_limits<std::size_t>::max();

template <class Item>
std::shared_ptr<mailbox<Item>> http_connection::open_mailbox(std::size_t max_bytes) {
  watch_client();
  return std::make_shared<mailbox<Item>>(context_, max_bytes, [this](bool overflowed) {
    if (overflowed) close();
    wake_.notify();
  });
}

template <class Reply>
asio::awaitable<std::optional<result<Reply>>> http_connection::reply_to(const question<Reply>& ask) {
  const auto replies = open_mailbox<result<Reply>>(unbounded_mailbox);
  const typename mailbox<result<Reply>>::closer at_end(*replies);
  ask([replies](result<Reply> reply) { replies->push(std::move(reply), 0); });
  std::vector<result<Reply>> arrived;
  while (arrived.empty()) {
    const bool listening = co_await wait_for_news(no_comment);
    if (!listening) co_return std::nullopt;
    arrived = replies->take();
  }
  co_await stop_watching();
  co_return std::move(arrived.front());
}

}  // namespace troupe::net
