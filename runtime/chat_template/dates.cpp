#include "runtime/chat_template/dates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "runtime/utf8.hpp"

namespace troupe::jinja {
namespace {

constexpr std::string_view conversions_to_numbers = "CdegGHIjklmMSuUVwWyY";
constexpr std::string_view conversions_to_text = "aAbBcDFhnpPrRtTxX%";
constexpr std::string_view conversions_of_zones = "zZ";  // nothing, of a datetime without one

// Nothing where there is no such conversion. `is_unpadded`: of a number, without the zeros or blanks before
// it.
std::optional<std::string> converted(const std::tm& time, char conversion, bool is_unpadded) {
  const auto is_of = [conversion](std::string_view kind) {
    return kind.find(conversion) != std::string_view::npos;
  };
  const bool is_number = is_of(conversions_to_numbers);
  if (is_unpadded && !is_number) return std::nullopt;
  if (is_of(conversions_of_zones)) return "";
  if (!is_number && !is_of(conversions_to_text)) return std::nullopt;
  std::ostringstream out;
  std::use_facet<std::time_put<char>>(std::locale::classic())
      .put(std::ostreambuf_iterator<char>(out), out, ' ', &time, conversion);
  const std::string text = out.str();
  return is_unpadded ? text.substr(std::min(text.find_first_not_of("0 "), text.size() - 1)) : text;
}

}  // namespace

value write_date(budget& spent, std::string_view format, const std::tm& time) {
  std::string text;
  if (!spent.spend(format.size())) return {};
  while (!format.empty() && spent.spend() && spent.check_length(text.size())) {
    const auto plain = std::min(format.find('%'), format.size());
    text += format.substr(0, plain);
    format.remove_prefix(plain);
    if (format.empty()) break;
    const bool is_unpadded = format.substr(1).starts_with('-');
    const std::size_t at = is_unpadded ? 2 : 1;
    const auto written =
        at < format.size() ? converted(time, format[at], is_unpadded) : std::optional<std::string>();
    if (!written) {
      const std::size_t size = at < format.size() ? at + first_utf8_unit(format.substr(at)).size : at;
      return spent.fail(fmt::format("strftime_now() does not know '{}'", format.substr(0, size)),
                        error_code::unsupported);
    }
    text += *written;
    format.remove_prefix(at + 1);
  }
  return spent.check_length(text.size()) ? value::of(std::move(text)) : value();
}

}  // namespace troupe::jinja
