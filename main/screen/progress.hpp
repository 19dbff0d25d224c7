// Progress as a bar on the standard error stream, where that is a terminal.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace troupe::cli {

// "[########        ] 3/8 what"; `width` characters between the brackets.
std::string progress_text(std::int64_t done, std::int64_t total, const std::string& what, int width = 24);

class progress_bar {
 public:
  // Nothing is shown where `shown` is false.
  explicit progress_bar(bool shown) : shown_(shown) {}
  ~progress_bar() { clear(); }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  // At most ten times a second, besides the last.
  void update(std::int64_t done, std::int64_t total, const std::string& what);
  void clear();  // leaves an empty line

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace troupe::cli
