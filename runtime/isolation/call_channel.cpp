#include "runtime/isolation/call_channel.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <utility>

namespace troupe {
namespace {

constexpr auto order = std::memory_order_seq_cst;  // of what call_channel::shared_counts tells

void ring(int bell) {
  const std::uint64_t once = 1;
  while (::write(bell, &once, sizeof once) < 0 && errno == EINTR) {
  }
}

// Of a bell that has rung.
void hear(int bell) {
  std::uint64_t rings = 0;
  while (::read(bell, &rings, sizeof rings) < 0)
    if (errno != EINTR) throw std::runtime_error("the bell of the other process is gone");
}

// Until the bell rings, or `at_most` is over. False: the process of `pidfd`, if any, has ended before.
bool wait_for(int bell, std::chrono::milliseconds at_most, int pidfd = -1) {
  pollfd watched[2] = {{bell, POLLIN, 0}, {pidfd, POLLIN, 0}};
  if (::poll(watched, 2, static_cast<int>(at_most.count())) < 0) {
    if (errno == EINTR) return true;
    throw std::runtime_error("the bell of the other process is gone");
  }
  if (watched[0].revents != 0) hear(bell);
  return watched[0].revents != 0 || watched[1].revents == 0;
}

}  // namespace

call_channel::~call_channel() {
  for (const int bell : {asked_bell_, answered_bell_})
    if (bell >= 0) ::close(bell);
}

void call_channel::swap(call_channel& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(asked_bell_, other.asked_bell_);
  std::swap(answered_bell_, other.answered_bell_);
}

result<call_channel> call_channel::create() {
  call_channel made;
  auto memory = page_memory::allocate_shared(line_bytes + 2 * slot_bytes, "troupe steps");
  if (!memory) return tl::unexpected(memory.error());
  made.memory_ = std::move(*memory);
  new (made.memory_.data()) shared_counts{};
  for (const call_number call : {0U, 1U}) new (made.slot(call)) call_header{};
  made.asked_bell_ = ::eventfd(0, EFD_CLOEXEC);
  made.answered_bell_ = ::eventfd(0, EFD_CLOEXEC);
  if (made.asked_bell_ < 0 || made.answered_bell_ < 0)
    return fail(error_code::unavailable, "no descriptors are left for a runner process");
  return made;
}

result<call_channel> call_channel::inherit(std::span<const int> descriptors) {
  if (descriptors.size() != num_descriptors)
    return fail(error_code::invalid_argument, "the runner process needs three descriptors of its service");
  call_channel taken;
  auto memory = page_memory::map_shared(descriptors[0], true);
  ::close(descriptors[0]);
  taken.asked_bell_ = descriptors[1];
  taken.answered_bell_ = descriptors[2];
  if (!memory) return tl::unexpected(memory.error());
  if (memory->size() < line_bytes + 2 * slot_bytes)
    return fail(error_code::invalid_argument, "the runner process needs the memory of its service's calls");
  taken.memory_ = std::move(*memory);
  return taken;
}

call_channel::shared_counts& call_channel::counts() const {
  return *std::launder(reinterpret_cast<shared_counts*>(memory_.data()));
}

call_header& call_channel::header(call_number call) const {
  return *std::launder(reinterpret_cast<call_header*>(slot(call)));
}

flat_reader call_channel::reader(call_number call) const {
  const std::uint64_t bytes = header(call).bytes;
  if (bytes > room(call).size()) throw std::out_of_range("a message is larger than its slot");
  return flat_reader(room(call).first(bytes));
}

void call_channel::tell_asked(call_number count) {
  counts().asked.store(count, order);
  if (counts().awaits_call.exchange(0, order) != 0) ring(asked_bell_);
}

void call_channel::tell_answered(call_number count) {
  counts().answered.store(count, order);
  if (counts().awaited_answers.load(order) == count) ring(answered_bell_);
}

void call_channel::wait_for_call(call_number seen, std::chrono::milliseconds at_most) const {
  counts().awaits_call.store(1, order);
  if (counts().asked.load(order) == seen) wait_for(asked_bell_, at_most);
  counts().awaits_call.store(0, order);  // also where that was an old ring: the next call finds nobody asleep
}

bool call_channel::wait_for_answers(call_number count, int pidfd, std::chrono::milliseconds at_most) const {
  counts().awaited_answers.store(count, order);
  return counts().answered.load(order) == count || wait_for(answered_bell_, at_most, pidfd);
}

}  // namespace troupe
