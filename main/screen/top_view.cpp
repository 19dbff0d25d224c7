#include "main/screen/top_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace troupe::cli {
namespace {

std::string duration(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  if (*seconds >= 1) return fmt::format("{:.2f} s", *seconds);
  if (*seconds >= 1e-3) return fmt::format("{:.1f} ms", *seconds * 1e3);
  return fmt::format("{:.0f} us", *seconds * 1e6);
}

std::string percent(const std::optional<double>& share) {
  return share && std::isfinite(*share) ? fmt::format("{:.1f} %", *share * 100) : "-";
}

std::string bar(double share, int width) {
  if (!std::isfinite(share)) return std::string(static_cast<std::size_t>(width), '.');
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width + 0.5);
  return std::string(full, '#') + std::string(static_cast<std::size_t>(width) - full, '.');
}

std::vector<std::string> figure_lines(const metrics::service_figures& now, const std::string& health) {
  std::vector<std::string> lines{
      fmt::format("troupe {}  {}  {}", now.version, health, now.model),
      fmt::format("{}, {}, {} threads; {:.2f} cores busy, {:.0f} MiB", now.cpu, now.kernel_path, now.threads,
                  now.cpu_cores, now.resident_bytes / (1 << 20)),
      "",
      fmt::format("requests   running {:<6.0f} waiting {:<6.0f} ended {:.1f}/s   errors {:.1f}/s",
                  now.running, now.waiting, now.ended_per_second, now.errors_per_second),
      fmt::format("tokens     generated {:.1f}/s   prompts {:.1f}/s   found in the cache {}",
                  now.generated_per_second, now.prompt_per_second, percent(now.prefix_cache_hits)),
      fmt::format("first      median {:<10} 99 % {}", duration(now.first_token.median),
                  duration(now.first_token.p99)),
      fmt::format("between    median {:<10} 99 % {}", duration(now.inter_token.median),
                  duration(now.inter_token.p99)),
      fmt::format("KV cache   [{}] {}   preemptions {:.0f}", bar(now.kv_cache_usage, 30),
                  percent(now.kv_cache_usage), now.preemptions)};
  if (now.accepted_drafts)
    lines.push_back(fmt::format("drafts     accepted {}", percent(now.accepted_drafts)));
  if (now.last_step_age > 1)
    lines.push_back(
        fmt::format("no step has ended for {}", duration(std::optional<double>(now.last_step_age))));
  if (now.last_reload_refused)
    lines.emplace_back("the last reload was refused: the settings before it are in force");
  lines.emplace_back();
  return lines;
}

std::vector<std::string> actors_of(const metrics::service_figures& now) {
  std::vector<std::string> lines{fmt::format("{:<20} {:>8} {:>12} {:>10} {:>9}", "actor", "mailbox",
                                             "messages/s", "mean time", "restarts")};
  for (const metrics::actor_figures& each : now.actors)
    lines.push_back(fmt::format("{:<20} {:>8.0f} {:>12.1f} {:>10} {:>9.0f}", each.actor, each.mailbox_size,
                                each.messages_per_second, duration(each.message_time), each.restarts));
  return lines;
}

// Empty lines go first.
void fit(std::vector<std::string>& lines, std::size_t height) {
  if (lines.size() > height) std::erase(lines, "");
  if (lines.size() <= height) return;
  const std::size_t left_out = lines.size() - height + 1;
  lines.resize(height);
  lines.back() = fmt::format("... {} more lines: they need a larger terminal", left_out);
}

// What a service says, such as a name of a model or an actor, is not to move the cursor: terminals take the
// characters from U+0080 to U+009F for such orders, too.
std::string printable(std::string line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const bool begins_order =
        byte == 0xC2 && i + 1 < line.size() && static_cast<unsigned char>(line[i + 1]) < 0xA0;
    if (byte < ' ' || byte == 0x7F) line[i] = '?';
    if (begins_order) line.replace(i, 2, "?");
  }
  return line;
}

// As many bytes at most, and no part of a character.
std::string first_bytes(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

std::string view_line(const std::string& text, const view_size& size) {
  return printable(first_bytes(text, static_cast<std::size_t>(std::max(size.width, 20)))) + '\n';
}

std::string top_view(const metrics::service_figures& now, const std::string& health,
                     const actor_lines& actors, const view_size& size) {
  const std::size_t height = std::max<std::size_t>(size.height, 3);
  std::vector<std::string> lines = figure_lines(now, health);
  const auto filled =
      static_cast<std::size_t>(std::ranges::count_if(lines, [](const auto& each) { return !each.empty(); }));
  const std::size_t rest = height > filled ? height - filled : 0;
  for (std::string& line : actors ? actors(rest) : actors_of(now)) lines.push_back(std::move(line));
  fit(lines, height);
  std::string text;
  for (const std::string& line : lines) text += view_line(line, size);
  return text;
}

}  // namespace troupe::cli
