#include "main/service/actor_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/json/json.hpp"

namespace troupe::cli {
namespace {

tree_row row_of(const json& part, int depth) {
  tree_row row;
  row.name = part.at("name").get<std::string>();
  row.depth = depth;
  row.is_group = part.contains("members");
  if (row.is_group) {
    row.state = part.at("strategy").get<std::string>();
    row.restarts = part.at("recent_restarts").get<std::int64_t>();
    return row;
  }
  row.state = part.at("state").get<std::string>();
  row.mailbox = part.at("mailbox").get<std::int64_t>();
  row.restarts = part.at("restarts").get<std::int64_t>();
  for (const json& count : part.at("handled")) row.handled += count.get<std::int64_t>();
  if (const json& age = part.at("last_message_age_seconds"); !age.is_null())
    row.last_message = age.get<double>();
  return row;
}

// Three groups deep, as the service declares it; what is deeper is no service's tree.
void add_rows(const json& part, int depth, std::vector<tree_row>& rows) {
  constexpr int deepest = 16;
  if (depth > deepest) return;
  rows.push_back(row_of(part, depth));
  if (!rows.back().is_group) return;
  for (const json& member : part.at("members")) add_rows(member, depth + 1, rows);
}

// Messages a second. An actor that was started anew counts from zero; of one that was not there before (or
// that the operators' port did not tell of) nobody knows since when it counts.
std::string rate_text(const std::vector<tree_row>& before, const tree_row& now, double elapsed) {
  const auto earlier = std::ranges::find(before, now.name, &tree_row::name);
  if (earlier == before.end() || elapsed <= 0) return "-";
  const std::int64_t since = earlier->handled > now.handled ? 0 : earlier->handled;
  return fmt::format("{:.1f}", static_cast<double>(now.handled - since) / elapsed);
}

std::string age_text(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  return *seconds < 100 ? fmt::format("{:.1f} s", *seconds) : fmt::format("{:.0f} s", *seconds);
}

}  // namespace

result<std::vector<tree_row>> read_actor_tree(const std::string& body) {
  try {
    const json told = json::parse(body);
    std::vector<tree_row> rows{row_of(told.at("supervisor"), 0)};
    add_rows(told.at("tree"), 0, rows);
    return rows;
  } catch (const json::exception&) {
    return fail(error_code::unavailable, "/admin/actors does not answer with a tree of actors");
  }
}

std::vector<std::string> actor_tree_lines(const std::vector<tree_row>& before,
                                          const std::vector<tree_row>& now, double elapsed,
                                          std::size_t most) {
  constexpr auto columns = "{:<28} {:<11} {:>7} {:>10} {:>8} {:>8}";  // of a terminal of 80
  const bool has_groups = now.size() < most;
  std::vector<std::string> lines{
      fmt::format(columns, "actor", "state", "mailbox", "messages/s", "last", "restarts")};
  for (const tree_row& row : now) {
    const std::string name =
        std::string(has_groups ? static_cast<std::size_t>(2 * row.depth) : 0, ' ') + row.name;
    if (!row.is_group) {
      lines.push_back(fmt::format(columns, name, row.state, row.mailbox, rate_text(before, row, elapsed),
                                  age_text(row.last_message), row.restarts));
    } else if (has_groups) {
      lines.push_back(fmt::format(columns, name, row.state, "", "", "", row.restarts));
    }
  }
  return lines;
}

}  // namespace troupe::cli
