#include "main/service/service_notifier.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe::cli {
namespace {

std::string_view kind_of(std::string_view state) { return state.substr(0, state.find('=')); }

}  // namespace

struct service_notifier::state_queue {
  void send_all(const sender& send);

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> waiting;  // one of each kind at most
  bool is_sending = false;
  bool is_over = false;
};

void service_notifier::state_queue::send_all(const sender& send) {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return is_over || !waiting.empty(); });
    if (is_over) return;
    const std::string state = std::move(waiting.front());
    waiting.pop_front();
    is_sending = true;
    lock.unlock();
    send(state);
    lock.lock();
    is_sending = false;
    changed.notify_all();
  }
}

service_notifier::service_notifier(sender send) : queue_(std::make_shared<state_queue>()) {
  std::thread([queue = queue_, send = std::move(send)] { queue->send_all(send); }).detach();
}

service_notifier::~service_notifier() {
  const std::lock_guard lock(queue_->mutex);
  queue_->is_over = true;
  queue_->changed.notify_all();
}

void service_notifier::tell(std::string state) {
  const std::lock_guard lock(queue_->mutex);
  std::erase_if(queue_->waiting,
                [kind = kind_of(state)](const std::string& each) { return kind_of(each) == kind; });
  queue_->waiting.push_back(std::move(state));
  queue_->changed.notify_all();
}

bool service_notifier::flush(std::chrono::milliseconds patience) {
  std::unique_lock lock(queue_->mutex);
  return queue_->changed.wait_for(lock, patience,
                                  [this] { return queue_->waiting.empty() && !queue_->is_sending; });
}

}  // namespace troupe::cli
