// The keys that open a port, which may be replaced while it is open. Any thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "actors/net/key_digest.hpp"

namespace troupe::net {

class keys_in_force {
 public:
  explicit keys_in_force(key_digest keys) : keys_(std::move(keys)), size_(keys_.size()) {}

  std::size_t size() const { return size_; }
  // There are none: nobody needs one.
  bool empty() const { return size_ == 0; }
  // Whether it is one of them, in the same time whatever is wrong with it.
  bool matches(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    return keys_.matches(text);
  }
  // Whether these are the ones.
  bool are(std::span<const std::string> texts) const {
    std::unique_lock lock(mutex_);
    const key_digest keys = keys_;
    lock.unlock();  // to compare many takes a while
    return keys.are(texts);
  }
  // From now on no others will do.
  void replace(key_digest keys) noexcept {
    const std::lock_guard lock(mutex_);
    keys_ = std::move(keys);
    size_ = keys_.size();
  }

 private:
  mutable std::mutex mutex_;
  key_digest keys_;
  std::atomic<std::size_t> size_;
};

// Whether whoever shows this key, or none (an empty one), is served; `keys`: null where nobody needs one.
inline bool is_authorized(const keys_in_force* keys, std::string_view key) {
  return keys == nullptr || keys->empty() || (!key.empty() && keys->matches(key));
}

}  // namespace troupe::net
