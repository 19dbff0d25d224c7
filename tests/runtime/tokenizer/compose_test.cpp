#include "runtime/tokenizer/compose.hpp"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

std::string composed(std::string_view text) {
  std::string room;
  return std::string(compose(text, room));
}

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &made,
                                 static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, std::free);
  if (size < 0) ADD_FAILURE() << utf8proc_errmsg(size);
  return size < 0 ? std::string()
                  : std::string(reinterpret_cast<char*>(made), static_cast<std::size_t>(size));
}
std::string as_utf8proc_composes(std::string_view text) {
  return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}
std::string taken_apart(std::string_view text) { return mapped(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE); }

std::string utf8(std::uint32_t code_point) {
  std::string text;
  append_utf8(code_point, text);
  return text;
}

template <class Visit>
void for_each_character(Visit visit) {
  for (std::uint32_t c = 1; c < 0x110000; ++c)
    if (c < 0xD800 || c > 0xDFFF) visit(utf8(c));
}

TEST(compose, puts_letters_and_their_marks_together) {
  EXPECT_EQ(composed("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(composed("Vie\u0323\u0302t Nam"), "Vi\u1ec7t Nam");
  EXPECT_EQ(composed("Vie\u0302\u0323t Nam"), "Vi\u1ec7t Nam");                 // in whichever order
  EXPECT_EQ(composed("\u1112\u1161\u11ab\u1100\u1173\u11af"), "\ud55c\uae00");  // Hangul letters
  EXPECT_EQ(composed("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(composed("\u00e9\u0323"), "\u1eb9\u0301");
  EXPECT_EQ(composed("\u212b \u2126 \u212a"), "\u00c5 \u03a9 K");
  EXPECT_EQ(composed("\u0958"), "\u0915\u093c");  // is not put together again
  EXPECT_EQ(composed("\u0301a"), "\u0301a");
}

TEST(compose, leaves_a_composed_text_where_it_is) {
  std::string room = "untouched";
  for (const std::string_view text :
       {"", "plain", "na\u00efve \u00bd", "\u65e5\u672c\u8a9e\u304c", "\ud55c\uad6d", "Vi\u1ec7t"})
    EXPECT_EQ(compose(text, room).data(), text.data()) << text;
  EXPECT_EQ(room, "untouched");
}

TEST(compose, does_with_every_character_what_utf8proc_does) {
  for_each_character([](const std::string& one) {
    for (const std::string& text : {one, taken_apart(one), "e" + one + "\u0301x", "\u1100" + one + one})
      ASSERT_EQ(composed(text), as_utf8proc_composes(text)) << testing::PrintToString(text);
  });
}

TEST(compose, makes_no_text_shorter_than_it_says) {
  for_each_character([](const std::string& one) {
    const std::string text = composed(one);
    for (const std::string& longer : {one, taken_apart(one)})
      ASSERT_LE(longer.size(), most_bytes_composed_to_one * text.size()) << testing::PrintToString(one);
  });
  const std::string worst = "\u1fbe\u0308\u0301";
  EXPECT_EQ(composed(worst), "\u0390");
  EXPECT_LE(worst.size(), most_bytes_composed_to_one * composed(worst).size());
}

TEST(compose, does_with_random_texts_what_utf8proc_does) {
  const std::vector<std::string> parts = {
      "a",      "e",      "\u00e9", "\u0301", "\u0323", "\u0302", "\u0327", "\u1100",    "\u1161",
      "\u11a8", "\uac00", "\u0915", "\u093c", "\u0958", "\u09c7", "\u09be", "\u304b",    "\u3099",
      "\u212b", "\u0344", "\u03b1", "\u0345", " ",      "1",      "\u65e5", "\U0001F600"};
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::size_t left = 1 + random() % 30; left > 0; --left) text += parts[random() % parts.size()];
    EXPECT_EQ(composed(text), as_utf8proc_composes(text)) << testing::PrintToString(text);
  }
}

// With a sort that takes the square of their number this would not come to its end.
TEST(compose, takes_half_a_million_marks_on_one_letter) {
  std::string text = "e", sorted = "\u0229";
  for (int i = 0; i < 250'000; ++i) text += "\u0301\u0327";
  for (int i = 1; i < 250'000; ++i) sorted += "\u0327";
  for (int i = 0; i < 250'000; ++i) sorted += "\u0301";
  // The first accent goes together with the letter, which has its cedilla, too.
  EXPECT_EQ(composed(text), composed(sorted));
}

}  // namespace
}  // namespace troupe
