#include "config/admin_key.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/config/config_fixture.hpp"

namespace troupe::config {
namespace {

const std::string good = "0123456789abcdef-key";

loaded_settings with_file(const std::string& path) {
  return *load_settings(
      {.flags = {{"admin_port", "0"}, {"admin_key_file", path}}, .environment = {}, .file = {}});
}
loaded_settings with_variable(const std::string& key) {
  return *load_settings(
      {.flags = {{"admin_port", "0"}}, .environment = {{"TROUPE_ADMIN_KEY", key}}, .file = {}});
}

tl::expected<admin_key, std::string> key_of(const loaded_settings& loaded) {
  return read_admin_key(admin_key_place_of(loaded));
}

TEST(AdminKey, ComesFromTheFileWithoutItsLastNewLine) {
  const temporary_file file(good + "\r\n");
  const auto key = key_of(with_file(file.path()));
  ASSERT_TRUE(key) << key.error();
  EXPECT_EQ(key->text, good);
  EXPECT_EQ(key->warning, "");
}

TEST(AdminKey, ItsFileIsToldOfBeforeItIsOpened) {
  std::vector<std::string> told;
  const auto observer = [&told](const std::string& path) { told.push_back(path); };
  EXPECT_FALSE(read_admin_key(admin_key_place_of(with_file("/there/is/none")), observer));
  EXPECT_TRUE(read_admin_key(admin_key_place_of(with_variable(good)), observer));
  EXPECT_EQ(told, std::vector<std::string>{"/there/is/none"});
}

TEST(AdminKey, AFileThatEverybodyMayReadIsAWarning) {
  const temporary_file file(good);
  ASSERT_EQ(chmod(file.path().c_str(), 0644), 0);
  const auto key = key_of(with_file(file.path()));
  ASSERT_TRUE(key) << key.error();
  EXPECT_TRUE(key->warning.starts_with(file.path())) << key->warning;
}

TEST(AdminKey, ComesFromTheEnvironmentAndIsNoUnknownVariable) {
  const loaded_settings loaded = with_variable(good);
  EXPECT_TRUE(loaded.warnings.empty());
  const auto key = key_of(loaded);
  ASSERT_TRUE(key) << key.error();
  EXPECT_EQ(key->text, good);
}

TEST(AdminKey, WithoutOneTheErrorNamesThePortAndBothWaysToSetIt) {
  const auto key = key_of(with_variable(""));
  ASSERT_FALSE(key);
  EXPECT_TRUE(key.error().starts_with("--admin-port: ")) << key.error();
  EXPECT_NE(key.error().find("TROUPE_ADMIN_KEY"), std::string::npos);
  EXPECT_NE(key.error().find("--admin-key-file"), std::string::npos);
}

TEST(AdminKey, OfTwoNeitherIsTaken) {
  const temporary_file file(good);
  loaded_settings loaded = with_file(file.path());
  loaded.admin_key = good;
  EXPECT_FALSE(key_of(loaded));
}

TEST(AdminKey, OneThatIsShortOrHasOtherCharactersIsRefusedWithoutBeingTold) {
  for (const std::string& bad : {std::string("short-secret"), std::string("a secret with spaces in it"),
                                 std::string("secret\x01 0123456789abc"), std::string(1025, 's')}) {
    const auto key = key_of(with_variable(bad));
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().find(bad), std::string::npos) << key.error();
    EXPECT_TRUE(key.error().starts_with("TROUPE_ADMIN_KEY: ")) << key.error();
  }
}

TEST(AdminKey, AFileThatIsNotThereIsAnErrorThatNamesIt) {
  const auto key = key_of(with_file("/nonexistent/key"));
  ASSERT_FALSE(key);
  EXPECT_TRUE(key.error().starts_with("/nonexistent/key: cannot be read: ")) << key.error();
  EXPECT_FALSE(key_of(with_file("/tmp")));
}

}  // namespace
}  // namespace troupe::config
