// Traces of requests. Whether the texts mean something is asked where there is a collector, and what is set
// for other programs and means nothing here is passed over: it harms nobody.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> trace_options() {
  return {
      with_variable(text_option("otlp_traces_endpoint", group::server, &settings::otlp_traces_endpoint,
                                "Collector that traces of requests are sent to, by OTLP over HTTP in JSON: "
                                "http://127.0.0.1:4318 (then to /v1/traces); empty: none are made"),
                    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
      with_variable(text_option("otel_service_name", group::server, &settings::otel_service_name,
                                "Name of this service in traces"),
                    "OTEL_SERVICE_NAME"),
      with_variable(text_option("otel_traces_sampler", group::server, &settings::otel_traces_sampler,
                                "Which requests are traced: always_on, always_off, traceidratio; with "
                                "parentbased_ before it those whose traceparent says so, and of those "
                                "without one these"),
                    "OTEL_TRACES_SAMPLER"),
      with_variable(text_option("otel_traces_sampler_arg", group::server, &settings::otel_traces_sampler_arg,
                                "Share of the requests that traceidratio takes; empty: 1"),
                    "OTEL_TRACES_SAMPLER_ARG"),
  };
}

}  // namespace troupe::config
