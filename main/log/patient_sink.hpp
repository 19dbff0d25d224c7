// Where the log's lines go, and that nobody waits for who reads them.
#pragma once
#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace troupe::cli {

// Writes lines to a descriptor of a terminal, a pipe, a socket or a file, best one that does not block. A
// reader who takes nothing for as long as `patience` is waited for no more; until it reads again lines are
// dropped, and then it is told how many. Colours, where asked for, are those of the level, for what the
// formatter has marked.
class patient_sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  patient_sink(int descriptor, bool in_color,
               std::chrono::milliseconds patience = std::chrono::milliseconds(100))
      : descriptor_(descriptor), in_color_(in_color), patience_(patience) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  spdlog::memory_buf_t text_of(const spdlog::details::log_msg& message);
  void tell_dropped();
  // False: not all of it, and the rest is dropped.
  bool write(std::string_view text);
  // Whether it takes bytes, at once where it has not in time before.
  bool takes_some();

  int descriptor_;
  bool in_color_;
  std::chrono::milliseconds patience_;
  bool is_stuck_ = false;  // the reader has taken nothing for so long
  bool is_torn_ = false;   // the last line is there in part
  std::uint64_t dropped_ = 0;
};

// To the standard error stream, in colours where there may be some. Once in a process: what it opens
// stays open.
spdlog::sink_ptr make_stderr_sink();

}  // namespace troupe::cli
