#include "runtime/bucketing/bucket_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <utility>

#include "runtime/bucketing/text_file.hpp"

namespace troupe {
namespace {

using values = std::vector<std::int32_t>;
template <class T>
using parsed = tl::expected<T, std::string>;  // or what is wrong with the line

tl::unexpected<std::string> expected(const char* what, const line_reader& line) {
  const std::string found = line.at_end() ? "the line ends" : "found '" + excerpt(line.rest()) + "'";
  return tl::unexpected(fmt::format("expected {}, {}", what, found));
}

// A comma may stand before the bracket that ends it.
parsed<values> read_list(line_reader& line) {
  const auto is_closed = [&line] { return line.rest().starts_with(']') || line.rest().starts_with(')'); };
  values out;
  do {
    const auto number = line.take_number();
    if (!number) return expected("a whole number up to 16777216", line);
    if (out.size() == max_buckets) return tl::unexpected(fmt::format("a list of more than {}", max_buckets));
    out.push_back(*number);
  } while (line.take(",") && !is_closed());
  return out;
}

parsed<values> read_range(line_reader& line) {
  const auto bounds = read_list(line);
  if (!bounds) return bounds;
  if (!line.take(")")) return expected("',' or ')'", line);
  if (bounds->size() < 2 || bounds->size() > 3) {
    return tl::unexpected(fmt::format("range takes first, last and step, got {} numbers", bounds->size()));
  }
  const std::int32_t first = (*bounds)[0];
  const std::int32_t last = (*bounds)[1];
  const std::int32_t step = bounds->size() == 3 ? (*bounds)[2] : 1;
  if (step == 0) return tl::unexpected<std::string>("the step of a range must be at least 1");
  if (first > last) return tl::unexpected(fmt::format("the range from {} to {} is empty", first, last));
  if (static_cast<std::size_t>((last - first) / step) >= max_buckets) {
    return tl::unexpected(
        fmt::format("the range from {} to {} has more than {} values", first, last, max_buckets));
  }
  values out;
  for (std::int32_t value = first; value <= last; value += step) out.push_back(value);
  return out;
}

// A number, a list in brackets or a range.
parsed<values> read_values(line_reader& line) {
  if (line.take("[")) {
    auto list = read_list(line);
    if (list && !line.take("]")) return expected("',' or ']'", line);
    return list;
  }
  if (line.take("range")) {
    if (!line.take("(")) return expected("'(' after range", line);
    return read_range(line);
  }
  const auto number = line.take_number();
  if (!number) return expected("a whole number up to 16777216, a list or a range", line);
  return values{*number};
}

parsed<void> combine(const values (&dimensions)[3], std::vector<bucket>& out) {
  const std::size_t count = dimensions[0].size() * dimensions[1].size() * dimensions[2].size();
  if (count > max_buckets) return tl::unexpected(fmt::format("more than {} buckets in a line", max_buckets));
  const auto is_zero = [](std::int32_t value) { return value == 0; };
  if (std::ranges::any_of(dimensions[0], is_zero)) return tl::unexpected<std::string>("a batch size of 0");
  if (std::ranges::any_of(dimensions[1], is_zero)) return tl::unexpected<std::string>("a query length of 0");
  for (const std::int32_t batch : dimensions[0]) {
    for (const std::int32_t query : dimensions[1]) {
      for (const std::int32_t blocks : dimensions[2]) out.push_back({batch, query, blocks});
    }
  }
  return {};
}

// A closing bracket, before which a comma may stand, as in Python. Takes both or nothing.
bool take_end(line_reader& line) {
  line_reader behind = line;
  behind.take(",");
  if (!behind.take(")")) return false;
  line = behind;
  return true;
}

parsed<void> read_line(std::string_view text, std::vector<bucket>& out) {
  line_reader line(text);
  values dimensions[3];
  if (!line.take("(")) return expected("'('", line);
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && !line.take(",")) return expected("','", line);
    auto read = read_values(line);
    if (!read) return tl::unexpected(std::move(read.error()));
    dimensions[i] = std::move(*read);
  }
  if (!take_end(line)) return expected("')' after three dimensions", line);
  if (!line.at_end()) return expected("nothing after ')'", line);
  return combine(dimensions, out);
}

void sort_once(std::vector<bucket>& buckets) {
  std::sort(buckets.begin(), buckets.end());
  buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
}

// Every bad line; the faults of the first few.
class bad_lines {
 public:
  explicit bad_lines(const std::string& path) : path_(path) {}
  void add(std::size_t number, const std::string& fault) {
    if (++count_ > shown) return;
    text_ += fmt::format("{}{}:{}: {}", text_.empty() ? "" : "; ", path_, number, fault);
  }
  bool none() const { return count_ == 0; }
  std::string text() const {
    return count_ <= shown ? text_ : fmt::format("{}; and {} more bad lines", text_, count_ - shown);
  }

 private:
  static constexpr std::size_t shown = 8;
  const std::string& path_;
  std::size_t count_ = 0;
  std::string text_;
};

}  // namespace

result<std::vector<bucket>> parse_buckets(std::string_view text, const std::string& path) {
  constexpr const char* option = "bucketing_from_file";
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // which some editors put before UTF-8
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<bucket> buckets;
  bad_lines bad(path);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    if (auto read = read_line(line, buckets); !read) bad.add(number, read.error());
    if (buckets.size() > max_buckets) {
      sort_once(buckets);
      if (buckets.size() > max_buckets) {
        return fail(error_code::invalid_argument,
                    fmt::format("{}:{}: more than {} buckets", path, number, max_buckets), option);
      }
    }
  }
  if (!bad.none()) return fail(error_code::invalid_argument, bad.text(), option);
  if (buckets.empty()) return fail(error_code::invalid_argument, path + ": holds no bucket", option);
  sort_once(buckets);
  return buckets;
}

}  // namespace troupe
