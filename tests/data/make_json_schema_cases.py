"""Writes json_schema_cases.json: a schema for each word of JSON Schema, values, and the verdicts of Python's jsonschema.

    pip install 'jsonschema[format]==4.26.0' && python make_json_schema_cases.py

A text is json.dumps(value, ensure_ascii=False). One case per line: {"schema", "valid": [texts], "invalid": [texts]}.
"""
import json
import pathlib

from jsonschema.validators import validator_for

VALUES = [None, True, False, 0, 1, -1, 2, 3.0, 2.5, 7, 12, 100, "", "a", "ab", "abc", "foo", "é", "\n\"\\", "12",
          [], [1], [1, 2], ["a"], [1, "a", None], [2, 2], [[], {}],
          {}, {"a": 1}, {"a": "x"}, {"b": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": "x", "c": None}, {"foo": 1, "ab": "q"}]
DRAFT7, DRAFT6, DRAFT4 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (7, 6, 4))

SCHEMAS = [
    True, {}, *[{"type": name} for name in ("null", "boolean", "integer", "number", "string", "array", "object")],
    {"type": ["integer", "string"]},
    {"enum": [1, "a", None, [1], {"a": 1}]}, {"enum": [True]}, {"const": 0}, {"const": {"b": 2, "a": 1}}, {"const": [1, 2]},
    {"minimum": 1}, {"maximum": 2.5}, {"exclusiveMinimum": 1}, {"exclusiveMaximum": 2}, {"minimum": -1, "maximum": 2},
    {"type": "integer", "minimum": 3, "maximum": 99}, {"multipleOf": 2}, {"multipleOf": 0.5}, {"multipleOf": 7, "type": "integer"},
    {"minLength": 2}, {"maxLength": 1}, {"minLength": 1, "maxLength": 2}, {"pattern": "a"}, {"pattern": "^a|b$"}, {"pattern": "^[^a]*$"},
    {"pattern": "^(?!a)", "maxLength": 2}, {"pattern": "^\\d+$"},
    {"items": {"type": "integer"}}, {"prefixItems": [{"const": 1}, {"type": "string"}]},
    {"prefixItems": [{"const": 1}], "items": False}, {"prefixItems": [{"type": "integer"}], "items": {"const": 2}},
    {"minItems": 1}, {"maxItems": 1}, {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": ["integer", "string"]}},
    {"contains": {"const": 1}}, {"contains": {"type": "integer"}, "minContains": 2}, {"contains": {"type": "integer"}, "maxContains": 1},
    {"contains": {"const": 1}, "minContains": 0}, {"contains": {"type": "null"}, "minItems": 3},
    {"uniqueItems": True, "items": {"enum": [1, 2]}}, {"uniqueItems": True, "items": {"type": "boolean"}, "maxItems": 5},
    {"$schema": DRAFT7, "items": [{"type": "integer"}], "additionalItems": {"type": "string"}},
    {"properties": {"a": {"type": "integer"}}}, {"properties": {"a": False}}, {"required": ["a"]}, {"required": ["a", "b"]},
    {"properties": {"a": {}}, "additionalProperties": False}, {"additionalProperties": {"type": "integer"}},
    {"patternProperties": {"^a": {"type": "integer"}}}, {"patternProperties": {"^a": {}}, "additionalProperties": False},
    {"patternProperties": {"a": {"type": "integer"}, "b": {"type": "string"}}}, {"propertyNames": {"maxLength": 1}},
    {"propertyNames": {"enum": ["a", "foo"]}}, {"minProperties": 2}, {"maxProperties": 1}, {"minProperties": 1, "maxProperties": 2},
    {"dependentRequired": {"a": ["b"]}}, {"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}, "required": ["b"]}}},
    {"$schema": DRAFT7, "dependencies": {"b": ["a"], "foo": {"maxProperties": 1}}},
    {"allOf": [{"type": "integer"}, {"minimum": 2}]}, {"allOf": [{"required": ["a"]}, {"additionalProperties": {"type": "integer"}}]},
    {"anyOf": [{"type": "integer"}, {"maxLength": 1}]}, {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["foo"]}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]}, {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"oneOf": [{"items": {"type": "integer"}}, {"maxItems": 1}]}, {"oneOf": [{"pattern": "a"}, {"pattern": "b"}, {"type": "null"}]},
    {"not": {"type": "integer"}}, {"not": {"required": ["a"]}}, {"not": {"items": {"type": "integer"}}}, {"not": {"pattern": "a"}},
    {"not": {"additionalProperties": {"type": "integer"}}}, {"not": {"const": 1}}, {"not": {"minimum": 1, "maxLength": 1}},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}},
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"maxProperties": 1}},
    {"$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}, "minimum": 2}, {"$anchor": "r", "items": {"$ref": "#r"}, "type": ["array", "integer"]},
    {"$defs": {"n": {"type": ["object", "integer"], "additionalProperties": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"},
    {"$schema": DRAFT7, "$ref": "#/definitions/x", "definitions": {"x": {"type": "integer"}}, "minimum": 100},
    {"$schema": DRAFT7, "unevaluatedProperties": False}, {"$schema": DRAFT7, "allOf": [{"type": "object"}], "unevaluatedProperties": False},
    {"$schema": DRAFT7, "unevaluatedItems": False}, {"$schema": DRAFT7, "prefixItems": [{"type": "string"}]},
    {"$schema": DRAFT7, "dependentRequired": {"foo": ["b"]}}, {"$schema": DRAFT7, "contains": {"type": "integer"}, "minContains": 2},
    {"$schema": DRAFT6, "if": True, "then": False}, {"$schema": DRAFT6, "const": 1},
    {"$schema": DRAFT4, "const": 1}, {"$schema": DRAFT4, "propertyNames": {"maxLength": 1}}, {"$schema": DRAFT4, "contains": {"type": "null"}},
    {"$schema": DRAFT4, "exclusiveMinimum": 2}, {"$schema": DRAFT4, "exclusiveMaximum": 1, "type": "number"},
    {"$schema": DRAFT4, "minimum": 2, "exclusiveMinimum": True}, {"$schema": DRAFT4, "type": "integer"},
    {"title": "t", "description": "d", "default": 1, "$comment": "c", "examples": [1], "x-unknown": {}, "type": "integer"},
    {"properties": {"a": {"type": "integer"}}, "unevaluatedProperties": False}, {"prefixItems": [{}], "unevaluatedItems": False},
]

# Integers that 64 bits do not hold, told apart in their last digit.
BIG = 12345678901234567890123
BIG_VALUES = [BIG, BIG - 1, BIG + 1, -BIG, 2**64, 2**64 - 1, 2**64 + 1, -2**63 - 1, -2**63, 10**30, 10**30 + 1, 1, 1.5, [BIG], [BIG + 1], "a"]
BIG_SCHEMAS = [
    {"const": BIG}, {"const": -BIG}, {"enum": [BIG, 2**64, "a", 1]}, {"const": [BIG]}, {"const": 10**30}, {"const": -2**63 - 1},
    {"minimum": BIG}, {"exclusiveMinimum": BIG}, {"maximum": BIG}, {"exclusiveMaximum": BIG}, {"minimum": -BIG, "maximum": 2**64},
    {"type": "integer", "minimum": 2**64}, {"type": "integer", "multipleOf": 3}, {"not": {"const": BIG}}, {"not": {"enum": [2**64]}},
    {"oneOf": [{"minimum": BIG}, {"maximum": BIG}]}, {"items": {"const": BIG}}, {"type": "array", "items": {"enum": [BIG, BIG + 1]},
"uniqueItems": True},
    {"maxLength": BIG}, {"contains": {"const": BIG}}, {"type": "integer"},
]

# Numbers that Python writes with an exponent, and their neighbours.
SMALL = 2.5e-07
EXPONENT_VALUES = [SMALL, -SMALL, 2.6e-07, 1e-05, 0.0001, 1e16, 10**16, 10**16 + 1, 1.5e17, 15 * 10**16, -1e22, 10**22, 1.5e308, 0, 1, [SMALL], "a"]
EXPONENT_SCHEMAS = [
    {"const": SMALL}, {"const": -SMALL}, {"const": 1e16}, {"const": 10**16}, {"const": 1.5e17}, {"const": -1e22, "type": "integer"}, {"const": 0.0001},
    {"enum": [SMALL, 1e-05, 1, "a"]}, {"enum": [1e16, -1e22, 1.5e308, [SMALL]]}, {"const": [SMALL]}, {"enum": [SMALL, 1e16], "minimum": 0},
    {"anyOf": [{"const": SMALL}, {"const": 1e16}]}, {"type": "array", "items": {"enum": [SMALL, 1e16]}, "uniqueItems": True},
    {"items": {"const": SMALL}}, {"enum": [SMALL, 1e16], "type": "integer"}, {"enum": [SMALL, 1e16], "maximum": 1},
]

FORMATS = {
    "date": ["2024-02-29", "2023-02-29", "2024-13-01", "2024-1-1", "0001-01-01"],
    "time": ["10:00:00Z", "23:59:59.123+02:00", "24:00:00Z", "10:00:00", "10:60:00Z"],
    "date-time": ["2024-02-29T10:00:00Z", "2024-02-30T10:00:00Z", "2024-02-29 10:00:00Z", "2024-02-29T10:00:00.5-08:00"],
    "duration": ["P1D", "PT5M", "P1Y2M", "P2W", "P", "PT", "1D", "P1H"],
    "ipv4": ["0.0.0.0", "255.255.255.255", "256.0.0.1", "1.2.3", "01.2.3.4"],
    "ipv6": ["::", "::1", "1:2:3:4:5:6:7:8", "1::8", "1:2:3:4:5:6:7", "::ffff:1.2.3.4", "1::2::3", "12345::", "1:2:3:4:5:6:7::"],
    "hostname": ["example.com", "a", "a-b.c", "-a", "a-", "a..b", "a_b"],
    "uri": ["http://a/b?c#d", "urn:x:y", "/a", "http://a b", "http://[::1]:80/", "mailto:a@b", "http://[1]", "a%zz:"],
    "uri-reference": ["", "/a", "../b?c", "#d", "//h/p", "a b", "\\a"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000", "123e4567-e89b-12d3-a456-42661417400", "x"],
    "json-pointer": ["", "/a", "/a~0~1/1", "a", "/~2", "/~"],
    "relative-json-pointer": ["0", "1/a", "2#", "/a", "01", "-1"],
    "no-such-format": ["anything", ""],
}


def case(schema, values):
    validator_class = validator_for(schema)
    validator = validator_class(schema, format_checker=validator_class.FORMAT_CHECKER)
    out = {"schema": schema, "valid": [], "invalid": []}
    for value in values:
        out["valid" if validator.is_valid(value) else "invalid"].append(json.dumps(value, ensure_ascii=False))
    return out


def main():
    cases = [case(schema, VALUES) for schema in SCHEMAS]
    cases += [case(schema, BIG_VALUES) for schema in BIG_SCHEMAS]
    cases += [case(schema, EXPONENT_VALUES) for schema in EXPONENT_SCHEMAS]
    cases += [case({"type": "string", "format": name}, texts) for name, texts in FORMATS.items()]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    path = pathlib.Path(__file__).with_name("json_schema_cases.json")
    path.write_text(f"[{lines}]\n", encoding="utf-8")
    print(len(cases), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
