#include "actors/net/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "actors/net/kept_listener.hpp"
#include "actors/net/limited_log.hpp"

namespace troupe::net {
namespace {

constexpr int backlog = SOMAXCONN;  // thousands of connections a second are accepted, too
constexpr std::chrono::milliseconds pause_after_failure{50};

// A setting that is wrong, and stays so.
tl::unexpected<error> no_host(const listen_options& options) {
  return fail(error_code::invalid_argument,
              fmt::format("host \"{}\" is neither an address nor a name that has one", options.host), "host");
}

// An address that this machine may have in a moment, when its network is up.
tl::unexpected<error> not_ours(const listen_options& options) {
  return fail(error_code::io_error,
              fmt::format("host \"{}\" is not an address of this machine", options.host), "host");
}

tl::unexpected<error> cannot_listen(const listen_options& options, const asio_error& why) {
  const std::string where = fmt::format("port {} on {}", options.port, options.host);
  if (why == asio::error::address_in_use) {
    return fail(error_code::io_error, where + " is in use by another program", "port");
  }
  if (why == asio::error::access_denied) {
    return fail(error_code::io_error, where + " may not be opened by this user", "port");
  }
  if (why == boost::system::errc::address_not_available) return not_ours(options);
  return fail(error_code::io_error, where + " cannot be opened: " + why.message(), "host");
}

result<tcp::acceptor> bind_listener(asio::io_context& context, const listen_options& options) {
  asio_error why;
  if (options.host.empty()) return no_host(options);  // to be resolved, that would be every address
  tcp::resolver resolver(context);
  const auto places = resolver.resolve(options.host, std::to_string(options.port),
                                       tcp::resolver::passive | tcp::resolver::numeric_service, why);
  if (why || places.empty()) return no_host(options);
  const tcp::endpoint endpoint = places.begin()->endpoint();
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), why);
  if (!why) acceptor.set_option(tcp::acceptor::reuse_address(true), why);
  if (!why && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), why);
  if (!why) acceptor.bind(endpoint, why);
  if (why) return cannot_listen(options, why);
  return acceptor;
}

// Those that are kept are the highest. A descriptor gets the lowest number that is free.
bool are_left_for_clients(int any) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  const int lowest = ::fcntl(any, F_DUPFD_CLOEXEC, 0);
  if (lowest < 0) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) + descriptors_kept(limit.rlim_cur) < limit.rlim_cur;
}

}  // namespace

result<tcp::acceptor> listen_on(asio::io_context& context, const listen_options& options) {
  result<tcp::acceptor> acceptor = bind_listener(context, options);
  if (!acceptor) return acceptor;
  asio_error why;
  acceptor->listen(backlog, why);
  if (why) return cannot_listen(options, why);
  return acceptor;
}

result<tcp::acceptor> open_listener(asio::io_context& context, const listen_options& options) {
  return options.kept ? options.kept->open(context, options) : listen_on(context, options);
}

std::size_t descriptors_kept(std::size_t limit) { return std::clamp<std::size_t>(limit / 8, 16, 64); }

void close_listener(tcp::acceptor& acceptor) {
  asio_error why;
  const int descriptor = acceptor.release(why);
  if (!why) ::close(descriptor);
  if (why) acceptor.close(why);
}

result<void> check_address(const listen_options& options) {
  asio::io_context context;
  return bind_listener(context, options).map([](const tcp::acceptor&) {});
}

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, std::function<void(tcp::socket)> on_client) {
  asio::steady_timer pause(acceptor.get_executor());
  std::string trouble;  // since the last client
  limited_log log;
  while (acceptor.is_open()) {
    std::string failed;
    try {
      if (!trouble.empty()) {
        pause.expires_after(pause_after_failure);
        co_await pause.async_wait(no_throw);
      }
      if (are_left_for_clients(acceptor.native_handle())) {
        auto [failure, socket] = co_await acceptor.async_accept(no_throw);
        if (!failure) on_client(std::move(socket));
        if (failure && failure != asio::error::connection_aborted) failed = failure.message();
      } else {
        failed = "the descriptors that are left are the service's own";
      }
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
