#include "actors/net/sockets/listener.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/ip/v6_only.hpp>
#include <string>
#include <utility>

#include "actors/net/sockets/kept_listener.hpp"

namespace troupe::net {
namespace {

constexpr int backlog = SOMAXCONN;  // thousands of connections a second are accepted, too

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
  asio_error ignored;  // that clients' sockets inherit less is no reason not to listen
  if (!why) acceptor.set_option(tcp::no_delay(true), ignored);
  if (!why) acceptor.set_option(asio::socket_base::keep_alive(true), ignored);
  if (!why && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), why);
  if (!why) acceptor.bind(endpoint, why);
  if (why) return cannot_listen(options, why);
  return acceptor;
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

}  // namespace troupe::net
