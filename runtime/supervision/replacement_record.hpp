// What somebody's ends, and how long it takes until there is another, say of whether to count on them.
#pragma once
#include <chrono>
#include <optional>

#include "runtime/request.hpp"

namespace troupe {

class replacement_record {
 public:
  // Who has lived for so long does not end again and again.
  static constexpr std::chrono::seconds time_to_settle{10};
  enum class trouble { none, takes_long, recurs };

  // There is nobody any more; there is somebody again.
  void ended(steady_time now);
  void is_back(steady_time now);
  // What has happened until now does not count.
  void clear() { ends_ = 0; }

  trouble trouble_at(steady_time now) const;
  // Since when there is nobody; nothing where there is somebody.
  std::optional<steady_time> gone_since() const { return gone_; }

 private:
  bool has_settled(steady_time now) const;

  std::optional<steady_time> gone_;
  steady_time back_{};
  int ends_ = 0;  // since somebody has last lived for long, that end included
};

}  // namespace troupe
