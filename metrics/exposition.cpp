#include "metrics/exposition.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <utility>

namespace troupe::metrics {
namespace {

// Takes one sample apart, from its front.
class sample_reader {
 public:
  explicit sample_reader(std::string_view line) : rest_(line) {}

  std::optional<metric_sample> read() {
    metric_sample sample;
    sample.name = take_name();
    if (sample.name.empty() || !take_labels(sample.labels)) return std::nullopt;
    const std::string number(skip_blanks());
    char* end = nullptr;
    sample.value = std::strtod(number.c_str(), &end);
    if (end == number.c_str()) return std::nullopt;
    return sample;
  }

 private:
  std::string_view skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
    return rest_;
  }

  bool take(char wanted) {
    if (skip_blanks().empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string take_name() {
    skip_blanks();
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
    };
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_part);
    std::string name(rest_.begin(), end);
    rest_.remove_prefix(name.size());
    return name;
  }

  bool take_labels(std::map<std::string, std::string>& labels) {
    if (!take('{')) return true;
    while (!take('}')) {
      std::string name = take_name();
      std::string value;
      if (name.empty() || !take('=') || !take_text(value)) return false;
      labels.insert_or_assign(std::move(name), std::move(value));
      take(',');
    }
    return true;
  }

  // "text" with \\, \" and \n in it.
  bool take_text(std::string& text) {
    if (!take('"')) return false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      const bool escaped = rest_[i] == '\\' && i + 1 < rest_.size();
      if (escaped) ++i;
      text += escaped && rest_[i] == 'n' ? '\n' : rest_[i];
    }
    return false;
  }

  std::string_view rest_;
};

}  // namespace

exposition::exposition(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (std::optional<metric_sample> sample = sample_reader(line).read()) {
      std::string name = sample->name;
      samples_.emplace(std::move(name), std::move(*sample));
    }
  }
}

std::vector<const metric_sample*> exposition::all(std::string_view name) const {
  std::vector<const metric_sample*> found;
  const auto [begin, end] = samples_.equal_range(name);
  for (auto each = begin; each != end; ++each) found.push_back(&each->second);
  return found;
}

std::optional<double> exposition::sum(std::string_view name,
                                      const std::map<std::string, std::string>& labels) const {
  std::optional<double> total;
  for (const metric_sample* sample : all(name))
    if (std::includes(sample->labels.begin(), sample->labels.end(), labels.begin(), labels.end()))
      total = total.value_or(0) + sample->value;
  return total;
}

std::string exposition::label(std::string_view name, const std::string& label) const {
  for (const metric_sample* sample : all(name))
    if (const auto found = sample->labels.find(label); found != sample->labels.end()) return found->second;
  return {};
}

std::vector<std::string> exposition::label_values(std::string_view name, const std::string& label) const {
  std::set<std::string> values;
  for (const metric_sample* sample : all(name))
    if (const auto found = sample->labels.find(label); found != sample->labels.end())
      values.insert(found->second);
  return {values.begin(), values.end()};
}

}  // namespace troupe::metrics
