#include "actors/start/opening_guard.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "runtime/isolation/process_handle.hpp"

namespace troupe {
namespace {

using verdict = opening_watch::verdict;

std::chrono::nanoseconds interval_of(std::chrono::nanoseconds patience) {
  return std::clamp<std::chrono::nanoseconds>(patience / 20, std::chrono::milliseconds(5),
                                              std::chrono::milliseconds(250));
}

}  // namespace

opening_guard::opening_guard(std::shared_ptr<const executor_place> place, rules told)
    : place_(std::move(place)),
      told_(std::move(told)),
      progress_(told_.patience, std::chrono::steady_clock::now()) {
  thread_ = std::thread([this] { watch(); });
}

opening_guard::~opening_guard() { end_watch(); }

void opening_guard::end_well() {
  end_watch();
  if (said_ != verdict::gets_on) tell(verdict::gets_on, std::chrono::steady_clock::now());
}

void opening_guard::end_watch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool opening_guard::has_killed(const process_handle& process) const {
  const std::lock_guard lock(mutex_);
  return killed_.get() == &process;
}

void opening_guard::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval_of(told_.patience), [this] { return is_over_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void opening_guard::look() {
  const steady_time now = std::chrono::steady_clock::now();
  auto process = place_->process();
  if (process && process->has_ended()) return;  // there is another one soon, or none any more
  if (process != watched_) {
    watched_ = std::move(process);
    killed_at_.reset();
    progress_ = opening_watch(told_.patience, now);
  }
  if (killed_at_ && now - *killed_at_ > told_.patience / 2) {
    killed_at_.reset();
    return told_.on_hang(fmt::format("{} was killed and does not end", who()));
  }
  const verdict found = progress_.look(now, work());
  if (found != said_) tell(found, now);
}

std::optional<process_work> opening_guard::work() const {
  if (watched_) return watched_->work();
  auto done = read_work_of_other_threads();
  if (done) done->cpu_seconds -= told_.cpu_seconds_beside();
  return done;
}

void opening_guard::tell(verdict found, steady_time now) {
  const verdict before = std::exchange(said_, found);
  if (found == verdict::gets_on) {
    spdlog::info("the start gets on again");
    return told_.on_stall(std::nullopt);
  }
  const std::string why = progress_.describe_idle(who(), now);
  if (before == verdict::gets_on) {
    spdlog::error("not live: {}", why);
    told_.on_stall(why);
  }
  if (found == verdict::hangs) end_who_hangs(why, now);
}

std::string opening_guard::who() const {
  return watched_ ? name_of_opener(watched_->id()) : "the service, which loads the model,";
}

void opening_guard::end_who_hangs(const std::string& why, steady_time now) {
  if (!watched_) return told_.on_hang(why);
  const std::string threads = watched_->describe_threads();
  const std::lock_guard lock(mutex_);
  if (is_over_) return;  // it has opened after all
  spdlog::error("{}: it is killed (threads: {})", why, threads);
  killed_ = watched_;
  killed_at_ = now;
  watched_->kill();
}

}  // namespace troupe
