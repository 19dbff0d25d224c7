// What the metrics tell of the actors of one kind; the members of a pool add up.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "metrics/histogram.hpp"

namespace troupe::metrics {

class histogram_family;

class actor_meter {
 public:
  actor_meter(std::string actor, histogram_family& messages)
      : actor_(std::move(actor)), messages_(messages) {}
  actor_meter(const actor_meter&) = delete;
  actor_meter& operator=(const actor_meter&) = delete;

  const std::string& actor() const { return actor_; }

  // How long messages of this kind take; there, at zero, from the first call on. Keep the reference.
  histogram& message(const std::string& name);
  void add_restart() { restarts_.fetch_add(1, std::memory_order_relaxed); }

  std::uint64_t restarts() const { return restarts_.load(std::memory_order_relaxed); }
  std::int64_t mailbox_size() const { return mailbox_size_.load(std::memory_order_relaxed); }

  // One actor's share of mailbox_size; it ends with the actor.
  class mailbox {
   public:
    explicit mailbox(actor_meter& meter) : total_(meter.mailbox_size_) {}
    ~mailbox() { set(0); }
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;

    // By the actor itself.
    void set(std::size_t size) {
      if (size == size_) return;
      total_.fetch_add(static_cast<std::int64_t>(size) - static_cast<std::int64_t>(size_),
                       std::memory_order_relaxed);
      size_ = size;
    }

   private:
    std::atomic<std::int64_t>& total_;
    std::size_t size_ = 0;
  };

 private:
  const std::string actor_;
  std::atomic<std::int64_t> mailbox_size_{0};
  std::atomic<std::uint64_t> restarts_{0};
  histogram_family& messages_;
};

}  // namespace troupe::metrics
