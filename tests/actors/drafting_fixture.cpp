#include "tests/actors/drafting_fixture.hpp"

#include <algorithm>

namespace troupe::test {

company_setup repeating_setup(speculative_method method, std::int32_t num_speculative_tokens) {
  company_setup setup;
  setup.script = [](const sample_row& row) { return 'a' + row.position % 4; };
  setup.adjust = [=](supervisor_parts& parts) {
    parts.drafts.emplace();
    parts.drafts->config.method = method;
    parts.drafts->config.adaptive = false;
    parts.drafts->config.num_speculative_tokens = num_speculative_tokens;
  };
  return setup;
}

double labelled_metric(stage& on, const std::string& metric, const std::vector<std::string>& labels) {
  const std::string text = on.port().metrics_text();
  const std::string name = '\n' + metric + '{';
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    const auto has = [&line](const std::string& label) { return line.find(label) != std::string::npos; };
    if (std::ranges::all_of(labels, has)) return std::stod(line.substr(line.rfind(' ') + 1));
  }
  return -1;
}

double messages_of(stage& on, const std::string& actor, const std::string& message) {
  return labelled_metric(on, "troupe_actor_message_seconds_count",
                         {"actor=\"" + actor + '"', "message=\"" + message + '"'});
}

}  // namespace troupe::test
