#include "runtime/grammar/json_schema/document/schema_document.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/grammar/json_schema/document/uri_reference.hpp"

namespace troupe::json_schema {
namespace {

schema_document parse(const std::string& text) {
  auto read = schema_document::parse(text);
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return std::move(*read);
}

std::string target(const schema_document& document, const std::string& at) {
  const json& node = document.root()[json::json_pointer(at)];
  const auto found = document.resolve(node, node["$ref"].get<std::string>());
  return found ? document.pointer_of(**found) : "error: " + found.error().message;
}

TEST(SchemaDocument, FollowsPointersWithEscapesAndIndices) {
  const auto document =
      parse(R"({"$defs":{"a/b":{"items":[{"x":1},{"y~":{}}]}},"$ref":"#/$defs/a~1b/items/1/y~0",
                                  "p":{"$ref":"#/%24defs/a~1b"},"q":{"$ref":"#/$defs/a~1b/items/2"},
                                  "r":{"$ref":"#/$defs/a~1b/items/01"}})");
  EXPECT_EQ(target(document, ""), "/$defs/a~1b/items/1/y~0");
  EXPECT_EQ(target(document, "/p"), "/$defs/a~1b");
  EXPECT_TRUE(target(document, "/q").starts_with("error: "));
  EXPECT_TRUE(target(document, "/r").starts_with("error: ")) << "RFC 6901, section 4: no leading zeros";
}

TEST(SchemaDocument, FollowsIdentifiersAndAnchors) {
  const auto document = parse(R"({"$id":"http://example.com/root.json","$defs":{
    "a":{"$id":"item.json","$defs":{"inner":{"$anchor":"here"}},"q":{"$ref":"#here"},"r":{"$ref":"#/$defs/inner"}},
    "b":{"$id":"urn:x:b"}},"x":{"$ref":"item.json"},"y":{"$ref":"http://example.com/item.json#here"},
    "z":{"$ref":"urn:x:b"},"w":{"$ref":"other.json"}})");
  EXPECT_EQ(target(document, "/x"), "/$defs/a");
  EXPECT_EQ(target(document, "/y"), "/$defs/a/$defs/inner");
  EXPECT_EQ(target(document, "/z"), "/$defs/b");
  EXPECT_EQ(target(document, "/$defs/a/q"), "/$defs/a/$defs/inner");
  EXPECT_EQ(target(document, "/$defs/a/r"), "/$defs/a/$defs/inner");
  EXPECT_TRUE(target(document, "/w").starts_with("error: "));
}

TEST(SchemaDocument, KnowsTheIdentifiersOfDraft4) {
  const auto document = parse(R"({"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y#",
    "definitions":{"a":{"id":"#name"}},"p":{"$ref":"#name"},"properties":{"id":{"type":"string"}}})");
  EXPECT_EQ(document.version(), draft::draft4);
  EXPECT_EQ(target(document, "/p"), "/definitions/a");
}

TEST(SchemaDocument, TakesNoIdentifierFromData) {
  const auto document = parse(
      R"({"const":{"$anchor":"a"},"enum":[{"$anchor":"a"}],"$defs":{"enum":{"$anchor":"a"}},"p":{"$ref":"#a"}})");
  EXPECT_EQ(target(document, "/p"), "/$defs/enum");
}

TEST(SchemaDocument, TakesAnIdentifierOfAnUnknownWordOnlyWhereThereIsNoOther) {
  for (const char* order :
       {R"("x-note":{"$id":"urn:a","$anchor":"b"},"$defs":{"n":{"$id":"urn:a"},"m":{"$anchor":"b"}})",
        R"("$defs":{"n":{"$id":"urn:a"},"m":{"$anchor":"b"}},"x-note":{"$id":"urn:a","$anchor":"b"})"}) {
    const auto document =
        parse("{" + std::string(order) + R"(,"p":{"$ref":"urn:a"},"q":{"$ref":"#b"},"x-own":{"$id":"urn:c"},
                                           "r":{"$ref":"urn:c"}})");
    EXPECT_EQ(target(document, "/p"), "/$defs/n");
    EXPECT_EQ(target(document, "/q"), "/$defs/m");
    EXPECT_EQ(target(document, "/r"), "/x-own");
  }
}

TEST(SchemaDocument, RefusesWhatIsNoSchemaOrTooLarge) {
  for (const char* text : {"", "[]", "3", "{", "{\"a\":NaN}", "\"x\""})
    EXPECT_FALSE(schema_document::parse(text)) << text;
  EXPECT_TRUE(schema_document::parse("true"));
  EXPECT_FALSE(schema_document::parse(R"({"title":"0123456789"})", {.max_bytes = 16}));
  EXPECT_FALSE(schema_document::parse(R"({"a":{"b":{"c":{}}}})", {.max_depth = 3}));
  EXPECT_FALSE(schema_document::parse(R"({"enum":[1,2,3,4,5]})", {.max_values = 4}));
}

TEST(UriReference, ResolvesTheExamplesOfTheStandard) {
  const std::string base = "http://a/b/c/d;p?q";  // RFC 3986, 5.4
  const std::pair<const char*, const char*> cases[] = {
      {"g", "http://a/b/c/g"},      {"./g", "http://a/b/c/g"},  {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},         {"//g", "http://g"},        {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},  {"..", "http://a/b/"},      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},       {"../../g", "http://a/g"},  {"g:h", "g:h"},
      {"../../../g", "http://a/g"}, {"", "http://a/b/c/d;p?q"}, {"./../g", "http://a/b/g"}};
  for (const auto& [reference, expected] : cases)
    EXPECT_EQ(resolve_uri(base, reference), expected) << reference;
}

TEST(SchemaDocument, AReferenceHidesTheIdentifierBesideItUpToDraft7) {
  const char* words = R"("$id":"http://x/root","definitions":{"a":{"$id":"http://y/a"},
    "b":{"$ref":"#/definitions/c","$id":"http://y/b"},"c":{}}})";
  const auto hidden = parse(R"({"$schema":"http://json-schema.org/draft-07/schema#",)" + std::string(words));
  EXPECT_EQ(target(hidden, "/definitions/b"), "/definitions/c");
  EXPECT_FALSE(hidden.resolve(hidden.root(), "http://y/b").has_value());
  EXPECT_TRUE(hidden.resolve(hidden.root(), "http://y/a").has_value());
  const auto named = parse("{" + std::string(words));
  EXPECT_TRUE(named.resolve(named.root(), "http://y/b").has_value());
}

TEST(SchemaDocument, FindsMembersOfWideObjectsByName) {
  std::string members;
  for (int i = 0; i < 100; ++i) members += "\"m" + std::to_string(i) + "\":{\"x\":{}},";
  const auto document = parse(R"({"$defs":{)" + members + R"("last":{}},"p":{"$ref":"#/$defs/m0/x"},
    "q":{"$ref":"#/$defs/m99"},"r":{"$ref":"#/$defs/last"},"s":{"$ref":"#/$defs/m100"}})");
  EXPECT_EQ(target(document, "/p"), "/$defs/m0/x");
  EXPECT_EQ(target(document, "/q"), "/$defs/m99");
  EXPECT_EQ(target(document, "/r"), "/$defs/last");
  EXPECT_TRUE(target(document, "/s").starts_with("error: "));
}

}  // namespace
}  // namespace troupe::json_schema
