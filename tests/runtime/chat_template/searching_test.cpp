#include "runtime/chat_template/searching.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace troupe::jinja {
namespace {

constexpr auto nowhere = std::string_view::npos;

std::string few_of(std::mt19937& random, std::size_t size, unsigned one_in) {
  std::string out;
  for (; size > 0; --size) out += random() % one_in == 0 ? 'b' : 'a';
  return out;
}

TEST(searching, finds_long_texts_where_the_standard_library_finds_them) {
  std::mt19937 random(3);
  int found = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto text = few_of(random, 100 + random() % 300, 12);
    const auto wanted = random() % 2 == 0 ? text.substr(random() % 30, 60 + random() % 10)
                                          : few_of(random, 60 + random() % 10, 20);
    const auto place = random() % (text.size() + 3);
    found += find_first(text, wanted) != nowhere ? 1 : 0;
    EXPECT_EQ(find_first(text, wanted, place), text.find(wanted, place));
    EXPECT_EQ(find_last(text, wanted), text.rfind(wanted));
    EXPECT_EQ(find_last(text, wanted, place), std::string_view(text).substr(0, place).rfind(wanted));
  }
  EXPECT_GT(found, 2000);
}

TEST(searching, finds_an_empty_text_everywhere_and_a_longer_one_nowhere) {
  EXPECT_EQ(find_first("ab", "", 1), 1U);
  EXPECT_EQ(find_first("ab", "", 3), nowhere);
  EXPECT_EQ(find_last("ab", ""), 2U);
  EXPECT_EQ(find_first("ab", std::string(100, 'a')), nowhere);
  EXPECT_EQ(find_last("ab", std::string(100, 'a')), nowhere);
}

// At a million places half a million characters would be compared, at each of them.
TEST(searching, does_not_start_anew_at_every_place_of_a_long_text) {
  const std::string text(4'000'000, 'a');
  EXPECT_EQ(find_first(text, std::string(2'000'000, 'a') + 'b'), nowhere);
  EXPECT_EQ(find_last(text, 'b' + std::string(2'000'000, 'a')), nowhere);
  EXPECT_EQ(find_first(text + 'b', std::string(2'000'000, 'a') + 'b'), 2'000'000U);
}

}  // namespace
}  // namespace troupe::jinja
