#include "actors/clients/open_clients.hpp"

#include <utility>

#include "actors/clients/client_calls.hpp"

namespace troupe {

void open_clients::opened(request_id id, std::weak_ptr<client_stream> stream, const actor_port* port) {
  const std::lock_guard lock(mutex_);
  clients_.try_emplace(id, client{std::move(stream), port});
}

void open_clients::left(request_id id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = clients_.find(id); found != clients_.end()) found->second.has_left = true;
}

bool open_clients::has_left(request_id id) const {
  const std::lock_guard lock(mutex_);
  const auto found = clients_.find(id);
  return found != clients_.end() && found->second.has_left;
}

void open_clients::closed(request_id id) {
  const std::lock_guard lock(mutex_);
  clients_.erase(id);
  if (clients_.empty()) closed_.notify_all();
}

void open_clients::wait_for_none(std::chrono::nanoseconds limit) {
  std::unique_lock lock(mutex_);
  closed_.wait_for(lock, limit, [this] { return clients_.empty(); });
}

std::size_t open_clients::end_all(const error& failure) {
  return end_where([](const client&) { return true; }, failure);
}

void open_clients::end_all_of(const actor_port* port, const error& failure) {
  end_where([port](const client& each) { return each.port == port; }, failure);
}

// The last owner of a stream asks for the lock: none is let go of under it.
std::size_t open_clients::end_where(const condition& is_meant, const error& failure) {
  std::vector<std::shared_ptr<client_stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.reserve(clients_.size());
    for (const auto& [id, client] : clients_) {
      if (!is_meant(client)) continue;
      if (auto stream = client.stream.lock()) streams.push_back(std::move(stream));
    }
  }
  for (const auto& stream : streams) stream->fail(failure);
  return streams.size();
}

}  // namespace troupe
