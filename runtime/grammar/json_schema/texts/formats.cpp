#include "runtime/grammar/json_schema/texts/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/json_schema/texts/pattern_language.hpp"

namespace troupe::json_schema {
namespace {

// RFC 3339, section 5.6, with the days that each month has.
const std::string date =
    R"re((?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29))re";
const std::string time =
    R"re((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]))re";
// RFC 3339, appendix A.
const std::string duration_time = R"re(T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))re";
const std::string duration = fmt::format(
    R"re(P(?:(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)(?:{0})?|{0}|[0-9]+W))re",
    duration_time);
// RFC 1123, section 2.1.
const std::string label = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?";
const std::string hostname = fmt::format(R"re({0}(?:\.{0})*)re", label);
// No "--" at the third place, which marks A-labels (RFC 5891, section 4.2.3.1), not all of which mean
// anything.
const std::string unmarked_label =
    "[0-9A-Za-z](?:[0-9A-Za-z-]?[0-9A-Za-z])?|[0-9A-Za-z][0-9A-Za-z-]{2}[0-9A-Za-z]|"
    "[0-9A-Za-z][0-9A-Za-z-](?:[0-9A-Za-z][0-9A-Za-z-]|-[0-9A-Za-z])[0-9A-Za-z-]{0,58}[0-9A-Za-z]";
// Letters that RFC 5892 allows wherever they stand, in Normalization Form C, written from left to right:
// small ones of Latin, Greek and Cyrillic, kana, Han, Hangul. So few of them stay below 63 octets in any
// encoding.
const std::string international_label = fmt::format(
    R"re((?:{}|[0-9a-z\u{{DF}}-\u{{F6}}\u{{F8}}-\u{{FF}}\u{{3B1}}-\u{{3C9}}\u{{430}}-\u{{45F}}\u{{3041}}-\u{{3096}}\u{{30A1}}-\u{{30FA}}\u{{4E00}}-\u{{9FA5}}\u{{AC00}}-\u{{D7A3}}]{{1,12}}))re",
    unmarked_label);
const std::string international_hostname =
    fmt::format(R"re((?:(?:{0})(?:\.(?:{0}))*|{1}(?:\.{1}){{0,2}}))re", unmarked_label, international_label);
// RFC 5321, section 4.1.2; an atom has hyphens besides.
const std::string ascii_atom = "0-9A-Za-z!#$%&'*+/=?^_`{|}~";
std::string mailbox(const std::string& atom, const std::string& domain) {
  return fmt::format(R"re([{0}-]+(?:\.[{0}-]+)*@{1})re", atom, domain);
}
const std::string octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const std::string ipv4 = fmt::format(R"re({0}(?:\.{0}){{3}})re", octet);
// RFC 4291, section 2.2; the forms are those of RFC 3986's IPv6address.
std::string make_ipv6() {
  const std::string h = "[0-9A-Fa-f]{1,4}";
  const std::string tail = fmt::format("(?:{0}:{0}|{1})", h, ipv4);
  std::string out = fmt::format("(?:(?:{0}:){{6}}{1}|::(?:{0}:){{5}}{1}", h, tail);
  for (int front = 0; front <= 4; ++front) {
    const std::string before =
        front == 0 ? fmt::format("(?:{0})?", h) : fmt::format("(?:(?:{0}:){{0,{1}}}{0})?", h, front);
    const int groups = 4 - front;
    out += fmt::format("|{0}::", before);
    if (groups > 0) out += fmt::format("(?:{0}:){{{1}}}", h, groups);
    out += tail;
  }
  out += fmt::format("|(?:(?:{0}:){{0,5}}{0})?::{0}|(?:(?:{0}:){{0,6}}{0})?::)", h);
  return out;
}
const std::string ipv6 = make_ipv6();

// RFC 3986, appendix A; `more` are the characters that RFC 3987 adds.
struct uri_grammar {
  explicit uri_grammar(const std::string& more) {
    const std::string unreserved = fmt::format("0-9A-Za-z._~{}", more);
    const std::string sub_delims = "!$&'()*+,;=";
    const std::string escaped = "%[0-9A-Fa-f]{2}";
    const auto any_of = [&](const std::string& extra) {
      return fmt::format("(?:[{}{}{}-]|{})", unreserved, sub_delims, extra, escaped);
    };
    const std::string pchar = any_of(":@");
    const std::string ip_literal =
        fmt::format(R"re(\[(?:{}|v[0-9A-Fa-f]+\.[0-9A-Za-z._~!$&'()*+,;=:-]+)\])re", ipv6);
    const std::string authority =
        fmt::format("(?:{}*@)?(?:{}|{}*)(?::[0-9]*)?", any_of(":"), ip_literal, any_of(""));
    const std::string segments = fmt::format("(?:/{}*)*", pchar);
    const std::string absolute = fmt::format("/(?:{}+{})?", pchar, segments);
    const std::string end = fmt::format(R"re((?:\?(?:{0}|[/?])*)?(?:#(?:{0}|[/?])*)?)re", pchar);
    uri = fmt::format("[A-Za-z][0-9A-Za-z+.-]*:(?://{0}{1}|{2}|{3}+{1}|){4}", authority, segments, absolute,
                      pchar, end);
    reference = fmt::format("(?:{0}|(?://{1}{2}|{3}|{4}+{2}|){5})", uri, authority, segments, absolute,
                            any_of("@"), end);
  }
  std::string uri;
  std::string reference;
};

// RFC 3987, ucschar.
const std::string international =
    R"re(\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD})re";

// RFC 6570, section 2.
const std::string template_variable =
    R"re((?:[0-9A-Za-z_]|%[0-9A-Fa-f]{2})(?:\.?(?:[0-9A-Za-z_]|%[0-9A-Fa-f]{2}))*(?:\*|:[1-9][0-9]{0,3})?)re";
const std::string uri_template = fmt::format(
    R"re((?:[!#$&()*+,./0-9:;=?@A-Z\[\]_a-z~{1}-]|%[0-9A-Fa-f]{{2}}|\{{[+#./;?&]?{0}(?:,{0})*\}})*)re",
    template_variable, international);

const std::string json_pointer = R"re((?:/(?:[^~/]|~[01])*)*)re";

// Patterns that every dialect reads, with groups in groups.
std::string make_pattern_format() {
  const std::string in_class =
      R"re((?:a-z|A-Z|0-9|a-f|A-F|[^\x00-\x7f]|[0-9A-Za-z _.,:;@#%&=!/+*?$()|{}]|\\[dDwWsSnrt.*+?^$()|{}\[\]\\/-]))re";
  const std::string item = fmt::format(
      R"re((?:[0-9A-Za-z _,:;=@#%&"'<>~`!/-]|[^\x00-\x7f]|\.|\\[dDwWsSnrt.*+?^$()|{{}}\[\]\\/]|\[\^?{}+-?\]))re",
      in_class);
  const std::string count = R"re((?:(?:[*+?]|\{(?:[0-9]{1,3},?|0,[0-9]{1,3}|1,[1-9][0-9]{0,2})\})\??)?)re";
  std::string branch = fmt::format("(?:{}{}|[$^])*", item, count);
  for (int depth = 0; depth < 2; ++depth) {
    const std::string inside = fmt::format(R"re({0}(?:\|{0})*\))re", branch);
    branch = fmt::format(R"re((?:(?:{0}|\((?:\?:)?{1}){2}|\(\?[=!]{1}|[$^])*)re", item, inside, count);
  }
  return fmt::format(R"re({0}(?:\|{0})*)re", branch);
}

struct known_format {
  std::string_view name;
  std::string pattern;
  std::uint32_t max_size = grammar::unbounded;
  // Where a part of it is let through, or well-known validators take more: all that may be of it.
  std::string at_most = {};
};
// None of ASCII's but letters, digits, hyphens and dots.
const std::string without_ascii_signs = R"re([^\x00-,/:-@\[-`{-\x7f]*)re";
// RFC 3986, appendix C, and its characters that are neither reserved nor unreserved.
const std::string without_delimiters = R"re([^\x00-\x20<>"{}|\\^`]*)re";
const std::string mail_at_most = "[^]*@[^]*";
const std::string time_at_most = "(?:[01][0-9]|2[0-4]):[0-5][0-9]:(?:[0-5][0-9]|60)[^]*";

const std::array<known_format, 19>& known_formats() {
  static const uri_grammar ascii("");
  static const uri_grammar unicode(international);
  static const std::array<known_format, 19> formats{{
      {"date", date, grammar::unbounded, date},
      {"time", time, grammar::unbounded, time_at_most},
      {"date-time", fmt::format("{}T{}", date, time), grammar::unbounded,
       "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]" + time_at_most},
      {"duration", duration, grammar::unbounded, "[^]*P[^]*"},
      {"email", mailbox(ascii_atom, hostname), 254, mail_at_most},
      {"idn-email",
       mailbox(ascii_atom + R"re(\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF})re",
               international_hostname),
       254, mail_at_most},
      {"hostname", hostname, 253, hostname + R"re(\.?)re"},
      {"idn-hostname", international_hostname, 253, without_ascii_signs},
      {"ipv4", ipv4},
      {"ipv6", ipv6},
      {"uri", ascii.uri},
      {"uri-reference", ascii.reference},
      {"iri", unicode.uri, grammar::unbounded, "[^]*:[^]*"},
      {"iri-reference", unicode.reference, grammar::unbounded, without_delimiters},
      {"uuid", "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}", grammar::unbounded,
       "[^]{8}-(?:[^]{4}-){3}[^]*"},
      {"uri-template", uri_template, grammar::unbounded, R"re((?:[^{}]|\{[^{}]*\})*)re"},
      {"json-pointer", json_pointer},
      {"relative-json-pointer", fmt::format("(?:0|[1-9][0-9]*)(?:#|{})", json_pointer)},
      {"regex", make_pattern_format(), grammar::unbounded, "(?:[^*+?)][^]*)?"},
  }};
  return formats;
}

regex_id read_format(workspace& work, const std::string& pattern) {
  const auto body = pattern_language(
      work.regex, pattern,
      {[](regex_store& store, const grammar::code_point_set& set) { return spell(store, set); },
       work.text.spelled_body, true});
  if (body) return *body;
  work.fail_with(body.error());
  return work.regex.nothing();
}

std::optional<string_bodies> make_format(workspace& work, std::string_view name) {
  for (const known_format& format : known_formats()) {
    if (format.name.empty() || format.name != name) continue;
    regex_id whole = read_format(work, format.pattern);
    // RFC 3339 has a year 0, the calendar has none.
    if (format.name.starts_with("date"))
      whole = work.regex.difference(whole,
                                    work.regex.concat({work.regex.literal("0000"), work.regex.any_bytes()}));
    if (format.max_size != grammar::unbounded)
      whole = work.regex.intersection({whole, work.regex.repeat(work.text.character, 0, format.max_size)});
    return string_bodies{whole, format.at_most.empty() ? whole : read_format(work, format.at_most)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<string_bodies> format_bodies(workspace& work, std::string_view name) {
  const auto known = work.formats.find(std::string(name));
  if (known != work.formats.end()) return known->second;
  const auto made = make_format(work, name);
  work.formats.emplace(name, made);
  return made;
}

std::span<const std::string_view> format_names() {
  static const auto names = [] {
    std::vector<std::string_view> all;
    std::ranges::transform(known_formats(), std::back_inserter(all), &known_format::name);
    return all;
  }();
  return names;
}

}  // namespace troupe::json_schema
