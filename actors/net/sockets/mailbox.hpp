// Carries values from any thread to a connection on the io_context thread, within a bound of bytes.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/net/sockets/asio.hpp"

namespace troupe::net {

// The io_context is touched only before close(), which its thread calls: values may come at any later time.
template <class Item>
class mailbox : public std::enable_shared_from_this<mailbox<Item>> {
 public:
  // Called on the io_context thread after a push; several pushes may be one call. `overflowed`: items were
  // dropped, because more than the bound was waiting.
  using wake_callback = std::function<void(bool overflowed)>;

  mailbox(asio::io_context& context, std::size_t max_bytes, wake_callback wake)
      : context_(context), max_bytes_(max_bytes), wake_(std::move(wake)) {}

  // Any thread. From the first item that finds more than `max_bytes` waiting on, all are dropped.
  void push(Item item, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (closed_ || overflowed_) return;
    if (pending_bytes_ > max_bytes_) {
      overflowed_ = true;
    } else {
      pending_bytes_ += bytes;
      items_.push_back(std::move(item));
    }
    schedule();
  }

  // The rest is for the io_context thread.
  std::vector<Item> take() {
    const std::lock_guard lock(mutex_);
    pending_bytes_ = 0;
    return std::exchange(items_, {});
  }
  // What comes later is dropped.
  void close() {
    wake_ = nullptr;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    items_.clear();
  }

  // What waits and what comes is for another: `wake` is called for it, soon for the first time. Where this
  // throws, nothing has changed.
  void hand_over(wake_callback wake) {
    const std::lock_guard lock(mutex_);
    schedule();
    wake_ = std::move(wake);
  }

  // Closes a mailbox at the end of a scope, unless it has been handed over.
  class closer {
   public:
    explicit closer(mailbox& box) : box_(&box) {}
    ~closer() {
      if (box_ != nullptr) box_->close();
    }
    closer(const closer&) = delete;
    closer& operator=(const closer&) = delete;
    void let_go() { box_ = nullptr; }

   private:
    mailbox* box_;
  };

 private:
  void schedule() {  // under mutex_
    if (scheduled_) return;
    asio::post(context_, [self = this->shared_from_this()] { self->wake(); });
    scheduled_ = true;
  }
  void wake() {
    bool overflowed = false;
    {
      const std::lock_guard lock(mutex_);
      scheduled_ = false;
      overflowed = overflowed_;
    }
    const wake_callback wake = wake_;  // it may close the mailbox
    if (wake) wake(overflowed);
  }

  asio::io_context& context_;
  const std::size_t max_bytes_;
  wake_callback wake_;
  std::mutex mutex_;
  std::vector<Item> items_;
  std::size_t pending_bytes_ = 0;
  bool scheduled_ = false;
  bool overflowed_ = false;
  bool closed_ = false;
};

}  // namespace troupe::net
