#include "actors/net/sockets/kept_listener.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "actors/net/sockets/listener.hpp"

namespace troupe::net {
namespace {

result<int> another_of(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0) return copy;
  return fail(error_code::io_error,
              "the listening socket cannot be shared: " + std::generic_category().message(errno));
}

sockaddr_storage address_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

tcp protocol_of(int descriptor) {
  return address_of(descriptor).ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

}  // namespace

result<tcp::acceptor> kept_listener::open(asio::io_context& context, const listen_options& options) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return fail(error_code::unavailable, "the port is closed");
  if (descriptor_ < 0) {
    result<tcp::acceptor> opened = listen_on(context, options);
    if (!opened) return opened;
    const result<int> copy = another_of(opened->native_handle());
    if (!copy) return tl::unexpected(copy.error());
    descriptor_ = *copy;
    return opened;
  }
  const result<int> copy = another_of(descriptor_);
  if (!copy) return tl::unexpected(copy.error());
  tcp::acceptor acceptor(context);
  asio_error why;
  acceptor.assign(protocol_of(*copy), *copy, why);
  if (!why) return acceptor;
  ::close(*copy);
  return fail(error_code::io_error, "the listening socket cannot be shared: " + why.message());
}

std::uint16_t kept_listener::port() const {
  const std::lock_guard lock(mutex_);
  const sockaddr_storage address = address_of(descriptor_);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void kept_listener::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace troupe::net
