#include "config/api_keys.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/config/config_fixture.hpp"

namespace troupe::config {
namespace {

using texts = std::vector<std::string>;

tl::expected<api_keys, std::string> keys_of(const std::optional<std::string>& path,
                                            const std::optional<std::string>& variable = {}) {
  setting_sources sources;
  if (path) sources.flags.emplace("api_key_file", *path);
  if (variable) sources.environment.emplace_back("TROUPE_API_KEY", *variable);
  const auto loaded = load_settings(sources);
  EXPECT_TRUE(loaded && loaded->warnings.empty());
  return read_api_keys(*loaded);
}

TEST(ApiKeys, StandOneOnALine) {
  const temporary_file file("# who is who\n\nkey-of-ann-1\r\n  key-of-bob-1  \n#another\nkey-of-cal-1");
  const auto keys = keys_of(file.path());
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_EQ(keys->texts, (texts{"key-of-ann-1", "key-of-bob-1", "key-of-cal-1"}));
  EXPECT_EQ(keys->warning, "");
}

TEST(ApiKeys, OrOneInTheEnvironment) { EXPECT_EQ(keys_of({}, "key-of-ann-1")->texts, texts{"key-of-ann-1"}); }

TEST(ApiKeys, NobodyNeedsOneWhereNoneIsSet) { EXPECT_EQ(keys_of({})->texts, texts{}); }

TEST(ApiKeys, APlaceThatIsEmptyDoesNotOpenThePorts) {
  EXPECT_TRUE(keys_of({}, "").error().starts_with("TROUPE_API_KEY: a client's key must have 8 to"));
  EXPECT_TRUE(keys_of("").error().starts_with("--api-key-file: names no file"));
}

TEST(ApiKeys, OfTwoPlacesNeitherIsTaken) {
  const temporary_file file("key-of-ann-1");
  const auto keys = keys_of(file.path(), "key-of-bob-1");
  ASSERT_FALSE(keys);
  EXPECT_NE(keys.error().find("--api-key-file, TROUPE_API_KEY"), std::string::npos) << keys.error();
}

TEST(ApiKeys, AFileThatEverybodyMayReadIsAWarning) {
  const temporary_file file("key-of-ann-1");
  ASSERT_EQ(chmod(file.path().c_str(), 0644), 0);
  EXPECT_TRUE(keys_of(file.path())->warning.starts_with(file.path()));
}

TEST(ApiKeys, AFileWithoutOneServesNobodyAndIsRefused) {
  for (const char* content : {"", "\n", "# key-of-ann-1\n"}) {
    const temporary_file file(content);
    const auto keys = keys_of(file.path());
    ASSERT_FALSE(keys) << content;
    EXPECT_TRUE(keys.error().starts_with(file.path() + ": holds no key")) << keys.error();
  }
  EXPECT_TRUE(keys_of("/there/is/none").error().starts_with("/there/is/none: cannot be read"));
}

TEST(ApiKeys, ABadOneIsRefusedByItsLineAndNotTold) {
  for (const std::string& bad : {std::string("short-1"), std::string("a key with spaces"),
                                 std::string("key\x01of-ann-1"), std::string(1025, 'k')}) {
    const temporary_file file("key-of-ann-1\n" + bad + "\n");
    const auto keys = keys_of(file.path());
    ASSERT_FALSE(keys) << bad;
    EXPECT_TRUE(keys.error().starts_with(file.path() + ":2: a client's key must ")) << keys.error();
    EXPECT_EQ(keys.error().find(bad), std::string::npos) << keys.error();
    EXPECT_FALSE(keys_of({}, bad));
  }
}

TEST(ApiKeys, AThousandAreTheMost) {
  std::string content;
  for (int i = 0; i < 1000; ++i) content += "key-of-number-" + std::to_string(i) + "\n";
  {
    const temporary_file file(content);
    EXPECT_EQ(keys_of(file.path())->texts.size(), 1000U);
  }
  const temporary_file file(content + "key-of-one-more\n");
  EXPECT_NE(keys_of(file.path()).error().find("more than 1000"), std::string::npos);
  const temporary_file large(std::string(2'000'000, '#'));
  EXPECT_NE(keys_of(large.path()).error().find("at most"), std::string::npos);
}

}  // namespace
}  // namespace troupe::config
