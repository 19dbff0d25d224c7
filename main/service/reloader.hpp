// New settings for a running service: read from the sources that it was started with, taken as a whole or not
// at all. One reload after another, on a thread of its own.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "actors/company.hpp"
#include "actors/net/admin/operator_commands.hpp"
#include "actors/net/keys_in_force.hpp"
#include "actors/net/telemetry/request_log.hpp"
#include "config/load.hpp"
#include "main/service/service_manager.hpp"
#include "main/service/settings_reader.hpp"
#include "main/service/stop_request.hpp"

namespace troupe::cli {

// Who goes by the settings, besides the rest of the log. All outlive the reloader.
struct reloaded_parts {
  company& served;
  liveness_watch& watch;
  const stop_request& stop;
  net::request_log& requests;
  net::keys_in_force* operators;  // null: they have no port
  net::keys_in_force& clients;
};

// What the service has begun with, and where it came from.
struct settings_at_start {
  config::setting_sources sources;
  config::settings values;
  file_contents files;
};

class reloader {
 public:
  using news = net::new_settings_report;
  using reply = std::function<void(const result<news>&)>;

  reloader(const settings_at_start& settings, reloaded_parts parts);
  ~reloader();  // those that were asked for and have not been read are refused; it waits for no file
  reloader(const reloader&) = delete;
  reloader& operator=(const reloader&) = delete;

  // `answer` is called once, on any thread. Any thread.
  void ask(reply answer);
  config::settings in_force() const;

 private:
  struct new_settings;
  bool is_ending() const;
  void work();
  result<news> reload_and_tell();
  void log_refusal(const error& why) const;
  result<news> reload();
  // Everything that can fail comes before anything changes: what is to be taken up is made ready, then the
  // company may refuse it, which takes all of its part or nothing.
  result<new_settings> prepare();
  result<void> tell_company(const config::settings& wanted);
  news take_up(new_settings&& wanted) noexcept;

  const reloaded_parts parts_;
  settings_reader reader_;
  const file_contents files_at_start_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  config::settings in_force_;
  std::deque<reply> asked_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace troupe::cli
