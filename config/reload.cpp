#include "config/reload.hpp"

namespace troupe::config {
namespace {

std::string shown_value(const std::string& text) { return text.empty() ? std::string("(empty)") : text; }

std::string arrow(const setting_change& change) {
  return shown_value(change.before) + " -> " + shown_value(change.after);
}

}  // namespace

std::vector<setting_change> changes_between(const settings& before, const settings& after) {
  std::vector<setting_change> changes;
  for (const option& which : options()) {
    setting_change change{&which, value_text(before, which), value_text(after, which)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

tl::expected<std::vector<setting_change>, std::string> plan_reload(const settings& before,
                                                                   const loaded_settings& after) {
  std::vector<setting_change> changes = changes_between(before, after.values);
  std::string refused;
  for (const setting_change& change : changes) {
    if (change.which->reloads) continue;
    refused += (refused.empty() ? "" : "; ") + origin_of(after, change.which->name) + ": " +
               std::string(change.which->name) + ": " + arrow(change) + " needs a restart";
  }
  if (!refused.empty()) return tl::unexpected(std::move(refused));
  return changes;
}

std::string describe(const std::vector<setting_change>& changes) {
  std::string text;
  for (const setting_change& change : changes)
    text += (text.empty() ? "" : ", ") + std::string(change.which->name) + " " + arrow(change);
  return text;
}

}  // namespace troupe::config
