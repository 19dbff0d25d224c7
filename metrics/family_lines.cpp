#include "metrics/family_lines.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <string_view>

namespace troupe::metrics {

prometheus::ClientMetric with_labels(prometheus::ClientMetric sample, const label_list& labels) {
  for (const auto& [name, value] : labels) sample.label.push_back({name, value});
  return sample;
}

family_lines lines_of(const metric_description& what, prometheus::ClientMetric sample) {
  const auto type = what.type == metric_type::histogram ? prometheus::MetricType::Histogram
                                                        : prometheus::MetricType::Counter;
  const std::string written = prometheus::TextSerializer().Serialize(
      {{std::string(what.name), std::string(what.help), type, {std::move(sample)}}});
  family_lines out;
  for (std::string_view rest = written; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n') + 1, rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.starts_with('#'))
      out.head += line;
    else
      out.starts.emplace_back(line.substr(0, line.rfind(' ') + 1));
  }
  return out;
}

}  // namespace troupe::metrics
