#include "main/service/reloader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "config/admin_key.hpp"
#include "config/api_keys.hpp"
#include "config/reload.hpp"
#include "main/load.hpp"
#include "main/log/logging.hpp"
#include "main/service/file_contents.hpp"
#include "main/setup/company_options.hpp"

namespace troupe::cli {
namespace {

tl::unexpected<error> refused(std::string why) { return fail(error_code::invalid_argument, std::move(why)); }

// Of the sources of the start, once more.
settings_reader::reading reading_of(config::setting_sources sources, const config::settings& in_force,
                                    bool has_operators) {
  sources.are_read_again = true;
  sources.device_in_use = in_force.device;
  return [sources, has_operators](const config::file_observer& before_file) -> result<read_sources> {
    auto loaded = read_settings_here(sources, before_file);
    if (!loaded) return refused(loaded.error());
    read_sources all{.loaded = std::move(*loaded), .key = {}};
    if (has_operators) all.key = config::read_admin_key(config::admin_key_place_of(all.loaded), before_file);
    all.clients = config::read_api_keys(all.loaded, before_file);
    all.files = contents_of_files(all.loaded.values, before_file);
    return all;
  };
}

}  // namespace

// What a reload takes up besides the company's limits.
struct reloader::new_settings {
  log_change log;
  config::loaded_settings loaded = {};
  std::optional<net::key_digest> key = {};      // the operators', if it is another one
  std::optional<net::key_digest> clients = {};  // likewise
  news told = {};
  std::string line = {};  // of its changes, for the log; empty: there are none

  // One whose values are told nobody.
  void tell_secret(std::string setting, std::string_view words) {
    told.changes.push_back({std::move(setting), std::nullopt, std::nullopt});
    line += (line.empty() ? "" : ", ") + std::string(words);
  }
};

reloader::reloader(const settings_at_start& settings, reloaded_parts parts)
    : parts_(parts),
      reader_(reading_of(settings.sources, settings.values, parts.operators != nullptr)),
      files_at_start_(settings.files),
      in_force_(settings.values) {
  thread_ = std::thread([this] { work(); });
}

reloader::~reloader() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  reader_.end();
  thread_.join();
  for (const reply& answer : asked_) answer(fail(error_code::unavailable, "the service is about to end"));
}

void reloader::ask(reply answer) {
  const std::lock_guard lock(mutex_);
  asked_.push_back(std::move(answer));
  changed_.notify_all();
}

config::settings reloader::in_force() const {
  const std::lock_guard lock(mutex_);
  return in_force_;
}

bool reloader::is_ending() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

void reloader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || !asked_.empty(); });
    if (is_over_) return;
    const reply answer = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    answer(reload_and_tell());
    lock.lock();
  }
}

result<reloader::news> reloader::reload_and_tell() {
  if (parts_.stop.told()) {
    const error ending{error_code::unavailable, "the service is about to end"};
    log_refusal(ending);
    return tl::unexpected(ending);
  }
  parts_.watch.line().reloading();
  result<news> outcome = reload();
  parts_.served.note_reload(outcome.has_value());
  if (!outcome) log_refusal(outcome.error());
  parts_.watch.line().reloaded(outcome ? "serving"
                                       : "serving; the last reload was refused: " + outcome.error().message);
  return outcome;
}

// Each has its line: who sends SIGHUP is told of the reason nowhere else.
void reloader::log_refusal(const error& why) const {
  if (parts_.stop.told() || is_ending())
    spdlog::warn("reload refused: {}", why.message);
  else
    spdlog::error("reload refused, nothing has changed: {}", why.message);
}

result<reloader::news> reloader::reload() try {
  result<new_settings> wanted = prepare();
  if (!wanted) return tl::unexpected<error>(wanted.error());
  if (const auto told = tell_company(wanted->loaded.values); !told) {
    return tl::unexpected(with_origin(wanted->loaded, told.error()));
  }
  return take_up(std::move(*wanted));
} catch (const std::exception& fault) {  // no memory, no random bytes: before anything has changed
  return fail(error_code::internal, fault.what());
}

result<reloader::new_settings> reloader::prepare() {
  config::settings before = in_force();
  before.log_level = log_level();  // an operator may have set another one meanwhile
  result<read_sources> read = reader_.read();
  if (!read) return tl::unexpected<error>(read.error());
  config::loaded_settings& loaded = read->loaded;
  // What nobody says was chosen for the cores and sequences that there were, and the device is sized by it.
  if (!loaded.origins.contains("max_num_batched_tokens"))
    loaded.values.max_num_batched_tokens = before.max_num_batched_tokens;
  const auto planned = config::plan_reload(before, loaded);
  if (!planned) return refused(planned.error());
  new_settings wanted{.log = log_change(loaded.values)};
  for (const config::setting_change& each : *planned)
    wanted.told.changes.push_back({std::string(each.which->name), each.before, each.after});
  if (!planned->empty()) wanted.line = config::describe(*planned);
  wanted.told.warnings = loaded.warnings;
  wanted.told.overridden = loaded.overridden;
  for (const auto& [option, path] : files_changed(files_at_start_, read->files))
    wanted.told.warnings.push_back(
        fmt::format("{}: what {} says has changed since the start, and needs a restart", option, path));
  if (read->key) {
    const auto& key = *read->key;
    if (!key) return refused(key.error());
    if (!key->warning.empty()) wanted.told.warnings.push_back(key->warning);
    if (!parts_.operators->matches(key->text)) {
      wanted.key.emplace(key->text);
      wanted.tell_secret("admin_key", "another operators' key");
    }
  }
  if (!read->clients) return refused(read->clients.error());
  if (!read->clients->warning.empty()) wanted.told.warnings.push_back(read->clients->warning);
  if (!parts_.clients.are(read->clients->texts)) {
    wanted.clients.emplace(read->clients->texts);
    wanted.tell_secret("api_key", "other clients' keys");
    if (read->clients->texts.empty())
      wanted.told.warnings.emplace_back(
          "clients need no key any more: anybody who reaches the ports is served");
  }
  if (wanted.line.empty()) wanted.line = "nothing is different";
  // Whoever changes a source that another one overrides would look for what went wrong.
  if (!loaded.overridden.empty())
    wanted.line += fmt::format("; overridden: {}", fmt::join(loaded.overridden, ", "));
  wanted.loaded = std::move(loaded);
  return wanted;
}

reloader::news reloader::take_up(new_settings&& wanted) noexcept {
  static_assert(std::is_nothrow_move_assignable_v<config::settings>);
  for (const std::string& warning : wanted.told.warnings) spdlog::warn("{}", warning);
  if (wanted.key) parts_.operators->replace(std::move(*wanted.key));
  if (wanted.clients) parts_.clients.replace(std::move(*wanted.clients));
  parts_.watch.set_patience(patience_of(wanted.loaded.values));
  // By the more talkative of the two levels, the one before and the new one.
  const bool is_told = spdlog::should_log(spdlog::level::info);
  if (is_told) spdlog::info("reloaded: {}", wanted.line);
  wanted.log.take_up(parts_.requests);
  if (!is_told) spdlog::info("reloaded: {}", wanted.line);
  const std::lock_guard lock(mutex_);
  in_force_ = std::move(wanted.loaded.values);
  return std::move(wanted.told);
}

// The promise is shared: whoever keeps it is not done with it when the answer is there.
result<void> reloader::tell_company(const config::settings& wanted) {
  const auto told = std::make_shared<std::promise<result<void>>>();
  auto answer = told->get_future();
  parts_.served.reload(to_company_limits(wanted),
                       [told](result<void> outcome) { told->set_value(std::move(outcome)); });
  return answer.get();
}

}  // namespace troupe::cli
