#include "main/service/settings_reader.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace troupe::cli {

struct settings_reader::shared_state {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reading = false;
  bool is_awaited = false;
  bool is_over = false;
  std::string source;                           // a file, or the device, that is waited for
  std::optional<result<read_sources>> outcome;  // of a reading that is awaited

  void begins(const std::string& name) {
    const std::lock_guard lock(mutex);
    source = name;
  }
  void has_read(result<read_sources>&& all) {
    const std::lock_guard lock(mutex);
    is_reading = false;
    if (is_awaited) outcome = std::move(all);
    changed.notify_all();
  }
};

namespace {

tl::unexpected<error> is_about_to_end() {
  return fail(error_code::unavailable, "the service is about to end");
}

result<read_sources> read_or_say_why_not(const settings_reader::reading& read,
                                         const config::file_observer& before_file) try {
  return read(before_file);
} catch (const std::exception& fault) {  // no memory
  return fail(error_code::internal, fault.what());
}

}  // namespace

settings_reader::settings_reader(reading read, std::chrono::milliseconds patience)
    : read_(std::move(read)), patience_(patience), state_(std::make_shared<shared_state>()) {}

settings_reader::~settings_reader() { end(); }

void settings_reader::end() {
  const std::lock_guard lock(state_->mutex);
  state_->is_over = true;
  state_->changed.notify_all();
}

result<read_sources> settings_reader::read() {
  std::unique_lock lock(state_->mutex);
  if (state_->is_over) return is_about_to_end();
  if (state_->is_reading)
    return fail(error_code::unavailable,
                fmt::format("{}: an earlier reload still waits for it", state_->source));
  state_->source = "the settings";
  std::thread([state = state_, read = read_] {
    state->has_read(read_or_say_why_not(read, [&](const std::string& name) { state->begins(name); }));
  }).detach();
  state_->is_reading = state_->is_awaited = true;
  state_->changed.wait_for(lock, patience_, [this] { return state_->is_over || state_->outcome; });
  state_->is_awaited = false;
  if (auto outcome = std::exchange(state_->outcome, std::nullopt)) return std::move(*outcome);
  if (state_->is_over) return is_about_to_end();
  return fail(error_code::unavailable, fmt::format("{}: no answer within {:.4g} s", state_->source,
                                                   std::chrono::duration<double>(patience_).count()));
}

}  // namespace troupe::cli
