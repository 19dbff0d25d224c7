#include "main/top_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace troupe::cli {
namespace {

std::string duration(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  if (*seconds >= 1) return fmt::format("{:.2f} s", *seconds);
  if (*seconds >= 1e-3) return fmt::format("{:.1f} ms", *seconds * 1e3);
  return fmt::format("{:.0f} us", *seconds * 1e6);
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "-";
}

std::string bar(double share, int width) {
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width + 0.5);
  return std::string(full, '#') + std::string(static_cast<std::size_t>(width) - full, '.');
}

class view_writer {
 public:
  explicit view_writer(int width) : width_(static_cast<std::size_t>(std::max(width, 20))) {}

  void line(std::string_view text) {
    text_ += text.substr(0, width_);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string top_view(const metrics::service_figures& now, const std::string& health,
                     const std::vector<std::string>& actors, int width) {
  view_writer out(width);
  out.line(fmt::format("troupe {}  {}  {}", now.version, now.model, health));
  out.line(fmt::format("{}, {}, {} threads; {:.2f} cores busy, {:.0f} MiB", now.cpu, now.kernel_path,
                       now.threads, now.cpu_cores, now.resident_bytes / (1 << 20)));
  out.line("");
  out.line(fmt::format("requests   running {:<6.0f} waiting {:<6.0f} ended {:.1f}/s   errors {:.1f}/s",
                       now.running, now.waiting, now.ended_per_second, now.errors_per_second));
  out.line(fmt::format("tokens     generated {:.1f}/s   prompts {:.1f}/s   found in the cache {}",
                       now.generated_per_second, now.prompt_per_second, percent(now.prefix_cache_hits)));
  out.line(fmt::format("first      median {:<10} 99 % {}", duration(now.first_token.median),
                       duration(now.first_token.p99)));
  out.line(fmt::format("between    median {:<10} 99 % {}", duration(now.inter_token.median),
                       duration(now.inter_token.p99)));
  out.line(fmt::format("KV cache   [{}] {}   preemptions {:.0f}", bar(now.kv_cache_usage, 30),
                       percent(now.kv_cache_usage), now.preemptions));
  if (now.accepted_drafts) out.line(fmt::format("drafts     accepted {}", percent(now.accepted_drafts)));
  if (now.last_step_age > 1)
    out.line(fmt::format("no step has ended for {}", duration(std::optional<double>(now.last_step_age))));
  out.line("");
  if (!actors.empty()) {
    for (const std::string& line : actors) out.line(line);
    return out.take();
  }
  out.line(fmt::format("{:<20} {:>8} {:>12} {:>10} {:>9}", "actor", "mailbox", "messages/s", "mean time",
                       "restarts"));
  for (const metrics::actor_figures& each : now.actors)
    out.line(fmt::format("{:<20} {:>8.0f} {:>12.1f} {:>10} {:>9.0f}", each.actor, each.mailbox_size,
                         each.messages_per_second, duration(each.message_time), each.restarts));
  return out.take();
}

}  // namespace troupe::cli
