#include "main/exit_code.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "config/options.hpp"
#include "main/log/journal.hpp"

namespace troupe::cli {

namespace {

std::atomic<bool> has_log = false;

// Where nobody can read it, it is lost: what the process ends with must not depend on that.
void print(std::string_view lines, const char* priority) {
  const bool has_priority = is_journal(STDERR_FILENO);
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += fmt::format("{}{}\n", has_priority ? priority : "", lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void print_error(std::string_view lines) { print(lines, SD_ERR); }

void complain(const std::string& message) {
  if (has_log) return spdlog::error("{}", message);
  print_error("troupe: " + message);
}

void warn(const std::string& message) {
  if (has_log) return spdlog::warn("{}", message);
  print("troupe: warning: " + message, SD_WARNING);
}

void complain_in_log() { has_log = true; }

int finish_output(int code) {
  errno = 0;
  const bool written = !std::cout.flush().fail() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written) return code;
  // The reason of an earlier write is not known any more.
  complain(std::string("the output could not be written") +
           (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return code == exit_ok ? exit_failure : code;
}

int report(const error& failure) {
  complain(failure.message);
  switch (failure.code) {
    case error_code::not_found:
    case error_code::corrupt_file:
    case error_code::io_error:
      return exit_no_model;
    case error_code::unsupported:
      return config::find_option(failure.param) == nullptr ? exit_no_model : exit_configuration;
    case error_code::invalid_argument:
      return exit_configuration;
    case error_code::internal:
      return exit_internal;
    case error_code::context_length_exceeded:
    case error_code::too_large:
    case error_code::resource_exhausted:
    case error_code::unavailable:
    case error_code::unauthenticated:
      return exit_failure;
  }
  return exit_failure;
}

int report_listening(const error& failure, const char* option) {
  const bool is_setting = failure.code == error_code::invalid_argument;
  const bool is_of_port = !is_setting && failure.param == "port";
  complain(is_of_port ? fmt::format("{}; {} takes another port", failure.message, option) : failure.message);
  return is_setting ? exit_configuration : exit_failure;
}

}  // namespace troupe::cli
