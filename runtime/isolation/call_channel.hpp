// The memory through which a service calls its runner process, with a bell for either side. Each call has a
// slot for its message and then its answer; there are two, used in turn, so that one call may be asked while
// the one before it runs.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/executor/machine/page_memory.hpp"
#include "runtime/executor/threads/longest_sleep.hpp"
#include "runtime/isolation/flat_message.hpp"
#include "runtime/result.hpp"

namespace troupe {

enum class executor_call : std::uint32_t {
  open,
  reserve_steps,
  profile,
  choices,
  use_choices,
  take_kv_cache,
  forward,
  sample,
  begin_sample,
  collect,
  load_dummy_hidden_states,
  synchronize,
  figures,
  close,
};

// Value: the answer follows. Failure: an `error` follows. Shortage, or fault: the text of an exception
// follows, of out_of_device_memory or any other.
enum class call_outcome : std::uint32_t { value, failure, shortage, fault };

// What a call is, or what became of it.
struct call_header {
  executor_call call = executor_call::open;
  call_outcome outcome = call_outcome::value;
  std::uint32_t device = 0;  // which of the process's executors
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;  // of the message
};

// Which call, counted from 0; wraps around.
using call_number = std::uint32_t;

// Once per process, of which each is one end: call_client is the service's, call_server the other's.
class call_channel {
 public:
  call_channel() = default;
  call_channel(call_channel&& other) noexcept { swap(other); }
  call_channel& operator=(call_channel&& other) noexcept {
    swap(other);
    return *this;
  }
  ~call_channel();

  // For a process that is started next. Errors: resource_exhausted, unavailable.
  static result<call_channel> create();
  // What descriptors() were, in that process: takes them over.
  static result<call_channel> inherit(std::span<const int> descriptors);
  static constexpr std::size_t num_descriptors = 3;
  std::array<int, num_descriptors> descriptors() const {
    return {memory_.descriptor(), asked_bell_, answered_bell_};
  }

  // How many calls there were, and how many answers. To say so wakes the other end, where it sleeps until
  // then.
  call_number num_asked() const { return counts().asked.load(std::memory_order_acquire); }
  call_number num_answered() const { return counts().answered.load(std::memory_order_acquire); }
  void tell_asked(call_number count);
  void tell_answered(call_number count);
  // Sleeps until there are more calls than these; may wake before.
  void wait_for_call(call_number seen, std::chrono::milliseconds at_most = longest_sleep) const;
  // Sleeps until there are so many answers; may wake before. False: the process of `pidfd` has ended.
  bool wait_for_answers(call_number count, int pidfd,
                        std::chrono::milliseconds at_most = longest_sleep) const;

  // Of the call's slot.
  call_header& header(call_number call) const;
  flat_writer writer(call_number call) const { return flat_writer(room(call)); }
  // Throws std::out_of_range where the header says that it is larger than its slot.
  flat_reader reader(call_number call) const;

 private:
  struct shared_counts {
    std::atomic<call_number> asked;
    std::atomic<call_number> answered;
    // Who sleeps says until when, and then looks once more; who tells looks after telling. So one of them
    // sees the other, in the one order that all operations of sequential consistency have: a release store is
    // not enough, since it may become visible behind the look at who sleeps.
    std::atomic<call_number> awaited_answers;
    std::atomic<std::uint32_t> awaits_call;
  };
  // Two processes share them, which no lock of either would know.
  static_assert(std::atomic<call_number>::is_always_lock_free);
  static constexpr std::size_t line_bytes = 64;  // the counts have one, and so has each header
  static_assert(sizeof(call_header) <= line_bytes && sizeof(shared_counts) <= line_bytes);
  // Far more than the largest step: what is never written takes no memory.
  static constexpr std::size_t slot_bytes = std::size_t{1} << 30;

  void swap(call_channel& other) noexcept;
  shared_counts& counts() const;
  std::byte* slot(call_number call) const { return memory_.data() + line_bytes + (call % 2) * slot_bytes; }
  std::span<std::byte> room(call_number call) const {
    return {slot(call) + line_bytes, slot_bytes - line_bytes};
  }

  page_memory memory_;
  int asked_bell_ = -1;     // eventfd(2)
  int answered_bell_ = -1;  // eventfd(2)
};

}  // namespace troupe
