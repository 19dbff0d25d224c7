#include "runtime/isolation/call_memory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace troupe {
namespace {

// Far more than the largest step: what is never written takes no memory.
constexpr std::size_t place_bytes = std::size_t{1} << 30;
constexpr std::size_t header_bytes = 64;  // and a line for the counts before both places
static_assert(sizeof(call_header) <= header_bytes);

// How often the process looks for the next call before it sleeps, some 50 us: most come as soon as the
// service has seen the answer, and to be woken takes about as long.
constexpr int looks_before_sleep = 4000;

void ring(int bell) {
  const std::uint64_t once = 1;
  while (::write(bell, &once, sizeof once) < 0 && errno == EINTR) {
  }
}

void wait_for(int bell) {
  std::uint64_t rings = 0;
  while (::read(bell, &rings, sizeof rings) < 0)
    if (errno != EINTR) throw std::runtime_error("the service's bell is gone");
}

}  // namespace

call_memory::~call_memory() {
  for (const int bell : {asked_, answered_})
    if (bell >= 0) ::close(bell);
}

void call_memory::swap(call_memory& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(calls_, other.calls_);
  std::swap(asked_, other.asked_);
  std::swap(answered_, other.answered_);
}

result<call_memory> call_memory::create() {
  call_memory made;
  auto memory = page_memory::allocate_shared(header_bytes + 2 * place_bytes, "troupe steps");
  if (!memory) return tl::unexpected(memory.error());
  made.memory_ = std::move(*memory);
  made.asked_ = ::eventfd(0, EFD_CLOEXEC);
  made.answered_ = ::eventfd(0, EFD_CLOEXEC);
  if (made.asked_ < 0 || made.answered_ < 0)
    return fail(error_code::io_error, "no descriptors are left for a runner process");
  return made;
}

result<call_memory> call_memory::inherit(std::span<const int> descriptors) {
  if (descriptors.size() != num_descriptors)
    return fail(error_code::invalid_argument, "the runner process needs three descriptors of its service");
  call_memory taken;
  auto memory = page_memory::map_shared(descriptors[0], true);
  if (!memory) return tl::unexpected(memory.error());
  taken.memory_ = std::move(*memory);
  taken.asked_ = descriptors[1];
  taken.answered_ = descriptors[2];
  return taken;
}

call_header& call_memory::header(std::uint32_t call) const {
  return *reinterpret_cast<call_header*>(memory_.data() + header_bytes + (call % 2) * place_bytes);
}

std::span<std::byte> call_memory::place(std::uint32_t call) const {
  return std::span(memory_.data(), memory_.size())
      .subspan(header_bytes + (call % 2) * place_bytes, place_bytes)
      .subspan(header_bytes);
}

flat_reader call_memory::read(std::uint32_t call) const {
  const std::uint64_t bytes = header(call).bytes;
  if (bytes > place(call).size()) throw std::out_of_range("a message is larger than its place");
  return flat_reader(place(call).first(bytes));
}

flat_writer call_memory::message() { return flat_writer(place(calls_)); }

void call_memory::ask(executor_call call, std::uint32_t device, const flat_writer& message) {
  header(calls_) = {call, call_outcome::value, device, 0, message.size()};
  counts().asked.store(++calls_, std::memory_order_release);
  ring(asked_);
}

bool call_memory::wait_for_answers(int pidfd) const {
  pollfd watched[2] = {{answered_, POLLIN, 0}, {pidfd, POLLIN, 0}};
  while (counts().answered.load(std::memory_order_acquire) != calls_) {
    if (::poll(watched, 2, -1) < 0) {
      if (errno != EINTR) return false;
    } else if ((watched[0].revents & POLLIN) != 0) {
      wait_for(answered_);
    } else {
      return counts().answered.load(std::memory_order_acquire) == calls_;
    }
  }
  return true;
}

call_header call_memory::header_of(std::uint32_t calls_before_last) const {
  return header(calls_ - 1 - calls_before_last);
}

flat_reader call_memory::answer_of(std::uint32_t calls_before_last) const {
  return read(calls_ - 1 - calls_before_last);
}

call_header call_memory::wait_for_call() {
  const auto is_asked = [this] { return counts().asked.load(std::memory_order_acquire) != calls_; };
  for (int i = 0; i < looks_before_sleep && !is_asked(); ++i) __builtin_ia32_pause();
  while (!is_asked()) wait_for(asked_);
  return header(calls_++);
}

flat_reader call_memory::message_of_call() const { return read(calls_ - 1); }

flat_writer call_memory::answer() { return flat_writer(place(calls_ - 1)); }

void call_memory::answer(call_outcome outcome, const flat_writer& message) {
  header(calls_ - 1).outcome = outcome;
  header(calls_ - 1).bytes = message.size();
  counts().answered.store(calls_, std::memory_order_release);
  ring(answered_);
}

}  // namespace troupe
