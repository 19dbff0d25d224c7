// The operators' key in force. Any thread.
#pragma once
#include <mutex>
#include <string_view>

#include "actors/net/key_digest.hpp"

namespace troupe::cli {

class operators_key {
 public:
  explicit operators_key(net::key_digest key) : key_(key) {}

  // In the same time whatever is wrong with it.
  bool matches(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    return key_.matches(text);
  }
  // From now on no other will do.
  void replace(net::key_digest key) {
    const std::lock_guard lock(mutex_);
    key_ = key;
  }

 private:
  mutable std::mutex mutex_;
  net::key_digest key_;
};

}  // namespace troupe::cli
