// Samples in Prometheus' text format as prometheus-cpp writes them, taken apart: a scrape of thousands then
// writes nothing but the values anew.
#pragma once
#include <prometheus/metric_family.h>

#include <charconv>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "metrics/catalogue.hpp"

namespace troupe::metrics {

using label_list = std::vector<std::pair<std::string, std::string>>;

prometheus::ClientMetric with_labels(prometheus::ClientMetric sample, const label_list& labels);

struct family_lines {
  std::string head;                 // its help and type, which the format wants before the first sample
  std::vector<std::string> starts;  // of each sample, in order, up to its value
};

// Of a counter or a histogram of the catalogue that has this one sample.
family_lines lines_of(const metric_description& what, prometheus::ClientMetric sample);

// A sample. `value`: of a counter, or a finite double, in the fewest digits that say it exactly.
template <class Number>
void append_sample(std::string& text, const std::string& start, Number value) {
  constexpr std::size_t longest = 32;
  char digits[longest];
  const auto written = std::to_chars(digits, digits + longest, value);
  text += start;
  text.append(digits, written.ptr);
  text += '\n';
}

}  // namespace troupe::metrics
