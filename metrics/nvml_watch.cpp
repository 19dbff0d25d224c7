#include "metrics/nvml_watch.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe::metrics {
namespace {

using steady_time = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds between_readings{1};
constexpr std::chrono::seconds keeps_reading{60};  // since it was asked last
constexpr std::chrono::seconds is_recent{3};

}  // namespace

struct nvml_watch::shared {
  explicit shared(std::string library) : library_of_device(std::move(library)) {}

  bool is_wanted(steady_time now) const { return !bus_id.empty() && now - asked < keeps_reading; }
  void run();
  void read_next(std::unique_lock<std::mutex>& lock);

  nvml library_of_device;  // the thread's alone
  std::mutex mutex;
  std::condition_variable changed;
  std::string bus_id;
  steady_time asked{};
  std::optional<nvml_reading> reading;  // of that device, at ...
  steady_time read_at{};                // ... this time
  bool is_running = false;
  bool is_over = false;
};

void nvml_watch::shared::run() {
  std::unique_lock lock(mutex);
  while (!is_over && is_wanted(std::chrono::steady_clock::now())) {
    const std::string read_of = bus_id;
    read_next(lock);
    changed.wait_for(lock, between_readings, [&] { return is_over || bus_id != read_of; });
  }
  is_running = false;
  changed.notify_all();
}

void nvml_watch::shared::read_next(std::unique_lock<std::mutex>& lock) {
  const std::string device = bus_id;
  lock.unlock();
  const auto told = library_of_device.read(device);
  lock.lock();
  if (device != bus_id) return;
  reading = told;
  read_at = std::chrono::steady_clock::now();
}

nvml_watch::nvml_watch(std::string library) : shared_(std::make_shared<shared>(std::move(library))) {}

nvml_watch::~nvml_watch() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, between_readings, [this] { return !shared_->is_running; });
}

std::optional<nvml_reading> nvml_watch::read(const std::string& bus_id) {
  const std::lock_guard lock(shared_->mutex);
  const steady_time now = std::chrono::steady_clock::now();
  shared_->asked = now;
  if (shared_->bus_id != bus_id) {
    shared_->bus_id = bus_id;
    shared_->reading.reset();
    shared_->changed.notify_all();
  }
  if (!shared_->is_running && !bus_id.empty()) try {
      std::thread([kept = shared_] { kept->run(); }).detach();
      shared_->is_running = true;
    } catch (const std::system_error&) {  // no thread is to be had now: then the next time
    }
  return now - shared_->read_at < is_recent ? shared_->reading : std::nullopt;
}

}  // namespace troupe::metrics
