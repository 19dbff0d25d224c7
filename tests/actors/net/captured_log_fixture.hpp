// What is logged while it lives, in place of where the log goes.
#pragma once
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace troupe::net::testing {

class captured_log {
 public:
  captured_log() : before_(spdlog::default_logger()) {
    auto logger =
        std::make_shared<spdlog::logger>("captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~captured_log() { spdlog::set_default_logger(before_); }
  captured_log(const captured_log&) = delete;
  captured_log& operator=(const captured_log&) = delete;

  // Once nobody logs any more: "info the message".
  std::vector<std::string> lines() const {
    std::istringstream in(text_.str());
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

  // Of these, the ones with this text.
  std::size_t count(const std::string& text) const {
    const auto all = lines();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

}  // namespace troupe::net::testing
