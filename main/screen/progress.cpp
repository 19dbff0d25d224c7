#include "main/screen/progress.hpp"

#include <algorithm>
#include <cstdio>

namespace troupe::cli {

std::string progress_text(std::int64_t done, std::int64_t total, const std::string& what, int width) {
  const std::int64_t filled = total > 0 ? std::clamp<std::int64_t>(done * width / total, 0, width) : 0;
  std::string bar(static_cast<std::size_t>(filled), '#');
  bar.resize(static_cast<std::size_t>(width), ' ');
  return "[" + bar + "] " + std::to_string(done) + "/" + std::to_string(total) + " " + what;
}

void progress_bar::update(std::int64_t done, std::int64_t total, const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || (drawn_ && done < total && now - last_ < std::chrono::milliseconds(100))) return;
  last_ = now;
  drawn_ = true;
  std::fprintf(stderr, "\r\x1b[K%s", progress_text(done, total, what).c_str());
  std::fflush(stderr);
}

void progress_bar::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace troupe::cli
