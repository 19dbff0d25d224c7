// Samples in Prometheus' text format as prometheus-cpp writes them, taken apart: a scrape of thousands then
// writes nothing but the values anew.
#pragma once
#include <prometheus/metric_family.h>

#include <charconv>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe::metrics {

struct family_lines {
  std::string head;                 // its help and type, which the format wants before the first sample
  std::vector<std::string> starts;  // of each sample, in order, up to its value
};

family_lines lines_of(const prometheus::MetricFamily& family);

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
