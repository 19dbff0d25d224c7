// The clients whose streams are open, who of them has left (a message that tells so may be lost), and how all
// of them are told of the end where no actor does that.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/request.hpp"
#include "runtime/result.hpp"

namespace troupe {

class actor_port;
class client_stream;

// Of one company. Any thread.
class open_clients {
 public:
  // `port`: that by which it came.
  void opened(request_id id, std::weak_ptr<client_stream> stream, const actor_port* port);
  // Does nothing where the stream is not open.
  void left(request_id id);
  bool has_left(request_id id) const;
  void closed(request_id id);
  // Until no stream is open, and no longer than this.
  void wait_for_none(std::chrono::nanoseconds limit);
  // Every stream that is open ends with `failure`, whatever becomes of its gateway; how many they are.
  std::size_t end_all(const error& failure);
  // The same for those that came by this port.
  void end_all_of(const actor_port* port, const error& failure);

 private:
  struct client {
    std::weak_ptr<client_stream> stream;
    const actor_port* port = nullptr;
    bool has_left = false;
  };
  using condition = std::function<bool(const client&)>;
  std::size_t end_where(const condition& is_meant, const error& failure);

  mutable std::mutex mutex_;
  std::condition_variable closed_;
  std::unordered_map<request_id, client> clients_;
};

}  // namespace troupe
