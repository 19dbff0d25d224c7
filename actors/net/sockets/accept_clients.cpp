#include "actors/net/sockets/accept_clients.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "actors/net/telemetry/limited_log.hpp"

namespace troupe::net {
namespace {

constexpr std::chrono::milliseconds pause_after_failure{50};
// Clients that are taken before others get a turn.
constexpr int most_at_once = 16;

const char* const kept_for_service = "the descriptors that are left are the service's own";

// A descriptor gets the lowest number that is free: those from here on are the service's own.
rlim_t first_of_service() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return RLIM_INFINITY;
  return limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, descriptors_kept(limit.rlim_cur));
}

bool is_left_for_clients(int any, rlim_t first_of_service) {
  const int lowest = ::fcntl(any, F_DUPFD_CLOEXEC, 0);
  if (lowest < 0) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) < first_of_service;
}

// Has reset the connection, or ended its sending without a byte: setting a connection up for it would only
// make those behind it wait.
bool is_gone_or_silent(int client, const client_desk& desk) {
  char first = 0;
  const ssize_t size = ::recv(client, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  return size < 0 ? errno == ECONNRESET : size == 0 && !desk.speaks_first();
}

// Throws where there is no memory; the client is closed then.
tcp::socket socket_of(tcp::acceptor& acceptor, const tcp& protocol, int client) try {
  tcp::socket socket(acceptor.get_executor());
  socket.assign(protocol, client);
  return socket;
} catch (...) {
  ::close(client);
  throw;
}

// The clients that wait, or some of them. Why one could not be taken; empty: all could.
std::string take_clients(tcp::acceptor& acceptor, const tcp& protocol, const client_desk& desk) {
  const rlim_t end = first_of_service();
  for (int turn = 0; turn < most_at_once; ++turn) {
    if (!is_left_for_clients(acceptor.native_handle(), end)) return kept_for_service;
    const int client = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (client < 0 && (errno == ECONNABORTED || errno == EINTR || errno == EPROTO)) continue;
    if (client < 0) return std::generic_category().message(errno);
    if (is_gone_or_silent(client, desk)) {
      ::close(client);
      continue;
    }
    desk.admit(socket_of(acceptor, protocol, client));
  }
  return {};
}

}  // namespace

std::size_t descriptors_kept(std::size_t limit) { return std::clamp<std::size_t>(limit / 8, 16, 64); }

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, client_desk desk) {
  asio::steady_timer pause(acceptor.get_executor());
  std::string trouble;  // since the last client
  limited_log log;
  asio_error ignored;  // without, a client that is gone again holds the thread until the next one
  acceptor.native_non_blocking(true, ignored);
  const tcp protocol = acceptor.local_endpoint(ignored).protocol();
  while (acceptor.is_open()) {
    std::string failed;
    try {
      if (!trouble.empty()) {
        pause.expires_after(pause_after_failure);
        co_await pause.async_wait(no_throw);
      }
      const auto [failure] = co_await acceptor.async_wait(tcp::acceptor::wait_read, no_throw);
      if (!acceptor.is_open()) break;
      failed = failure ? failure.message() : take_clients(acceptor, protocol, desk);
    } catch (const std::exception& fault) {
      failed = fault.what();
    }
    if (!failed.empty() && failed != trouble && acceptor.is_open())
      log.error(std::chrono::steady_clock::now(),
                fmt::format("a client could not be taken: {}; the next ones may have to wait", failed));
    trouble = std::move(failed);
  }
}

}  // namespace troupe::net
