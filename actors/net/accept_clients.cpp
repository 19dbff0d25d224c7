#include "actors/net/accept_clients.hpp"

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

#include "actors/net/limited_log.hpp"

namespace troupe::net {
namespace {

constexpr std::chrono::milliseconds pause_after_failure{50};
// Clients that are taken before others get a turn.
constexpr int most_at_once = 16;

const char* const kept_for_service = "the descriptors that are left are the service's own";

// A descriptor gets the lowest number that is free: those from here on are the service's own.
rlim_t first_kept() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return RLIM_INFINITY;
  return limit.rlim_cur - descriptors_kept(limit.rlim_cur);
}

bool are_left_for_clients(int any, rlim_t first_kept) {
  const int lowest = ::fcntl(any, F_DUPFD_CLOEXEC, 0);
  if (lowest < 0) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) < first_kept;
}

// In a flood of connections many are over before their turn, and those behind them wait for as long as each
// takes.
bool needs_nothing(int client, const reception& server) {
  char first = 0;
  const ssize_t size = ::recv(client, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  return size < 0 ? errno == ECONNRESET : size == 0 && !server.tells_everybody();
}

void hand_over(tcp::acceptor& acceptor, int client, const reception& server) {
  tcp::socket socket(acceptor.get_executor());
  asio_error why;
  socket.assign(acceptor.local_endpoint().protocol(), client, why);
  if (why) {
    ::close(client);
    throw boost::system::system_error(why);
  }
  server.admit(std::move(socket));
}

// The clients that wait, or some of them. Why one could not be taken; empty: all could.
std::string take_clients(tcp::acceptor& acceptor, const reception& server) {
  const rlim_t kept = first_kept();
  if (!are_left_for_clients(acceptor.native_handle(), kept)) return kept_for_service;
  for (int turn = 0; turn < most_at_once; ++turn) {
    const int client = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (client < 0 && (errno == ECONNABORTED || errno == EINTR || errno == EPROTO)) continue;
    if (client < 0) return std::generic_category().message(errno);
    if (needs_nothing(client, server)) {
      ::close(client);
      continue;
    }
    hand_over(acceptor, client, server);
    if (static_cast<rlim_t>(client) + 1 >= kept) return {};
  }
  return {};
}

}  // namespace

std::size_t descriptors_kept(std::size_t limit) { return std::clamp<std::size_t>(limit / 8, 16, 64); }

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, reception server) {
  asio::steady_timer pause(acceptor.get_executor());
  std::string trouble;  // since the last client
  limited_log log;
  asio_error ignored;  // without, a client that is gone again holds the thread until the next one
  acceptor.native_non_blocking(true, ignored);
  while (acceptor.is_open()) {
    std::string failed;
    try {
      if (!trouble.empty()) {
        pause.expires_after(pause_after_failure);
        co_await pause.async_wait(no_throw);
      }
      const auto [failure] = co_await acceptor.async_wait(tcp::acceptor::wait_read, no_throw);
      if (!acceptor.is_open()) break;
      failed = failure ? failure.message() : take_clients(acceptor, server);
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
