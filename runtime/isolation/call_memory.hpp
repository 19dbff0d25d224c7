// The memory through which a service calls its runner process, and a bell on either side. Each call has a
// place for its message and then its answer; there are two, so that one call may be asked while the one
// before it runs.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/executor/page_memory.hpp"
#include "runtime/isolation/flat_message.hpp"
#include "runtime/result.hpp"

namespace troupe {

enum class executor_call : std::uint32_t {
  open,
  reserve_steps,
  profile,
  take_kv_cache,
  forward,
  sample,
  load_dummy_hidden_states,
};

// Value: the answer follows. Failure: an `error` follows. Fault: the text of an exception follows.
enum class call_outcome : std::uint32_t { value, failure, fault };

// What a call is, or what became of it.
struct call_header {
  executor_call call = executor_call::open;
  call_outcome outcome = call_outcome::value;
  std::uint32_t device = 0;  // which of the process's executors
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;  // of the message
};

class call_memory {
 public:
  call_memory() = default;
  call_memory(call_memory&& other) noexcept { swap(other); }
  call_memory& operator=(call_memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~call_memory();

  // For a process that is started next. Errors: resource_exhausted, io_error.
  static result<call_memory> create();
  // What descriptors() were, in that process: takes them over.
  static result<call_memory> inherit(std::span<const int> descriptors);
  static constexpr std::size_t num_descriptors = 3;
  std::array<int, num_descriptors> descriptors() const { return {memory_.descriptor(), asked_, answered_}; }

  // The service: the next call's message, and the call of it. At most two are not answered yet.
  flat_writer message();
  void ask(executor_call call, std::uint32_t device, const flat_writer& message);
  // Waits until all are answered. False: the process of `pidfd` has ended before.
  bool wait_for_answers(int pidfd) const;
  // Of the last call, or of the one before it. Throws std::out_of_range where an answer says that it is
  // larger than its place.
  call_header header_of(std::uint32_t calls_before_last) const;
  flat_reader answer_of(std::uint32_t calls_before_last) const;

  // The process: what is asked next, its message, and its answer, which may be written when that has been
  // read.
  call_header wait_for_call();
  flat_reader message_of_call() const;
  flat_writer answer();
  void answer(call_outcome outcome, const flat_writer& message);

 private:
  struct shared_counts {
    std::atomic<std::uint32_t> asked;
    std::atomic<std::uint32_t> answered;
  };
  void swap(call_memory& other) noexcept;
  shared_counts& counts() const { return *reinterpret_cast<shared_counts*>(memory_.data()); }
  call_header& header(std::uint32_t call) const;
  std::span<std::byte> place(std::uint32_t call) const;
  flat_reader read(std::uint32_t call) const;

  page_memory memory_;
  std::uint32_t calls_ = 0;  // asked by the service, or begun by the process
  int asked_ = -1;           // eventfd(2)
  int answered_ = -1;        // eventfd(2)
};

}  // namespace troupe
