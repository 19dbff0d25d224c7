#include "actors/net/sockets/socket_server.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "actors/net/engine_port.hpp"
#include "actors/net/sockets/accept_clients.hpp"
#include "actors/net/sockets/refused_connection.hpp"
#include "runtime/isolation/process_work.hpp"

namespace troupe::net {
namespace {

// A request that is under way when the server drains would be refused: that it is can be said soon.
constexpr std::chrono::milliseconds rest_of_request{500};

ending draining() { return {rest_of_request, {error_code::unavailable, draining_reason}}; }

}  // namespace

result<std::unique_ptr<socket_server>> socket_server::start(listen_options options,
                                                            std::size_t max_connections,
                                                            connection_makers make, when_full full,
                                                            std::function<void()> at_end) {
  std::unique_ptr<socket_server> server(
      new socket_server(std::move(options), max_connections, std::move(make), full, std::move(at_end)));
  auto acceptor = open_listener(server->context_, server->options_);
  if (!acceptor) return tl::unexpected<error>(acceptor.error());
  server->acceptor_ = std::move(*acceptor);
  asio_error ignored;
  server->port_ = server->acceptor_.local_endpoint(ignored).port();
  asio::co_spawn(server->context_,
                 accept_clients(server->acceptor_,
                                {.admit = [raw = server.get()](tcp::socket s) { raw->admit(std::move(s)); },
                                 .speaks_first = [raw = server.get()] { return raw->refuses(); }}),
                 [](std::exception_ptr) {});
  server->thread_ = std::thread([raw = server.get()] { raw->serve(); });
  ::pthread_getcpuclockid(server->thread_.native_handle(), &server->clock_);
  return server;
}

socket_server::socket_server(listen_options options, std::size_t max_connections, connection_makers make,
                             when_full full, std::function<void()> at_end)
    : options_(std::move(options)),
      max_connections_(max_connections),
      make_(std::move(make)),
      full_(full),
      at_end_(std::move(at_end)) {}

socket_server::~socket_server() { close(); }

double socket_server::cpu_seconds() const { return cpu_seconds_on(clock_).value_or(0); }

// Returns after close(), when the last connection has ended.
void socket_server::serve() {
  for (;;) {
    try {
      context_.run();
      return at_end_();
    } catch (const std::exception& fault) {
      // Out of memory in one handler: what it served is gone, the others go on.
      faults_.error(std::chrono::steady_clock::now(), "a connection was lost", fault);
    }
  }
}

void socket_server::admit(tcp::socket socket) {
  if (closing_ && closing_->within.count() == 0) return;  // accepted before, told after
  if (options_.send_buffer_bytes > 0) {
    asio_error ignored;
    socket.set_option(tcp::socket::send_buffer_size(options_.send_buffer_bytes), ignored);
  }
  const bool refused = is_full() && !make_room();
  if (refused) tell_full("until one is free others are refused");
  serve_client((refused ? make_.refused : make_.taken)(context_, std::move(socket)), refused);
}

bool socket_server::is_full() const { return clients_.size() - refused_.size() >= max_connections_; }

void socket_server::tell_full(const char* what_follows) {
  refusals_.warn(std::chrono::steady_clock::now(), fmt::format("port {}: all {} connections are taken: {}",
                                                               port_, max_connections_, what_follows));
}

// What has to go counts no more, though its coroutine has yet to end.
void socket_server::drop(std::shared_ptr<connection> client) {
  client->close();
  clients_.erase(client);
  std::erase(refused_, client);
}

socket_server::place socket_server::dispensable() const {
  if (full_ == when_full::refuse) return {};
  if (auto oldest = oldest_by(&connection::unauthenticated_since))
    return {std::move(oldest), "those without a key give way"};
  return {oldest_by(&connection::idle_since), "those that are idle between two requests give way"};
}

std::shared_ptr<connection> socket_server::oldest_by(time_of since_of) const {
  std::shared_ptr<connection> oldest;
  std::optional<std::chrono::steady_clock::time_point> least;
  for (const auto& client : clients_)
    if (const auto since = ((*client).*since_of)();
        since && (!least || *since < *least) && !is_refused(client)) {
      least = since;
      oldest = client;
    }
  return oldest;
}

bool socket_server::make_room() {
  place taken = dispensable();
  if (!taken.client) return false;
  tell_full(taken.why);
  taken.client->give_way(too_many_connections);
  add_refused(std::move(taken.client));
  return true;
}

bool socket_server::is_refused(const std::shared_ptr<connection>& client) const {
  return std::ranges::find(refused_, client) != refused_.end();
}

// Who has been there for the longest time hears at least what all are told, whatever it has asked for.
void socket_server::add_refused(std::shared_ptr<connection> client) {
  refused_.push_back(std::move(client));
  if (refused_.size() <= most_refused) return;
  refused_.front()->give_way(too_many_connections);
  drop(refused_.front());
}

void socket_server::serve_client(std::shared_ptr<connection> client, bool refused) {
  clients_.insert(client);
  if (refused) add_refused(client);
  open_ = clients_.size();
  try {
    if (draining_) client->finish(draining());
    if (closing_) client->finish(closing_->how);
    if (closing_) bound_end();
    asio::co_spawn(context_, client->run(), [this, client](std::exception_ptr) { on_end(client); });
  } catch (...) {
    on_end(client);
    throw;
  }
}

void socket_server::on_end(const std::shared_ptr<connection>& client) {
  drop(client);
  open_ = clients_.size();
  if (!clients_.empty()) return;
  if (drained_) std::exchange(drained_, nullptr)();
  if (std::exchange(is_end_bound_, false)) end_.cancel();
}

void socket_server::drain(std::function<void()> done) {
  asio::post(context_, [this, done = std::move(done)]() mutable {
    draining_ = true;
    if (clients_.empty()) return done();
    drained_ = std::move(done);
    for (const auto& client : clients_) client->finish(draining());
  });
}

void socket_server::close(std::chrono::milliseconds within, const error& why) {
  if (!thread_.joinable()) return;
  asio::post(context_, [this, within, why] {
    closing_ = closing{{within / 2, why}, within};
    open_for_calls_.reset();
    close_listener(acceptor_);
    if (within.count() == 0) return end_clients();
    for (const auto& client : clients_) client->finish(closing_->how);
    if (!clients_.empty()) bound_end();
  });
  thread_.join();
}

void socket_server::bound_end() {
  if (std::exchange(is_end_bound_, true)) return;
  end_.expires_after(closing_->within);
  end_.async_wait([this](asio_error cancelled) {
    if (!cancelled) end_clients();
  });
}

void socket_server::end_clients() {
  for (const auto& client : clients_) client->close();
}

}  // namespace troupe::net
