// The memory through which a service calls its runner process, and a bell on either side: one call at a time,
// its message and then its answer in the same place.
#pragma once
#include <array>
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
  synchronize,
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

  flat_writer writer();
  // Throws std::out_of_range where the header says more than the memory holds.
  flat_reader reader() const;

  // The service: the message is what was written.
  void ask(executor_call call, std::uint32_t device, const flat_writer& message);
  // False: the process of `pidfd` has ended, and there is no answer.
  bool wait_for_answer(int pidfd) const;
  call_header answer() const { return *header(); }

  // The process.
  call_header wait_for_call() const;
  void answer(call_outcome outcome, const flat_writer& message);

 private:
  void swap(call_memory& other) noexcept;
  call_header* header() const { return reinterpret_cast<call_header*>(memory_.data()); }
  std::span<std::byte> message() const;

  page_memory memory_;
  int asked_ = -1;     // eventfd(2)
  int answered_ = -1;  // eventfd(2)
};

}  // namespace troupe
