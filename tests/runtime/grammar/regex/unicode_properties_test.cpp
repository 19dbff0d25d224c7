#include "runtime/grammar/regex/unicode_properties.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::grammar {
namespace {

constexpr std::uint32_t alpha = 0x3B1, han_one = 0x4E00, prolonged = 0x30FC, smile = 0x1F600;

TEST(UnicodeProperty, ScriptsAreNamedAsUnicodeNamesThem) {
  const auto greek = unicode_property("Greek");
  ASSERT_TRUE(greek);
  EXPECT_TRUE(contains(*greek, alpha));
  EXPECT_FALSE(contains(*greek, 'a'));
  for (const char* name : {"Script=Greek", "sc=Grek", "grek", "GREEK", "script = greek"})
    EXPECT_EQ(unicode_property(name), greek) << name;
  EXPECT_TRUE(contains(*unicode_property("Han"), han_one));
  EXPECT_TRUE(contains(*unicode_property("Old_Italic"), 0x10300));
}

TEST(UnicodeProperty, ExtensionsOfAScriptHaveWhatSeveralShare) {
  EXPECT_FALSE(contains(*unicode_property("Katakana"), prolonged));
  EXPECT_TRUE(contains(*unicode_property("scx=Katakana"), prolonged));
  EXPECT_TRUE(contains(*unicode_property("Script_Extensions=Hira"), prolonged));
}

TEST(UnicodeProperty, EveryCharacterIsOfOneScript) {
  code_point_set left = all_code_points();
  for (const char* script :
       {"Common", "Inherited", "Latin", "Greek", "Cyrillic", "Han", "Hangul", "Unknown"}) {
    const auto of = unicode_property(script);
    ASSERT_TRUE(of) << script;
    EXPECT_EQ(*of, normalized(*of)) << script;
    EXPECT_EQ(intersection(left, *of), *of) << script << " has characters of another one";
    left = intersection(left, complement(*of));
  }
  EXPECT_FALSE(left.empty()) << "there are others";
}

TEST(UnicodeProperty, OthersAreKnownByTheirNames) {
  EXPECT_TRUE(contains(*unicode_property("Alphabetic"), alpha));
  EXPECT_FALSE(contains(*unicode_property("Alphabetic"), smile));
  EXPECT_TRUE(contains(*unicode_property("Emoji"), smile));
  EXPECT_TRUE(contains(*unicode_property("ID_Start"), 'a'));
  EXPECT_FALSE(contains(*unicode_property("ID_Start"), '1'));
}

TEST(UnicodeProperty, UnknownNamesAreNone) {
  for (const std::string name :
       {"", "Greekish", "Script=", "sc=Nothing", "Xan", "xwd", "L&", "a}b", "}", "gc=Lu", "bidi_class:al",
        "script=script=greek", "sc:greek", "\xCE\xB1", "^greek"})
    EXPECT_FALSE(unicode_property(name)) << name;
  EXPECT_FALSE(unicode_property(std::string(1000, 'a')));
}

}  // namespace
}  // namespace troupe::grammar
