#include "main/setup/open_files.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "actors/net/http/http_server.hpp"
#include "actors/net/sockets/accept_clients.hpp"
#include "actors/net/sockets/socket_server.hpp"

namespace troupe {
namespace {

constexpr std::size_t own_files = 24;  // of the service and its first runner: some twenty
constexpr std::size_t refused_at_once = net::socket_server::most_refused;  // of each port

std::size_t open_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// Probes on a port of their own are few, and soon answered.
std::size_t own_files_of(const config::settings& settings) {
  return own_files + (settings.probe_port >= 0 ? net::http_server::most_probes : 0);
}

std::size_t num_ports(const config::settings& settings) { return settings.tcp_port >= 0 ? 2 : 1; }

}  // namespace

void allow_open_files(const config::settings& settings) {
  const auto clients = static_cast<std::size_t>(settings.max_connections) + refused_at_once;
  const rlim_t wanted =
      num_ports(settings) * clients + 2 * own_files_of(settings) + net::descriptors_kept(RLIM_INFINITY);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::optional<std::string> lack_of_open_files() {
  constexpr std::size_t fewest = 48;
  if (open_files() >= fewest) return std::nullopt;
  return fmt::format("{} files may be open at once (ulimit -n): the service and its first clients need {}",
                     open_files(), fewest);
}

std::size_t connections_with_files(const config::settings& settings) {
  const std::size_t all = open_files(), taken = net::descriptors_kept(all) + own_files_of(settings);
  const std::size_t of_port = (std::max(all, taken) - taken) / num_ports(settings);
  const std::size_t clients = of_port - std::min(of_port / 4, refused_at_once);
  return std::clamp<std::size_t>(clients, 1, static_cast<std::size_t>(settings.max_connections));
}

}  // namespace troupe
