#include "runtime/isolation/executor_place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace troupe {

// Kept open, so that a process that starts later reads the same file, whatever lies at its path by then.
class executor_place::open_file {
 public:
  // Where it cannot be opened the descriptor is negative.
  explicit open_file(const std::string& path)
      : name_(path),
        descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        version_(version_now()) {}
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int descriptor() const { return descriptor_; }
  // Of this file and no other.
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  // Fails where it has been written to since it was opened: a process that reads it now would have other
  // weights.
  result<void> check_unchanged() const {
    const version now = version_now();
    if (now == version_) return {};
    return fail(
        error_code::unavailable,
        fmt::format(
            "{} has been written to since the service opened it, so that its weights are no longer those "
            "that answers were begun with: end the service and start it again",
            name_));
  }

 private:
  struct version {
    off_t bytes = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(const version&) const = default;
  };
  version version_now() const {
    struct stat found {};
    if (::fstat(descriptor_, &found) != 0) return {};
    return {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
  }

  std::string name_;
  int descriptor_;
  version version_;
};

result<model_ptr> executor_place::read(const std::string& path, packed_file& into) const {
  if (!isolation_) return load_model(path);
  const auto file = std::make_shared<const open_file>(path);
  if (file->descriptor() < 0) return load_model(path);  // says why not
  into.file = file;
  auto model = load_model(file->path());
  if (model) return model;
  error named = model.error();
  if (const std::size_t at = named.message.find(file->path()); at != std::string::npos)
    named.message.replace(at, file->path().size(), path);
  return tl::unexpected(std::move(named));
}

result<model_ptr> executor_place::add_model(const std::string& path) {
  packed_file added;
  auto model = read(path, added);
  if (!model) return model;
  if (isolation_ && !added.file)
    return fail(error_code::io_error, fmt::format("{} could not be opened at first: try again", path));
  added.model = std::move(*model);
  if (!cuda_)
    if (const auto packed = pack(added); !packed) return tl::unexpected(packed.error());
  return files_.emplace_back(std::move(added)).model;
}

result<void> executor_place::pack(packed_file& file) const {
  auto packed = pack_model(*file.model, isolation_ ? packed_for::all_processes : packed_for::this_process);
  if (!packed) return tl::unexpected(packed.error());
  if (isolation_) {
    packed->memory.unmap();
    file.matrices = std::make_shared<page_memory>(std::move(packed->memory));
  } else {
    file.weights = std::make_shared<const packed_model>(std::move(*packed));
  }
  return {};
}

result<void> executor_place::turn_to_cpu() {
  for (packed_file& each : files_) {
    if (each.matrices || each.weights) continue;
    if (auto packed = pack(each); !packed) return packed;
  }
  cuda_.reset();
  return {};
}

std::vector<int> executor_place::descriptors() const {
  std::vector<int> all;
  for (const packed_file& each : files_) {
    all.push_back(each.file->descriptor());
    all.push_back(each.matrices ? each.matrices->descriptor() : each.file->descriptor());
  }
  return all;
}

executor_setup executor_place::setup_of(std::size_t number, const cpu_executor_options& options) const {
  const auto first = static_cast<std::int32_t>(2 * number);  // of the two of each model
  return {.model_file = first, .packed_weights = first + 1, .options = options, .cuda = cuda_};
}

result<void> executor_place::begin() {
  if (!isolation_) return {};
  for (const packed_file& each : files_)
    if (auto unchanged = each.file->check_unchanged(); !unchanged) return unchanged;
  double used = 0;
  if (const auto last = process()) {
    last->kill();
    used = last->cpu_seconds();
  }
  auto started = runner_process::start(*isolation_, descriptors());
  const std::lock_guard lock(mutex_);
  ended_cpu_seconds_ += used;
  handle_ = started ? (*started)->handle() : nullptr;
  if (!started) return tl::unexpected(started.error());
  begun_ = std::move(*started);
  process_ = begun_;
  return {};
}

result<std::unique_ptr<executor>> executor_place::load(std::size_t number,
                                                       const cpu_executor_options& options) {
  if (isolation_) return load_there(number, options);
  if (cuda_) return support_.open(files_[number].model, options, *cuda_);
  cpu_executor_options with_weights = options;
  with_weights.weights = files_[number].weights;
  return load_cpu_executor(files_[number].model, with_weights);
}

result<std::unique_ptr<executor>> executor_place::load_there(std::size_t number,
                                                             const cpu_executor_options& options) {
  const std::shared_ptr<runner_process> process = process_.lock();
  begun_.reset();  // `process` owns it until this has its executor
  if (!process) return fail(error_code::unavailable, "the runner process is gone");
  return process->open(setup_of(number, options));
}

std::shared_ptr<process_handle> executor_place::process() const {
  const std::lock_guard lock(mutex_);
  return handle_;
}

double executor_place::ended_cpu_seconds() const {
  const std::lock_guard lock(mutex_);
  return ended_cpu_seconds_;
}

}  // namespace troupe
