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
constexpr std::size_t room = std::size_t{1} << 30;
constexpr std::size_t header_bytes = 64;
static_assert(sizeof(call_header) <= header_bytes);

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
  std::swap(asked_, other.asked_);
  std::swap(answered_, other.answered_);
}

result<call_memory> call_memory::create() {
  call_memory made;
  auto memory = page_memory::allocate_shared(room, false, "troupe steps");
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

std::span<std::byte> call_memory::message() const {
  return std::span(memory_.data(), memory_.size()).subspan(header_bytes);
}

flat_writer call_memory::writer() { return flat_writer(message()); }

flat_reader call_memory::reader() const {
  const std::uint64_t bytes = header()->bytes;
  if (bytes > message().size()) throw std::out_of_range("a message is larger than its memory");
  return flat_reader(message().first(bytes));
}

void call_memory::ask(executor_call call, std::uint32_t device, const flat_writer& message) {
  *header() = {call, call_outcome::value, device, 0, message.size()};
  ring(asked_);
}

bool call_memory::wait_for_answer(int pidfd) const {
  pollfd watched[2] = {{answered_, POLLIN, 0}, {pidfd, POLLIN, 0}};
  while (::poll(watched, 2, -1) < 0)
    if (errno != EINTR) return false;
  if ((watched[0].revents & POLLIN) == 0) return false;
  wait_for(answered_);
  return true;
}

call_header call_memory::wait_for_call() const {
  wait_for(asked_);
  return *header();
}

void call_memory::answer(call_outcome outcome, const flat_writer& message) {
  header()->outcome = outcome;
  header()->bytes = message.size();
  ring(answered_);
}

}  // namespace troupe
