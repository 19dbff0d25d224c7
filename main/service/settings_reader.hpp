// The sources of a reload, read on a thread that nobody waits for without end: a file may lie on a disk that
// does not answer.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "config/admin_key.hpp"
#include "config/api_keys.hpp"
#include "config/load.hpp"
#include "main/service/file_contents.hpp"
#include "runtime/result.hpp"

namespace troupe::cli {

struct read_sources {
  config::loaded_settings loaded;
  std::optional<tl::expected<config::admin_key, std::string>> key;  // nothing: there are no operators
  tl::expected<config::api_keys, std::string> clients = {};
  file_contents files = {};
};

class settings_reader {
 public:
  // Is called on another thread, which may outlive the reader.
  using reading = std::function<result<read_sources>(const config::file_observer& before_file)>;

  explicit settings_reader(reading read, std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~settings_reader();
  settings_reader(const settings_reader&) = delete;
  settings_reader& operator=(const settings_reader&) = delete;

  // One thread at a time. Errors: those of the reading; unavailable, with the name of what it waits for,
  // where it takes longer than the patience or an earlier one has not come back, and after end(); internal.
  result<read_sources> read();
  // Whoever reads waits no longer. Any thread.
  void end();

 private:
  struct shared_state;
  const reading read_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<shared_state> state_;  // the threads', too
};

}  // namespace troupe::cli
