// The gateways.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> server_options() {
  return {
      text_option("host", group::server, &settings::host,
                  "Address that all ports but the operators' listen on"),
      number_option("port", group::server, &settings::port, 0, 65'535, "HTTP port; 0: any free one"),
      number_option("tcp_port", group::server, &settings::tcp_port, -1, 65'535,
                    "Port of the framed TCP protocol; 0: any free one, -1: not served"),
      number_option("probe_port", group::server, &settings::probe_port, -1, 65'535,
                    "HTTP port for /livez, /readyz, /health and /metrics alone: on the API's port, which has "
                    "them, too, "
                    "they wait behind whoever connects; 0: any free one, -1: none"),
      reloadable(text_option(
          "api_key_file", group::server, &settings::api_key_file,
          "File with the keys of clients, one on a line: who has none is refused by the API's ports; "
          "empty: the variable TROUPE_API_KEY has the key, or where that is not set anybody is served")),
      text_option("cors_origins", group::server, &settings::cors_origins,
                  "Origins, such as https://chat.example, whose pages browsers let use the API, separated by "
                  "commas; *: all; empty: none"),
      reloadable(duration_option(
          "shutdown_grace", group::server, &settings::shutdown_grace, 0, day,
          "The longest that the end takes after SIGTERM or Ctrl-C: running requests may finish, but "
          "for the last quarter of it, 1.5 s at most")),
      reloadable(duration_option(
          "step_deadline", group::server, &settings::step_deadline, 100, day,
          "A step that takes longer: the service is not live; as long again: the runner is started anew")),
      text_option(
          "runner_isolation", group::server, &settings::runner_isolation,
          "Where the model runs: in a process of its own, so that nothing that kills it ends the service",
          {"process", "none"}),
      reloadable(number_option("max_connections", group::server, &settings::max_connections, 1, 1'000'000,
                               "Open connections of each gateway")),
      size_option("max_header_bytes", group::server, &settings::max_header_bytes, kib, 16 * mib,
                  "Largest HTTP request header"),
      reloadable(size_option("max_body_bytes", group::server, &settings::max_body_bytes, kib, gib,
                             "Largest HTTP request body")),
      size_option("max_frame_bytes", group::server, &settings::max_frame_bytes, kib, gib,
                  "Largest frame of the TCP protocol"),
      size_option("max_buffered_bytes", group::server, &settings::max_buffered_bytes, mib, 16 * tib,
                  "Bodies and frames in memory, and what tokenizing makes of them, of all connections of a "
                  "gateway together"),
      reloadable(size_option(
          "max_stream_buffer_bytes", group::server, &settings::max_stream_buffer_bytes, 4 * kib, gib,
          "Unsent output kept for a client that reads slowly; beyond it the connection ends")),
      reloadable(duration_option("header_timeout", group::server, &settings::header_timeout, 100, day,
                                 "Time for a client to send an HTTP header or the TCP greeting")),
      reloadable(duration_option("read_timeout", group::server, &settings::read_timeout, 100, day,
                                 "Time for a client to send an HTTP body or a TCP frame")),
      reloadable(duration_option(
          "write_timeout", group::server, &settings::write_timeout, 100, day,
          "Longest time in which a client takes 64 KiB of what is written to it, or the rest")),
      reloadable(duration_option("idle_timeout", group::server, &settings::idle_timeout, 100, day,
                                 "How long an unused HTTP connection stays open")),
  };
}

}  // namespace troupe::config
