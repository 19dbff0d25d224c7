// Where traces go, of the settings.
#pragma once
#include <optional>

#include "actors/net/telemetry/trace_exporter.hpp"
#include "config/load.hpp"
#include "config/settings.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Nothing where there is no collector. Errors: invalid_argument, for an address that cannot be used (TLS,
// gRPC, no URL) or a sampler that is not known.
result<std::optional<net::trace_options>> to_trace_options(const config::settings& settings);

// Takes as unset, with a warning, whatever nothing can be made of and stands in a variable that is set for
// other programs too: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT may name a collector that speaks gRPC, or TLS,
// alone.
void pass_over_foreign_traces(config::loaded_settings& loaded);

}  // namespace troupe
