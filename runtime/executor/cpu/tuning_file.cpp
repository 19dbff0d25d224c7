#include "runtime/executor/cpu/tuning_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/json/json.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_bytes = std::size_t{64} << 10U;
constexpr std::size_t most_plans = 256;
constexpr std::int64_t most_rows_kept = 1 << 20;
constexpr std::int32_t format_version = 1;
constexpr std::string_view opening = R"({"format":"troupe tuning")";

// The descriptor of a file, closed at the end.
class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string reason() { return std::strerror(errno); }

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string shape_hash(const tuning_key& key) { return fmt::format("{:016x}", hash_of(key.shape)); }

result<std::string> read_all(const fs::path& file) {
  const descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.get() < 0)
    return fail(errno == ENOENT ? error_code::not_found : error_code::io_error,
                file.string() + ": " + reason());
  struct stat about {};
  if (::fstat(in.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail(error_code::corrupt_file, file.string() + " is no file");
  std::string text(most_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(in.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(error_code::io_error, file.string() + ": " + reason());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// The number behind `name`, where it is one from `low` to `high`.
std::optional<std::int32_t> number(const json& object, const char* name, std::int64_t low,
                                   std::int64_t high) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(high))
    return std::nullopt;
  const auto value = found->get<std::int64_t>();
  if (value < low || value > high) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

bool has_text(const json& object, const char* name, const std::string& text) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() && found->get_ref<const std::string&>() == text;
}

std::optional<std::pair<std::int32_t, step_plan>> read_plan(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto rows = number(entry, "rows", 1, most_rows_kept);
  if (!rows) return std::nullopt;
  const auto items = number(entry, "items_per_member", 1, most_rows_kept);
  if (!items) return std::nullopt;
  const step_plan plan{*items};
  if (!is_valid(plan)) return std::nullopt;
  return std::pair{*rows, plan};
}

bool is_for(const json& root, const tuning_key& key) {
  return number(root, "version", format_version, format_version) &&
         number(root, "kernel_version", kernel_version, kernel_version) && has_text(root, "cpu", key.cpu) &&
         has_text(root, "kernel_path", key.kernel_path) &&
         number(root, "threads", key.threads, key.threads) && has_text(root, "shape", shape_hash(key));
}

std::string to_text(const tuning_key& key, const tuned_plans& plans) {
  json root;
  root["format"] = "troupe tuning";
  root["version"] = format_version;
  root["kernel_version"] = kernel_version;
  root["cpu"] = key.cpu;
  root["kernel_path"] = key.kernel_path;
  root["threads"] = key.threads;
  root["shape"] = shape_hash(key);
  root["plans"] = json::array();
  for (const auto& [rows, plan] : plans) {
    json entry;
    entry["rows"] = rows;
    entry["items_per_member"] = plan.items_per_member;
    root["plans"].push_back(std::move(entry));
  }
  return root.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

result<void> write_all(const fs::path& file, std::string_view text) {
  const descriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.get() < 0) return fail(error_code::io_error, file.string() + ": " + reason());
  while (!text.empty()) {
    const ssize_t put = ::write(out.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(error_code::io_error, file.string() + ": " + reason());
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(out.get()) != 0) return fail(error_code::io_error, file.string() + ": " + reason());
  return {};
}

}  // namespace

std::string tuning_file_name(const tuning_key& key) {
  const std::string all = fmt::format("{}\n{}\n{}\n{}", key.cpu, key.kernel_path, key.threads, key.shape);
  return fmt::format("tuning-{:016x}.json", hash_of(all));
}

fs::path tuning_path(const tuning_key& key, const fs::path& file, const fs::path& folder) {
  return file.empty() && !folder.empty() ? folder / tuning_file_name(key) : file;
}

result<tuned_plans> read_tuning_file(const fs::path& file, const tuning_key& key) {
  const result<std::string> text = read_all(file);
  if (!text) return tl::unexpected<error>(text.error());
  const auto damaged = [&file](const char* how) {
    return fail(error_code::corrupt_file, file.string() + " is no tuning file, or damaged: " + how);
  };
  if (text->size() > most_bytes) return damaged("it is too long");
  if (!text->starts_with(opening)) return damaged("it does not begin like one");
  // No value of such a file lies deeper than a plan's numbers; deeper ones are dropped unread.
  const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= 3; };
  const json root = json::parse(*text, shallow, false);
  if (!root.is_object()) return damaged("it is not JSON");
  if (!is_for(root, key))
    return fail(error_code::unsupported,
                file.string() + " is of another machine, model, number of threads or version");
  const auto plans = root.find("plans");
  if (plans == root.end() || !plans->is_array() || plans->size() > most_plans)
    return damaged("it has no list of plans");
  tuned_plans out;
  for (const json& entry : *plans) {
    const auto plan = read_plan(entry);
    if (!plan || !out.insert(*plan).second) return damaged("a plan makes no sense");
  }
  return out;
}

result<void> write_tuning_file(const fs::path& file, const tuning_key& key, const tuned_plans& plans) {
  if (const auto before = read_all(file)) {
    if (!before->empty() && !before->starts_with(opening))
      return fail(error_code::corrupt_file, file.string() + " is no tuning file and is not replaced");
  } else if (before.error().code != error_code::not_found) {
    return tl::unexpected<error>(before.error());
  }
  std::error_code failure;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failure);
  if (failure) return fail(error_code::io_error, file.parent_path().string() + ": " + failure.message());
  const fs::path fresh = file.string() + fmt::format(".{}", ::getpid());
  ::unlink(fresh.c_str());
  result<void> written = write_all(fresh, to_text(key, plans));
  if (written && ::rename(fresh.c_str(), file.c_str()) != 0)
    written = fail(error_code::io_error, file.string() + ": " + reason());
  if (!written) ::unlink(fresh.c_str());
  return written;
}

}  // namespace troupe
