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
constexpr std::chrono::seconds keeps_reading{600};  // since it was asked last
constexpr std::chrono::seconds is_recent{3};

}  // namespace

struct nvml_watch::reader {
  explicit reader(std::string name) : library(std::move(name)) {}

  bool is_wanted(steady_time now) const { return !bus_id.empty() && now - asked < keeps_reading; }
  static void start(const std::shared_ptr<reader>& kept);
  void run();
  void read_next(std::unique_lock<std::mutex>& lock);

  nvml library;  // the thread's alone
  std::mutex mutex;
  std::condition_variable changed;
  std::string bus_id;
  steady_time asked{};
  std::optional<nvml_reading> reading;  // of that device, at ...
  steady_time read_at{};                // ... this time
  bool is_running = false;
  bool is_over = false;
};

// Where it does not run already. With the lock.
void nvml_watch::reader::start(const std::shared_ptr<reader>& kept) {
  if (kept->is_running || kept->bus_id.empty()) return;
  try {
    std::thread([kept] { kept->run(); }).detach();
    kept->is_running = true;
  } catch (const std::system_error&) {  // no thread is to be had now: then the next time
  }
}

void nvml_watch::reader::run() {
  std::unique_lock lock(mutex);
  while (!is_over && is_wanted(std::chrono::steady_clock::now())) {
    const std::string read_of = bus_id;
    read_next(lock);
    changed.wait_for(lock, between_readings, [&] { return is_over || bus_id != read_of; });
  }
  is_running = false;
  changed.notify_all();
}

void nvml_watch::reader::read_next(std::unique_lock<std::mutex>& lock) {
  const std::string device = bus_id;
  lock.unlock();
  const auto told = library.read(device);
  lock.lock();
  if (device != bus_id) return;
  reading = told;
  read_at = std::chrono::steady_clock::now();
}

nvml_watch::nvml_watch(std::string library) : reader_(std::make_shared<reader>(std::move(library))) {}

nvml_watch::~nvml_watch() {
  std::unique_lock lock(reader_->mutex);
  reader_->is_over = true;
  reader_->changed.notify_all();
  reader_->changed.wait_for(lock, between_readings, [this] { return !reader_->is_running; });
}

void nvml_watch::watch(const std::string& bus_id) {
  const std::lock_guard lock(reader_->mutex);
  if (reader_->bus_id == bus_id) return;
  reader_->bus_id = bus_id;
  reader_->reading.reset();
  reader_->asked = std::chrono::steady_clock::now();
  reader_->changed.notify_all();
  reader::start(reader_);
}

std::optional<nvml_reading> nvml_watch::latest() {
  const std::lock_guard lock(reader_->mutex);
  reader_->asked = std::chrono::steady_clock::now();
  reader::start(reader_);
  return reader_->asked - reader_->read_at < is_recent ? reader_->reading : std::nullopt;
}

}  // namespace troupe::metrics
