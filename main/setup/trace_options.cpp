#include "main/setup/trace_options.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

#include "config/options.hpp"
#include "main/setup/service_url.hpp"

namespace troupe {
namespace {

tl::unexpected<error> bad_endpoint(const std::string& text, const char* why) {
  return fail(error_code::invalid_argument, fmt::format("otlp_traces_endpoint '{}': {}", text, why),
              "otlp_traces_endpoint");
}

}  // namespace

result<std::optional<net::trace_options>> to_trace_options(const config::settings& settings) {
  const std::string& endpoint = settings.otlp_traces_endpoint;
  if (endpoint.empty()) return std::nullopt;
  if (endpoint.starts_with("https://"))
    return bad_endpoint(
        endpoint, "traces are sent over http:// alone; let a collector on this machine pass them on by TLS");
  if (!endpoint.starts_with("http://"))
    return bad_endpoint(
        endpoint,
        "it must begin with http://, as http://127.0.0.1:4318: traces are sent over HTTP, not gRPC");
  const auto url = parse_url(endpoint);
  if (!url) return bad_endpoint(endpoint, "this is no address like http://127.0.0.1:4318");
  auto sampling = parse_trace_sampling(settings.otel_traces_sampler, settings.otel_traces_sampler_arg);
  if (!sampling) return tl::unexpected<error>(std::move(sampling.error()));
  net::trace_options out;
  out.host = url->host;
  out.port = url->port;
  if (!url->base.empty()) out.path = url->base;
  out.resource = {settings.otel_service_name, TROUPE_VERSION};
  out.sampling = *sampling;
  return out;
}

void pass_over_foreign_traces(config::loaded_settings& loaded) {
  for (auto made = to_trace_options(loaded.values); !made; made = to_trace_options(loaded.values)) {
    const config::option* which = config::find_option(made.error().param);
    const auto origin = loaded.origins.find(made.error().param);
    if (which == nullptr || origin == loaded.origins.end() || origin->second != which->common_variable)
      return;
    loaded.warnings.push_back(fmt::format("{}: passed over: {}", origin->second, made.error().message));
    const auto usual = std::get<std::string config::settings::*>(which->member);
    loaded.values.*usual = config::settings{}.*usual;
    loaded.origins.erase(origin);
  }
}

}  // namespace troupe
