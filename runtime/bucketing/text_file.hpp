// Small text files, and the whole numbers in a line of one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe {

// Errors: not_found, io_error, too_large (beyond `max_bytes`), naming the path.
result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

// The next line of `text` without its end, comment (from '#') and outer blanks; `text` becomes what follows.
std::string_view take_line(std::string_view& text);

// What a file holds, printable and cut to 64 characters, for error messages.
std::string excerpt(std::string_view text);

// Reads a line from left to right; blanks between tokens are skipped.
class line_reader {
 public:
  explicit line_reader(std::string_view line) : rest_(line) { skip_blanks(); }

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  bool take(std::string_view token);
  // A whole number 0 ... max_bucket_value; nothing for anything else, and then nothing is taken.
  std::optional<std::int32_t> take_number();

 private:
  void skip_blanks();
  std::string_view rest_;
};

}  // namespace troupe
