// Prometheus' text format (version 0.0.4), read back: for those who watch a service by its /metrics.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

struct metric_sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

class exposition {
 public:
  exposition() = default;
  // Lines that are none of the format's are left out.
  explicit exposition(std::string_view text);

  bool empty() const { return samples_.empty(); }
  // Of this name, in the order of the text.
  std::vector<const metric_sample*> all(std::string_view name) const;
  // The sum of those that have all of these labels; nothing where there are none.
  std::optional<double> sum(std::string_view name,
                            const std::map<std::string, std::string>& labels = {}) const;
  // What the first of this name has for a label; empty where it has none.
  std::string label(std::string_view name, const std::string& label) const;
  // The values of a label, each once, sorted.
  std::vector<std::string> label_values(std::string_view name, const std::string& label) const;

 private:
  std::multimap<std::string, metric_sample, std::less<>> samples_;
};

}  // namespace troupe::metrics
