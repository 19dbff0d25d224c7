#include "main/log/patient_sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <string>

#include "main/screen/terminal.hpp"

namespace troupe::cli {
namespace {

constexpr std::string_view plain = "\033[m";
// By level: trace, debug, info, warn, error, critical, off; those of spdlog's own sinks.
constexpr std::array<std::string_view, 7> colors{
    "\033[37m", "\033[36m", "\033[32m", "\033[33m\033[1m", "\033[31m\033[1m", "\033[1m\033[41m", ""};

void append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

}  // namespace

void patient_sink::sink_it_(const spdlog::details::log_msg& message) {
  if (dropped_ > 0 && takes_some()) tell_dropped();
  const spdlog::memory_buf_t text = text_of(message);
  if (!write({text.data(), text.size()})) ++dropped_;
}

spdlog::memory_buf_t patient_sink::text_of(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t text;
  message.color_range_start = message.color_range_end = 0;
  formatter_->format(message, text);
  if (!in_color_ || message.color_range_end <= message.color_range_start) return text;
  const std::string_view all(text.data(), text.size());
  spdlog::memory_buf_t colored;
  append(colored, all.substr(0, message.color_range_start));
  append(colored, colors.at(static_cast<std::size_t>(message.level)));
  append(colored, all.substr(message.color_range_start, message.color_range_end - message.color_range_start));
  append(colored, plain);
  append(colored, all.substr(message.color_range_end));
  return colored;
}

void patient_sink::tell_dropped() {
  const std::string told =
      fmt::format("{} lines of the log were dropped: nobody read it, or it could not be written", dropped_);
  const spdlog::memory_buf_t text =
      text_of(spdlog::details::log_msg(spdlog::string_view_t("troupe"), spdlog::level::warn, told));
  if (write({text.data(), text.size()})) dropped_ = 0;
}

// Where the descriptor blocks all the same: a pipe or a socket that takes any bytes takes so many without a
// wait.
bool patient_sink::write(std::string_view text) {
  std::string whole;
  if (is_torn_) text = whole.append("\n").append(text);
  while (!text.empty()) {
    if (!takes_some()) return false;
    const ssize_t written = ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
    is_torn_ = !text.empty();
  }
  return true;
}

bool patient_sink::takes_some() {
  pollfd where{descriptor_, POLLOUT, 0};
  const int patience = is_stuck_ ? 0 : static_cast<int>(patience_.count());
  int ready = 0;
  do ready = ::poll(&where, 1, patience);
  while (ready < 0 && errno == EINTR);
  is_stuck_ = ready == 0;
  return ready > 0;
}

namespace {

// The terminal or the pipe opened once more, so that writing there need not block and nobody else's does not,
// either; standard error itself where that cannot be. A file would be written from its beginning again.
int open_without_blocking() {
  struct stat what {};
  if (::fstat(STDERR_FILENO, &what) != 0 || (!S_ISCHR(what.st_mode) && !S_ISFIFO(what.st_mode)))
    return STDERR_FILENO;
  const int opened = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  return opened < 0 ? STDERR_FILENO : opened;
}

}  // namespace

spdlog::sink_ptr make_stderr_sink() {
  return std::make_shared<patient_sink>(open_without_blocking(), may_have_colors(STDERR_FILENO));
}

}  // namespace troupe::cli
