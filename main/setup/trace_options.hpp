// Where traces go, of the settings.
#pragma once
#include <optional>

#include "actors/net/telemetry/trace_exporter.hpp"
#include "config/settings.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Nothing where there is no collector. Errors: invalid_argument, for an address that cannot be used (TLS,
// gRPC, no URL) or a sampler that is not known.
result<std::optional<net::trace_options>> to_trace_options(const config::settings& settings);

}  // namespace troupe
