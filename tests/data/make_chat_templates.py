#!/usr/bin/env python3
"""Writes chat_templates.json: templates, contexts, and what Python's Jinja2 makes of them.

The environment is the one that Hugging Face's apply_chat_template sets up (transformers/utils/chat_template_utils.py).
Needs jinja2. Run it after changing the cases below:  python3 make_chat_templates.py
"""
import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("print_body"), [], [], body).set_lineno(line)

    @staticmethod
    def print_body(caller):
        return caller()


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                    extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = to_json
env.globals["raise_exception"] = refuse
env.globals.pop("lipsum")

HERE = pathlib.Path(__file__).parent
TEMPLATES = {path.stem: path.read_text() for path in sorted((HERE / "chat_templates").glob("*.jinja"))}

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather \"now\" <here>", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "Die Stadt, größer & schöner"},
                                         "days": {"type": "integer", "default": 3, "factor": 0.5}},
        "required": ["city"], "strict": None, "ok": True}}}]
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call_12345", "type": "function",
     "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2}}}]}
CONVERSATIONS = {
    "one question": [{"role": "user", "content": "Hello!"}],
    "with a system prompt": [{"role": "system", "content": "  Be brief.\n"}, {"role": "user", "content": " Hi \n"}],
    "several turns": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"},
                      {"role": "user", "content": "日本語 👩‍👩‍👧 \"quotes\" \\ and <tags>"}],
    "thoughts": [{"role": "user", "content": "Why?"},
                 {"role": "assistant", "content": "<think>\nhm\n</think>\n\nBecause."},
                 {"role": "user", "content": "Sure?"}],
    "a tool call": [{"role": "user", "content": "Weather?"}, CALL,
                    {"role": "tool", "tool_call_id": "call_12345", "name": "get_weather", "content": "rain"},
                    {"role": "user", "content": "And now?"}],
    "two users": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    "an unknown role": [{"role": "critic", "content": "no"}],
    "no messages": [],
    "odd messages": [{"role": "user"}, {"role": "user", "content": None}],
}

# Small things, each with the context below.
CONTEXT = {"s": " Hello wörld ", "l": [3, 1, 2], "d": {"b": 1, "a": "x", "items": "key"}, "n": None, "t": True, "i": 7,
           "f": 2.5, "people": [{"name": "Ada", "age": 36, "tags": ["x"]}, {"name": "bob", "age": 25, "tags": []},
                                {"name": "Cyd", "tags": ["y", "z"]}], "lines": "one\n\n  two\nthree\n", "e": "", "o": {}}
EXPRESSIONS = """
1 + 2 * 3 - 4 // 3 % 2
7 / 2
-7 // 2, -7 % 3, 7 % -3, 2 ** 10, 2 ** -1, -2 ** 2, 2 ** 3 ** 2
1e3, 1.0, 0.1, 1e20, 1e16, 123456789.125, 1e-7, 1_000
'a' ~ 1 ~ none ~ true ~ 2.0 ~ missing
'ab' * 3, 3 * 'x', 'x' * -1
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, true == 1, 'a' < 'b', [1] == [1.0], {'a': 1} == {'a': true}
not true or true and false, not (1 == 2), 'x' or 'y', e or 'fallback', n and 1
1 in l, 5 not in l, 'wör' in s, 'a' in d, 'z' in d, not 1 in l, 'x' in missing
'yes' if t else 'no', ('x' if false), 'a' if false else 'b' if false else 'c'
s|trim, s.strip(), s.lstrip(), s.rstrip(), 'xxhixx'.strip('x'), 'abcba'.lstrip('ab'), 'a'|trim('a')
s|upper, s|lower, s|capitalize, s|title, s.upper(), s.title(), s.lower(), "it's x-ray"|title, "it's x-ray".title()
s|length, l|length, d|length, missing|length, s|trim|count
l|first, l|last, e|first, s|trim|first, s|trim|last
l[0], l[-1], l[5], l[1:], l[:-1], l[::-1], l[::2], l[-2:], l[5:], s[1:4], s[::-1], s[-3:], 'wörld'[1]
d.a, d['a'], d.b, d.missing, d['missing'], d.get('a'), d.get('zz'), d.get('zz', 'preset'), d['items']
d|items|list, d.items()|list, d.keys()|list, d.values()|list, d|list, d|dictsort
d, l, [none, true, 'it\\'s', "q\\"", 1.5], (1, 2), (1,), {'k': [1, {'x': none}]}, 'a\\nb', ['a\\nb\\t\\\\', 'é', '\\u200b']
l|join, l|join(', '), people|join(',', attribute='name'), people|map(attribute='name')|join('/')
people|map(attribute='age', default=0)|list, l|map('string')|join('-'), ['a', 'b']|map('upper')|list
people|selectattr('age')|map(attribute='name')|list, people|selectattr('age', 'defined')|list|length
people|selectattr('name', 'equalto', 'bob')|list|length, people|rejectattr('tags')|map(attribute='name')|list
people|selectattr('age', 'defined')|selectattr('age', 'gt', 30)|map(attribute='name')|list, l|select('odd')|list, l|reject('even')|list, [0, 1, '']|select|list
people|map(attribute='tags.0')|list|length, people|map(attribute='tags')|map('length')|list
missing|default('x'), e|default('x'), e|default('x', true), e|d('y', boolean=true), n|default('z')
missing.x is defined
missing is defined, s is defined, missing is not defined, missing is undefined, n is none, n is not none
s is string, l is string, d is mapping, l is mapping, l is iterable, s is iterable, d is iterable, i is iterable
l is sequence, d is sequence, s is sequence, i is sequence, i is number, t is number, f is number, s is number
t is boolean, i is boolean, t is true, t is false, i is true, i is integer, t is integer, f is float, i is float
3 is odd, 4 is even, 9 is divisibleby(3), 9 is divisibleby 4, 'a' is in ['a'], 1 is eq 1, 1 is equalto(2), 2 is gt(1), 2 is ne 2
'abc' is lower, 'ABC' is upper, 'Abc' is lower
'5'|int, 'x'|int, 'x'|int(9), '5.7'|int, 5.7|int, n|int, '2.5'|float, 'x'|float, i|float, t|int
i|string, l|string, f|string, n|string
'a,b,,c'.split(','), ' a  b c '.split(), 'a,b,c'.split(',', 1), 'abc'.split('b')[-1], ''.split(','), ''.split(), 'a b c'.split(none, 1)
'a,b,c'.rsplit(',', 1), 'one\\ntwo\\r\\nthree'.splitlines(), '<think>x</think>y'.split('</think>')[-1].lstrip('\\n')
'abc'.startswith('ab'), 'abc'.endswith('bc'), 'abc'.startswith('x'), 'abc'.startswith(('x', 'a'))
'aXbX'.replace('X', '-'), 'aXbX'.replace('X', '-', 1), 'aXbX'|replace('X', ''), 'ab'.replace('', '.')
'abcb'.find('b'), 'abcb'.rfind('b'), 'x'.find('y'), 'wörld'.find('r'), 'abcb'.count('b'), '42'.isdigit(), '4x'.isdigit(), ''.isdigit()
'-'.join(['a', 'b']), 'prefix-x'.removeprefix('prefix-'), 'x.py'.removesuffix('.py')
l|sort, l|sort(reverse=true), ['b', 'A', 'c']|sort, ['b', 'A']|sort(case_sensitive=true), people|sort(attribute='name')|map(attribute='name')|list
[1, 2, 1, 'a', 'A']|unique|list, l|reverse|list, 'abc'|reverse, l|min, l|max, l|sum, people|sum(attribute='age') if false else 0
lines|indent, lines|indent(2, true), lines|indent(2, blank=true), lines|indent(width='> ', first=true)
-5|abs, 5.5|abs
'<a href="x">\\'&'|e
'<b>'|safe
l|tojson, d|tojson, people|tojson, s|tojson, n|tojson, t|tojson, 1.0|tojson, 1e100|tojson, '\\u0001\\n\\t"\\\\/é\\u2028'|tojson
people|tojson(indent=2), d|tojson(indent=4, sort_keys=true), []|tojson(indent=2), d|tojson(separators=(',', ':')), {'a': {}}|tojson(indent=1)
range(5)|list, range(2, 5)|list, range(10, 0, -3)|list, range(0)|list
dict(a=1, b='x').b, namespace(x=1).x
{1: 'a', -2: 'b'}, {1: 'a'}[1], {1: 'a'}[1.0], {1: 'a'}[true], {1: 'a'}['1'], {1: 'a'}.get(1), {1: 'a'}.get('1'), {1: 'a', 1: 'b'}, {1: 'a', '1': 'b'}
1 in {1: 'a'}, '1' in {1: 'a'}, 1.5 in {1: 'a'}, none in {1: 'a'}, {1: 'a'} == {1: 'a'}, {1: 'a'} == {'1': 'a'}, {1: 'a'}|list, {1: 'a'}.items()|list, {1: 'a'}.keys()|list
{2: 'b', 10: 'c', 1: 'a'}|dictsort, {3: 1}|tojson, {10: 1, 9: 2}|tojson(sort_keys=true), {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1, 9: 1, 10: 1, 11: 1, 12: 1, 13: 1, 14: 1, 15: 1, 16: 'x'}[16]
{1: 'a', 'x': 'b'}
{1: 'a', 'x': 'b'}|dictsort
{1: 'a', 'x': 'b'}|tojson(sort_keys=true)
'a' 'b' "c", 'tab\\tnew\\\\n', '\\x41\\u00e9\\U0001F600\\101\\q', "it's", 'say "hi"'
{'a': 1, 'a': 2}, {}, [], (), [1, 2,], {'x': 1,}
l + [4], [[1], [2]][1][0], 'a' + 'b', [1] + [2] == [1, 2]
undefined_thing ~ 'x', [missing]|length, missing|join, missing|list, missing == missing, missing|upper
'İ'|length, 'ÄÖÜ'|lower, 'éa'|capitalize, '👩‍👩‍👧'|length, '日本語'[1:]
missing.attribute
missing['x']
missing.strip()
'a' + 1
1 + 'a'
'a' + none
'a' + missing
l + 1
-'a'
1 / 0
1 // 0
1 % 0
1 < 'a'
none < 1
5|length
i()
s.nope()
l.append(1)
d.update({'x': 1})
'a' in 5
[1, 'a']|sort
none|items|list
5|list
range(3)[7] is defined, range(3)[1]
missing|tojson
'a'.split('')
people|map(attribute='name')|first
raise_exception('the ' ~ 'end')
n|selectattr('x')|list, n|select|list, n|rejectattr('x')|list, n|reject('odd')|list, n|map(attribute='x')|list, n|map('upper')|list, 0|select|list
n|map('frobnicate')|list, []|select('frobnicate')|list
l|select('==', 1)|list, l|select('!=', 1)|list, l|select('<', 2)|list, l|select('>', 2)|list, l|reject('<=', 2)|list, l|select('>=', 2)|list
people|selectattr('name', '==', 'bob')|list|length, 'upper' is filter, 'nope' is filter, 'odd' is test, 'nope' is test
(1|frobnicate if false else 2), ('a' if t else 'b' is frobnicate)
'é😀\\x7f"\\n'|tojson(ensure_ascii=true), {'ß': 1}|tojson(true), [1, [2]]|tojson(indent='\\t')
'%s-%d' % ('a', 3), '%s' % 'a', '%.2f|%5.1f|%-6s|%06d|%+d|%x|%#o|%r|%%|%e|%g' % (1.239, 2.25, 'ab', -42, 7, 255, 8, 'q', 12345.678, 0.0001), '%s' % [1, 2], 'x' % {}
'%(a)s %(b)05d' % {'a': 1, 'b': 2}, '%s and %s'|format('x', 2), '%(k)s'|format(k='v'), '%5s|%-5s|%.2s' % ('é', 'é', 'éab'), '%*d' % (5, 3)
'%s %s' % ('a',)
'%s' % ('a', 'b')
'%d' % 'a'
'a' % 1
'%y' % 1
3.14159|round(2), 2.5|round, 3.5|round, 3.7|round(0, 'floor'), 3.21|round(1, 'ceil'), 7|round, 1234|round(-2), 2.675|round(2), 3.2|round|int
' a b  c '.rsplit(), ' a b  c '.rsplit(none, 1), 'a b c'.rsplit(maxsplit=1), 'a b c'.rsplit(none, 0), 'ab'.rsplit(none, 3)
'abc'.isalpha(), 'a1'.isalpha(), 'a1'.isalnum(), 'a '.isalnum(), 'AB1'.isupper(), 'Ab'.isupper(), 'ab'.islower(), '12'.isupper(), 'é'.isalpha()
'abc'.index('c'), 'abcabc'.rindex('b'), 'abcabc'.index('b', 2), '42'.zfill(5), '-42'.zfill(5), 'ab'.ljust(4, '.'), 'ab'.rjust(4), 'ab'.center(5, '*'), 'abc'.center(6, '*'), 'ab'.ljust(1)
'a,b,c'.partition(','), 'a,b,c'.rpartition(','), 'abc'.partition(','), 'abc'.rpartition(','), 'Straße ÀB'.casefold(), d.copy(), d.copy() == d
'abc'.index('z')
[{'k': 2, 'g': 'x'}, {'k': 1, 'g': 'Y'}, {'k': 3, 'g': 'X'}]|groupby('g')|list, people|groupby('age', default=0)|map(attribute='grouper')|list
[1, 2, 3, 4, 5]|batch(2)|list, [1, 2, 3]|batch(2, 'x')|list, [1, 2, 3, 4, 5]|slice(3)|list, [1, 2, 3, 4]|slice(3, 'x')|list
'one two, three'|wordcount, 'one two three'|truncate(9), 'one two three'|truncate(9, true), 'one two three'|truncate(5, false, '!', 0), 'short'|truncate(3), 'ab'|center(6)
l * 2, 2 * [1], [1] * 0, (1,) * 2, [1, 2] < [1, 3], [1] < [1, 0], (1, 2) == [1, 2], (1, 2) == (1, 2)
'Hello World'.find('o', 5), 'Hello World'.count('o', 5), 'Hello World'.rfind('o', 0, 5), 'Hello World'.find('o', -4), 'wörld'.find('l', 3), 'abc'.find('', 9), 'abc'.count(''), 'ab'.find('b', 0, 1), ''.find('', 1)
'Hello World'.startswith('World', 6), 'Hello World'.startswith('World'), 'Hello'.endswith('ell', 0, 4), 'x'.startswith('', 2)
[1, 2]|sum(start=10), people|rejectattr('age', 'undefined')|sum('age', 1)
{'b': 1, 'A': 2}|dictsort, {'b': 1, 'A': 2}|dictsort(true), {'b': 1, 'A': 2}|dictsort(by='value'), {'b': 1, 'A': 2}|dictsort(reverse=true), {'b': 'x', 'a': 'Y'}|dictsort(false, 'value', true)
{'a': 1}|dictsort(by='size')
dict(d, x=1), dict([('a', 1), ('b', 2)]), dict([('a', 1)], a=2), namespace({'v': 1}).v, namespace({'v': 1}, v=2).v, dict()
'a\\nb\\r\\nc\\x0bd\\u2028e\\n'.splitlines(), 'a\\nb\\r\\nc'.splitlines(true), '\\n'.splitlines(), '\\r\\n\\n'.splitlines(keepends=true)
'0x1f'|int(base=16), 'ff'|int(0, 16), '0b11'|int(base=2), '0o17'|int(7, 8), '0x1f'|int, '0x1f'|int(base=0), '-1'|int, '+5'|int, '--1'|int(3), '12'|int(base=3)
1 is sameas true, true is sameas true, none is sameas none, 1 is sameas 1.0, 'a' is sameas 'a'
'ß'|upper, 'straße'.upper(), 'ﬁn'|title, 'ßa'.capitalize(), 'ŉ'|upper, 'ẞ'|upper, 'ǰ'.upper(), 'éß'|lower
'abc'|upper('x')
'abc'|trim(side='left')
'a b'.split(none, 1, 2)
'a b'.split(limit=1)
l|first(1)
d.get('q', default=3)
d.items(1)
range(1, step=2)
1 is defined(2)
l|join(', ', none, 2)
l|join(', ', d=1)
people|sort(attribute='age,name')|list|length if false else 1, [{'a': 1, 'b': 2}, {'a': 1, 'b': 1}, {'a': 0, 'b': 3}]|sort(attribute='a,b')|map(attribute='b')|list
people|min(attribute='name')|length, ['b', 'A']|min, ['b', 'A']|min(true), ['a', 'B']|max
[namespace(a=1), namespace(a=2)]|map(attribute='a')|list, ([namespace(a=5)] + l)[0].a, {'k': namespace(b=6)}.k.b
'x'|truncate(9223372036854775807), 'abcdefgh'|truncate(5, leeway=9223372036854775807), 'abcdefgh'|truncate(3, true, '', 4), 'abcdefgh'|truncate(3, true, '', 5)
'x'|truncate(-9223372036854775807 - 1)
'7'.zfill(-9223372036854775807 - 1), '-7'.zfill(-9223372036854775807 - 1), '-7'.zfill(2), '+7'.zfill(3), ''.zfill(1)
' a b c '.split(none, 1), ' a b c '.split(none, 0), ' a b '.split(none, 5), '  '.split(none, 0), ' a b c '.split(maxsplit=2), ' a '.split(none, 1)
[{'a': 1}]|sort, {'k': {}}|dictsort(by='value'), [{'a': 1}]|groupby('b')|list|length, [{'a': 1}]|min, [{'a': 1}]|max, [none]|sort(attribute='x')
[{'a': 1}, {'a': 2}]|sort
[{'a': 1}, {'a': 2}]|max
['b', 'A', 'a']|max, ['b', 'A', 'a']|min, ['b', 'B', 'a']|max, ['ä', 'Ä', 'A']|unique|list, ['b', 'B', 'a', 'A']|sort
'éa'|first, 'aé'|last, ''|first is defined, ''|last is defined
'%.2s|%.0s|%.9s|%5.1s|%.3r' % ('éab', 'ab', 'ab', 'éa', 'abc')
1e400, -1e400, 1e-400, 5|round(-400), -5.5|round(-400), 1.25|round(400), 1234.5|round(-2, 'floor')
1.25|round(400, 'ceil')
5|round(-400, 'ceil')
1.5 is odd, 1.0 is odd, -1 is odd, -2.0 is even, 2.5 is even, true is odd
none is lower, 5 is lower, ['a'] is lower, ['A'] is upper, none is upper, true is lower, missing is lower, 1e300 is lower
n[1:]
i[1:]
missing[1:]
('a' * 5)|replace('a', 'bb', 2), 'aXbX'.replace('X', 'YY', 0), 'éa'.replace('', '-'), 'aaa'.replace('aa', 'b')
dict(a=1, a=2)
dict(a=1, **{'a': 2})
{'b': 1}.a()
""".strip("\n").split("\n")

STATEMENTS = {
    "loop variables": "{% for x in l %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }}/{{ loop.previtem }}/{{ loop.nextitem }};{% endfor %}",
    "nested loops": "{% for x in l %}{% for y in l if y != x %}{{ loop.depth }}{{ x }}{{ y }}{{ loop.last }} {% else %}none{% endfor %}{{ loop.index }}{% endfor %}",
    "loop over nothing": "{% for x in [] %}x{% else %}empty {{ x }}{% endfor %}{% for x in missing %}{% else %}missing{% endfor %}",
    "filtered loop": "{% for p in people if p.age is defined and p.age > 30 %}{{ loop.index }}{{ loop.length }}{{ p.name }}{% else %}no{% endfor %}",
    "unpacking": "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% set a, b = 1, 2 %}{{ a + b }}{% for k, v in d|items %}{{ k }}{% endfor %}{% for k, v in d|dictsort %}{{ k }}{% endfor %}",
    "bad unpacking": "{% for a, b in [1, 2] %}{% endfor %}",
    "uneven unpacking": "{% for a, b in [[1, 2, 3]] %}{% endfor %}",
    "loop over a string and keys": "{% for c in 'aé日' %}[{{ c }}]{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
    "loop over a number": "{% for c in 5 %}{% endfor %}",
    "break and continue": "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x > 5 %}{% break %}{% endif %}{{ x }}{% endfor %}.",
    "break of the inner loop": "{% for x in range(3) %}{% for y in range(5) %}{% if y > x %}{% break %}{% endif %}{{ y }}{% endfor %};{% endfor %}",
    "break and continue in an inner loop's else": "{% for x in range(4) %}{{ x }}{% for y in [] %}{% else %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 2 %}{% break %}{% endif %}{% endfor %}.{% endfor %}",
    "scopes": "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}",
    "loop variable after the loop": "{% for q in l %}{% endfor %}{{ q }}|{{ loop }}",
    "namespaces": "{% set ns = namespace(n=0, s='') %}{% for i in l %}{% set ns.n = ns.n + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }}{{ ns.s }}{{ ns.missing }}",
    "set on no namespace": "{% set d.x = 1 %}",
    "block set": "{% set x %}  a{{ i }}b \n{% endset %}[{{ x }}]{% set y | upper | trim %} hey {% endset %}[{{ y }}]",
    "macros": "{% macro m(a, b=2, c='x') %}<{{ a }}|{{ b }}|{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=5, a=4) }}{{ m() }}{% set r = m(1)|upper %}{{ r }}",
    "macro scopes": "{% set g = 1 %}{% macro m() %}{{ g }}{{ x }}{{ i }}{% endmacro %}{% for x in l %}{{ m() }}{% endfor %}{% set g = 2 %}{{ m() }}",
    "recursive macro": "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}",
    "too many arguments": "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "unknown argument": "{% macro m(a) %}{% endmacro %}{{ m(z=2) }}",
    "if chain": "{% for x in range(4) %}{% if x == 0 %}a{% elif x == 1 %}b{% elif x == 2 %}c{% else %}d{% endif %}{% endfor %}",
    "trimmed blocks": "a\n  {% if true %}\n  b\n  {% endif %}\n  c {% if true %} d {% endif %} e\n{% if true %}\n\nf{% endif %}\n\n\ng",
    "minus signs": "a \n {%- if true -%} \n b \n {%- endif -%} \n c {{- ' d ' -}} e",
    "plus signs": "a\n  {%+ if true %}\nb\n  {%+ endif +%}\nc{{ 1 }}\n  {{ 2 }}\n",
    "comments": "a {# c #} b\n  {# line #}\nc {#- tight -#} d\n{# {% if %} #}e{##}f",
    "raw": "{% raw %}{{ x }} {% if %}{% endraw %}|{%- raw -%}  {{ y }}  {%- endraw -%} z",
    "line breaks": "a\r\nb\rc\n{{ 'x' }}\n",
    "two line breaks at the end": "a\n\n",
    "braces in expressions": "{{ {'a': {'b': {}}} }}{{ {'a': 1}['a'] }}{{ '}}' }}{{ '%}' }}{{ \"{{\" }}",
    "braces in text": "{ a } {x {{ '{' }} }} % } {",
    "generation": "{% for m in people %}{% generation %}{{ m.name }}{% endgeneration %}{% endfor %}",
    "unclosed if": "{% if true %}x",
    "unclosed loop": "{% for x in l %}x",
    "stray end": "x{% endif %}",
    "stray else": "{% else %}",
    "unknown block": "{% frobnicate %}",
    "unclosed expression": "{{ 1 + ",
    "unclosed block": "{% if true",
    "unclosed string": "{{ 'abc }}",
    "unclosed comment": "a {# b",
    "empty expression": "{{ }}",
    "bad symbols": "{{ a $ b }}",
    "unknown filter": "{{ 1|frobnicate }}",
    "unknown test": "{{ 1 is frobnicate }}",
    "missing operand": "{{ 1 + }}",
    "for without in": "{% for x of l %}{% endfor %}",
    "unbalanced": "{{ (1 }}",
    "error late": "some text {{ l[0] }} {{ missing.x }}",
    "refusal in a branch": "{% if false %}{{ raise_exception('a') }}{% else %}{{ raise_exception('Roles must alternate: ' ~ l) }}{% endif %}",
    "filter block": "{% filter trim %}  a {{ i }} \n{% endfilter %}|{% filter replace('a', 'b')|upper %}{% set q = 1 %}aa{% endfilter %}{{ q is defined }}",
    "with": "{% with a = 1, b = i %}{{ a + b }}{% set i = 9 %}{{ i }}{% endwith %}{{ i }}{{ a is defined }}{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z is defined }}",
    "with names from outside": "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}",
    "with a bad head": "{% with a %}{% endwith %}",
    "spread arguments": "{% macro m(a, b='q', c='r') %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 1, 'c': 3}) }}{{ m(0, *[1], **{'c': 2}) }}{{ dict(d, **{'k': 1}) }}{{ 'abc'.replace(*['a', 'b']) }}",
    "spread of no mapping": "{{ dict(**[1]) }}",
    "an argument twice": "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}",
    "a spread argument twice": "{% macro m(a) %}{% endmacro %}{{ m(1, **{'a': 2}) }}",
    "call": "{% macro m(x) %}[{{ caller() }}{{ x }}{{ caller() }}]{% endmacro %}{% for i in l %}{% call m(i) %}hi {{ i }}{% set q = 1 %}{% endcall %}{{ q is defined }}{% endfor %}",
    "call with arguments": "{% macro m() %}{{ caller(1, b=2) }}{{ caller(3) }}{% endmacro %}{% call(a, b=5) m() %}<{{ a }}{{ b }}>{% endcall %}",
    "call of what takes no caller": "{% macro m() %}{% endmacro %}{% call m() %}x{% endcall %}",
    "call of no call": "{% call l %}x{% endcall %}",
    "a macro that may have a caller": "{% macro m() %}{{ caller() if caller is defined else 'alone' }}{% endmacro %}{{ m() }}{% call m() %}x{% endcall %}",
    "varargs and kwargs": "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m() }}",
    "parameters named varargs and kwargs": "{% macro f(kwargs) %}{{ kwargs }}{% endmacro %}{{ f('A') }}{% macro g(varargs, a=1) %}{{ varargs }}{{ a }}{{ kwargs }}{% endmacro %}{{ g('B') }}{{ g('C', 2, z=3) }}",
    "more than a parameter named varargs": "{% macro f(varargs) %}{{ varargs }}{% endmacro %}{{ f(1, 2) }}",
    "another name than a parameter named kwargs": "{% macro f(kwargs) %}{{ kwargs }}{% endmacro %}{{ f(1, z=2) }}",
    "macros held in a mapping": "{% macro f(x) %}<{{ x }}>{% endmacro %}{% set m = {'f': f, 'get': f, 'g': namespace(h=f)} %}{{ m.f(1) }}{{ m['f'](2) }}{{ m.g.h(3) }}{{ m.get('z') }}",
    "a macro's argument given twice": "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(x=1, x=2) }}",
    "nested targets": "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% for (a, b) in [[4, 5]] %}{{ a }}{{ b }}{% endfor %}{% set (a, b) = (6, 7) %}{{ a }}{{ b }}{% set x, (y, z) = 1, 'pq' %}{{ x }}{{ y }}{{ z }}",
    "nested targets that do not fit": "{% for a, (b, c) in [(1, 2)] %}{% endfor %}",
    "namespaces in lists": "{% set ns = namespace(role='system', content='x') %}{% for m in [ns] + people %}{{ m.role }}{{ m.name }};{% endfor %}{% set ns.l = [ns] %}{{ ns.l[0].l[0].content }}{% set ns.n = namespace(q=1) %}{{ ns.n.q }}",
    "loop.cycle": "{% for x in range(5) %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "loop.changed": "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }}{% endfor %}{% for x in l %}{{ loop.changed(x, 1) }}{% endfor %}",
    "joiner": "{% set j = joiner() %}{% set k = joiner('|') %}{% for x in l %}{{ j() }}{{ k() }}{{ x }}{% endfor %}",
    "cycler": "{% set c = cycler('a', 'b', 'c') %}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.next() }}{% set x = c.reset() %}{{ c.next() }}",
    "macro in a loop": "{% for m in l %}{% macro a() %}{{ m }}{{ loop.index }}{{ later }}{% endmacro %}{{ a() }}{% set later = 5 %}{{ a() }}{% endfor %}",
    "macro in a macro": "{% macro m(x) %}{% macro n(y) %}{{ x }}{{ y }}{{ i }}{% endmacro %}{{ n(2) }}{% endmacro %}{% for i in l %}{{ m(1) }}{% endfor %}",
    "unknown filter in a branch": "{% if false %}{{ 1|frobnicate }}{% elif 1 is string %}{{ 1 is frobnicate }}{% else %}x{% endif %}{{ 2|frobnicate if false }}",
    "unknown filter in a branch that is taken": "{% if true %}{{ 1|frobnicate }}{% endif %}",
    "unknown test in a branch that is taken": "{% if true %}{{ 1 is frobnicate }}{% endif %}",
    "unknown filter beside a branch": "{% if false %}{{ 1|frobnicate }}{% endif %}{{ 1|frobnicate }}",
    "scopes of blocks": "{% generation %}{% set a = 1 %}{{ a }}{% endgeneration %}{{ a is defined }}{% set x %}{% set b = 1 %}{{ b }}{% endset %}{{ x }}{{ b is defined }}{% macro m() %}{% set c = 1 %}{% endmacro %}{{ m() }}{{ c is defined }}",
    "break out of a generation": "{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "undefined condition": "{% if missing %}a{% else %}b{% endif %}{% if missing is defined and missing.x %}a{% endif %}{% if d.q %}a{% endif %}",
}


def run(source, context):
    try:
        return {"text": env.from_string(source).render(**context)}
    except Exception as failure:
        return {"error": str(failure), "refused": type(failure) is jinja2.exceptions.TemplateError}


def main():
    cases = []

    def add(name, source, context, **more):
        cases.append({"name": name, "template": source, "context": context, **run(source, context), **more})

    for source in EXPRESSIONS:
        add(source, "{{ " + source + " }}", CONTEXT)
        if "), " in source and "error" in cases[-1]:
            raise SystemExit(f"an error hides the rest of: {source}: {cases[-1]['error']}")
    for name, source in STATEMENTS.items():
        add(name, source, CONTEXT)
    shared = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None}
    for name, source in TEMPLATES.items():
        for title, messages in CONVERSATIONS.items():
            for prompt in (True, False):
                context = {"messages": messages, "add_generation_prompt": prompt, **shared}
                add(f"{name}: {title}, generation prompt: {prompt}", source, context)
        add(f"{name}: tools", source, {**shared, "messages": CONVERSATIONS["a tool call"], "tools": TOOLS,
                                       "add_generation_prompt": True})
    # One copy of what many cases share.
    out = {"templates": [], "contexts": [], "cases": []}
    for case in cases:
        for field, shelf in (("template", "templates"), ("context", "contexts")):
            if case[field] not in out[shelf]:
                out[shelf].append(case[field])
            case[field] = out[shelf].index(case[field])
        out["cases"].append(case)
    path = HERE / "chat_templates.json"
    path.write_text(json.dumps(out, ensure_ascii=True, indent=0) + "\n")
    errors = sum("error" in case for case in out["cases"])
    print(f"{len(out['cases'])} cases, {errors} of them errors -> {path}")


if __name__ == "__main__":
    main()
