#include "runtime/supervision/opening_watch.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr double busy_share = 0.01;  // of a core
constexpr int patiences_to_compute = 5;

}  // namespace

opening_watch::verdict opening_watch::look(steady_time now, const std::optional<process_work>& done) {
  if (done) compare(now, *done);
  const std::chrono::nanoseconds idle = now - moved_;
  if (idle > patience_) return verdict::hangs;
  return idle > patience_ / 2 ? verdict::is_late : verdict::gets_on;
}

std::string opening_watch::describe_idle(const std::string& who, steady_time now) const {
  const std::chrono::duration<double> idle = now - moved_;
  return fmt::format("{} has got nowhere for {:.4g} s", who, idle.count());
}

void opening_watch::compare(steady_time now, const process_work& done) {
  if (!known_) known_ = process_work{.major_faults = done.major_faults, .read_bytes = done.read_bytes};
  // Less was read only where /proc did not say.
  const bool has_read = done.major_faults > known_->major_faults || done.read_bytes > known_->read_bytes;
  const double busy = busy_share * std::chrono::duration<double>(patience_).count();
  const bool has_computed =
      done.cpu_seconds - known_->cpu_seconds >= busy && now - read_ <= patiences_to_compute * patience_;
  if (has_read) read_ = now;
  if (!has_read && !has_computed) return;
  moved_ = now;
  known_ = done;
}

std::string name_of_opener(std::int32_t process) {
  return fmt::format("the runner process {}, which opens its device,", process);
}

}  // namespace troupe
