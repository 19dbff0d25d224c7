// strftime_now() of templates against what Python's datetime.strftime writes.
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/json/json.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {
namespace {

// Tuesday, 2024-03-05 07:08:09, the 65th day of its year.
std::tm a_morning() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 2;
  time.tm_mday = 5;
  time.tm_hour = 7;
  time.tm_min = 8;
  time.tm_sec = 9;
  time.tm_wday = 2;
  time.tm_yday = 64;
  return time;
}

std::string rendered(std::string_view source, const std::optional<std::tm>& now = a_morning(),
                     const json& context = json::object()) {
  const auto compiled = chat_template::compile(source);
  if (!compiled) return compiled.error().message;
  const auto text = compiled->render(context, now);
  return text ? *text : text.error().message;
}

std::string date(const std::string& format) {
  return rendered("{{ strftime_now(f) }}", a_morning(), {{"f", format}});
}

TEST(strftime_now, writes_what_python_writes) {
  EXPECT_EQ(date("%d %b %Y"), "05 Mar 2024");
  EXPECT_EQ(date("%Y-%m-%d"), "2024-03-05");
  EXPECT_EQ(date("%A, %B %d, %Y %H:%M:%S"), "Tuesday, March 05, 2024 07:08:09");
  EXPECT_EQ(date("%a %y %I %p %j %w %u %%"), "Tue 24 07 AM 065 2 2 %");
  EXPECT_EQ(date("%c|%x|%X"), "Tue Mar  5 07:08:09 2024|03/05/24|07:08:09");
  EXPECT_EQ(date("%F %T|%D %R|%r"), "2024-03-05 07:08:09|03/05/24 07:08|07:08:09 AM");
  EXPECT_EQ(date("%e|%k|%l|%P|%h|%C|%g|%G|%U|%V|%W"), " 5| 7| 7|am|Mar|20|24|2024|09|10|10");
  EXPECT_EQ(date("%-d.%-m.%y, %-I %p, %-j, %-H"), "5.3.24, 7 AM, 65, 7");
  EXPECT_EQ(date("%z%Z"), "") << "of a time without a zone";
  EXPECT_EQ(date("héute"), "héute");
  EXPECT_EQ(date(""), "");
}

TEST(strftime_now, a_number_without_its_padding_has_a_digit) {
  std::tm midnight = a_morning();
  midnight.tm_hour = midnight.tm_min = 0;
  EXPECT_EQ(rendered("{{ strftime_now('%-H:%M %-M') }}", midnight), "0:00 0");
}

TEST(strftime_now, names_what_it_does_not_know) {
  for (const char* odd : {"%f", "%s", "%Q", "%é", "%10d", "%^b", "%_d", "%-A", "%-", "%", "%Ey", "%\xff"}) {
    const std::string told = date(std::string("on ") + odd);
    EXPECT_EQ(told.find("chat template, line 1: strftime_now() does not know '%"), 0U) << odd << ": " << told;
  }
  EXPECT_EQ(date("on %10d"), "chat template, line 1: strftime_now() does not know '%1'");
  EXPECT_EQ(date("on %é"), "chat template, line 1: strftime_now() does not know '%é'");
  for (const char* call : {"strftime_now()", "strftime_now(none)", "strftime_now(5)"})
    EXPECT_NE(rendered(std::string("{{ ") + call + " }}").find("string"), std::string::npos) << call;
}

TEST(strftime_now, is_there_where_the_time_is_known) {
  const char* const asks =
      "{% if strftime_now is defined %}{{ strftime_now(format='%Y') }}{% else %}-{% endif %}";
  EXPECT_EQ(rendered(asks), "2024");
  EXPECT_EQ(rendered(asks, std::nullopt), "-");
  EXPECT_EQ(rendered("{{ strftime_now('%Y') }}", std::nullopt),
            "chat template, line 1: 'strftime_now' is undefined");
  EXPECT_EQ(rendered("{{ strftime_now }}", a_morning(), {{"strftime_now", "mine"}}), "mine");
}

TEST(strftime_now, has_the_limits_of_a_template) {
  const template_limits limits{.max_steps = 10'000, .max_output = 1000};
  const auto fault = [&](std::string_view source) {
    const auto text = chat_template::compile(source, limits)->render(json::object(), a_morning());
    return text ? "rendered" : text.error().message;
  };
  EXPECT_NE(fault("{{ strftime_now('%c' * 100) }}").find("too long"), std::string::npos);
  EXPECT_NE(fault("{% for a in range(9999) %}{% set x = strftime_now('%n' * 500) %}{% endfor %}")
                .find("too many steps"),
            std::string::npos);
}

}  // namespace
}  // namespace troupe
