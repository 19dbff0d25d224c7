#include "runtime/bucketing/text_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/bucketing/bucket_values.hpp"

namespace troupe {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

}  // namespace

result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  std::error_code status;
  if (!std::filesystem::exists(path, status)) {
    return fail(error_code::not_found, fmt::format("{}: no such file", path));
  }
  if (std::filesystem::is_directory(path, status)) {
    return fail(error_code::io_error, fmt::format("{}: is a directory", path));
  }
  std::ifstream in(path, std::ios::binary);
  std::string content;
  char part[1 << 14];
  while (in.read(part, sizeof(part)) || in.gcount() > 0) {
    content.append(part, static_cast<std::size_t>(in.gcount()));
    if (content.size() > max_bytes) {
      return fail(error_code::too_large, fmt::format("{}: more than {} bytes", path, max_bytes));
    }
  }
  if (!in.eof()) return fail(error_code::io_error, fmt::format("{}: cannot be read", path));
  return content;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  line = line.substr(0, line.find('#'));
  while (!line.empty() && blanks.find(line.back()) != std::string_view::npos) line.remove_suffix(1);
  while (!line.empty() && blanks.find(line.front()) != std::string_view::npos) line.remove_prefix(1);
  return line;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t limit = 64;
  std::string out;
  for (const char c : text.substr(0, limit)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > limit ? out + "..." : out;
}

bool line_reader::take(std::string_view token) {
  if (!rest_.starts_with(token)) return false;
  rest_.remove_prefix(token.size());
  skip_blanks();
  return true;
}

std::optional<std::int32_t> line_reader::take_number() {
  std::int32_t number = 0;
  const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
  if (error != std::errc{} || number < 0 || number > max_bucket_value) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
  skip_blanks();
  return number;
}

void line_reader::skip_blanks() {
  while (!rest_.empty() && blanks.find(rest_.front()) != std::string_view::npos) rest_.remove_prefix(1);
}

}  // namespace troupe
