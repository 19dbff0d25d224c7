"""Random JSON Schemas, and values that often satisfy them or nearly do."""

import random
import string

PATTERNS = ["^a", "b$", "^[a-c]+$", "a|b", "^(a|bc)*$", "[0-9]{2}", "^x?y?$", "^$", "^(?=.*[0-9])[a-z0-9]+$", "^(?!ab)", "(^a|b$)c*", "\\d", "^.{1,3}$", "é"]
FORMATS = {
    "date": ["2024-02-29", "2023-02-29", "2021-13-01", "x"],
    "date-time": ["2021-01-01T10:00:00Z", "2021-01-01T10:00:00", "2021-01-01T25:00:00Z", ""],
    "ipv4": ["1.2.3.4", "1.2.3", "256.1.1.1", "01.2.3.4"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000", "a"],
    "no-such-format": ["anything"],
}
NAMES = ["a", "b", "c", "ab", "x1"]
WORDS = ["", "a", "b", "ab", "abc", "bca", "x", "y", "12", "a1", "é", "日本", 'q"', "back\\slash", "new\nline", "tab\t", "\x01", "😀", "aaaaaa", "/", "ab12", "bc"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    # -- values

    def scalar(self):
        r = self.random
        kind = r.randrange(7)
        if kind == 0:
            return None
        if kind == 1:
            return r.choice([True, False])
        if kind in (2, 3):
            return r.choice([0, 1, 2, 3, -1, -7, 10, 15, 100, r.randrange(-50, 50)])
        if kind == 4:
            return r.choice([0.5, 1.0, -2.5, 3.25, 10.0, 2.75, -0.0])
        return r.choice(WORDS)

    def value(self, depth=2):
        r = self.random
        if depth == 0 or self.chance(0.6):
            return self.scalar()
        if self.chance(0.5):
            return [self.value(depth - 1) for _ in range(r.randrange(4))]
        return {name: self.value(depth - 1) for name in r.sample(NAMES, r.randrange(4))}

    # -- schemas

    def schema(self, depth=2):
        r = self.random
        if self.chance(0.06):
            return r.choice([True, {}, {"type": "null"}])
        out = {}
        makers = [self.number, self.string, self.array, self.object, self.listed]
        if depth > 0:
            makers += [self.combined, self.array, self.object, self.object]
        out.update(r.choice(makers)(depth))
        if depth > 0 and self.chance(0.15):
            out.update(self.combined(depth))
        return out

    def number(self, depth):
        r = self.random
        out = {"type": r.choice(["integer", "number", ["number", "null"]])}
        if self.chance(0.5):
            out[r.choice(["minimum", "exclusiveMinimum"])] = r.choice([0, 1, -5, 2.5, 0.25, 9])
        if self.chance(0.5):
            out[r.choice(["maximum", "exclusiveMaximum"])] = r.choice([10, 3, 100, 7.5, 0, -1])
        if self.chance(0.3):
            out["multipleOf"] = r.choice([2, 3, 5, 7, 0.5, 0.25, 10, 2.5])
        return out

    def string(self, depth):
        r = self.random
        out = {"type": "string"} if self.chance(0.8) else {}
        if self.chance(0.4):
            out["minLength"] = r.randrange(4)
        if self.chance(0.4):
            out["maxLength"] = r.randrange(6)
        if self.chance(0.4):
            out["pattern"] = r.choice(PATTERNS)
        elif self.chance(0.3):
            out = {"type": "string", "format": r.choice(list(FORMATS))}
        return out

    def array(self, depth):
        r = self.random
        out = {"type": "array"} if self.chance(0.8) else {}
        if depth > 0 and self.chance(0.3):
            out["prefixItems"] = [self.schema(depth - 1) for _ in range(r.randrange(1, 3))]
        if depth > 0 and self.chance(0.7):
            out["items"] = False if self.chance(0.1) else self.schema(depth - 1)
        if depth > 0 and self.chance(0.15):
            out["contains"] = self.schema(0)
            if self.chance(0.4):
                out["minContains"] = r.randrange(3)
            if self.chance(0.4):
                out["maxContains"] = r.randrange(1, 3)
        if self.chance(0.3):
            out["minItems"] = r.randrange(3)
        if self.chance(0.3):
            out["maxItems"] = r.randrange(4)
        if self.chance(0.1):
            out["uniqueItems"] = True
            if self.chance(0.8):
                out["items"] = self.listed(0)
        return out

    def object(self, depth):
        r = self.random
        out = {"type": "object"} if self.chance(0.8) else {}
        below = max(depth - 1, 0)
        if self.chance(0.9):
            out["properties"] = {name: self.schema(below) for name in r.sample(NAMES, r.randrange(4))}
        if self.chance(0.5):
            out["required"] = r.sample(NAMES, r.randrange(3))
        if self.chance(0.4):
            out["additionalProperties"] = False if self.chance(0.5) else self.schema(below)
        if self.chance(0.2):
            out["patternProperties"] = {p: self.schema(below) for p in r.sample(["^a", "b", "^x", "1$"], r.randrange(1, 3))}
        if self.chance(0.1):
            out["propertyNames"] = r.choice([{"maxLength": 1}, {"pattern": "^[a-c]"}, {"enum": ["a", "b"]}])
        if self.chance(0.15):
            out["minProperties"] = r.randrange(3)
        if self.chance(0.15):
            out["maxProperties"] = r.randrange(4)
        if self.chance(0.1):
            out["dependentRequired"] = {"a": ["b"]}
        if self.chance(0.1):
            out["dependentSchemas"] = {"b": self.schema(0)}
        return out

    def listed(self, depth):
        r = self.random
        if self.chance(0.3):
            return {"const": self.value(1)}
        return {"enum": [self.value(1) if self.chance(0.2) else self.scalar() for _ in range(r.randrange(1, 5))]}

    def combined(self, depth):
        r = self.random
        word = r.choice(["anyOf", "oneOf", "allOf", "not", "if", "anyOf"])
        below = depth - 1
        if word == "not":
            return {"not": self.schema(below)}
        if word == "if":
            out = {"if": self.schema(below)}
            if self.chance(0.8):
                out["then"] = self.schema(below)
            if self.chance(0.6):
                out["else"] = self.schema(below)
            return out
        return {word: [self.schema(below) for _ in range(r.randrange(1, 4))]}

    # -- values for a schema: on the way, mistakes

    def instance(self, schema, depth=4):
        r = self.random
        if not isinstance(schema, dict) or depth == 0 or self.chance(0.07):
            return self.value(1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return r.choice(schema["enum"])
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema and self.chance(0.6):
                return self.instance(r.choice(schema[word]), depth - 1)
        for word in ("then", "else", "if"):
            if word in schema and self.chance(0.4):
                return self.instance(schema[word], depth - 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = r.choice(kind)
        if kind is None:
            if any(w in schema for w in ("properties", "required", "additionalProperties", "minProperties", "patternProperties")):
                kind = "object"
            elif any(w in schema for w in ("items", "prefixItems", "contains", "minItems", "maxItems")):
                kind = "array"
            elif any(w in schema for w in ("pattern", "minLength", "maxLength")):
                kind = "string"
        if kind == "object":
            return self.object_for(schema, depth)
        if kind == "array":
            return self.array_for(schema, depth)
        if kind == "string":
            if "format" in schema:
                return r.choice(FORMATS.get(schema["format"], WORDS))
            return "".join(r.choice("abc12xyé") for _ in range(r.randrange(5))) if self.chance(0.4) else r.choice(WORDS)
        if kind in ("integer", "number"):
            return self.number_for(schema)
        return self.value(1) if kind != "null" else None

    def number_for(self, schema):
        r = self.random
        bounds = [schema[w] for w in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if w in schema]
        if bounds and self.chance(0.6):
            return r.choice(bounds) + r.choice([0, 0, 1, -1, 0.5, -0.25])
        if "multipleOf" in schema and self.chance(0.6):
            return schema["multipleOf"] * r.randrange(-10, 30)
        return r.choice([0, 1, 2, 3, 5, 7, -3, 4.0, 0.5, 2.75, 105, 21])

    def array_for(self, schema, depth):
        r = self.random
        out = []
        for i in range(r.randrange(5)):
            prefix = schema.get("prefixItems", [])
            place = prefix[i] if i < len(prefix) else schema.get("items", {})
            if "contains" in schema and self.chance(0.4):
                place = schema["contains"]
            out.append(self.instance(place, depth - 1))
        return out

    def object_for(self, schema, depth):
        r = self.random
        properties = schema.get("properties", {})
        names = [n for n in properties if self.chance(0.7)] + [n for n in schema.get("required", []) if self.chance(0.9)]
        if self.chance(0.4):
            names += r.sample(NAMES + ["other", "q\"uote", "é"], r.randrange(3))
        names = list(dict.fromkeys(names))
        r.shuffle(names)
        out = {}
        for name in names:
            place = properties.get(name, schema.get("additionalProperties", {}))
            for pattern, sub in schema.get("patternProperties", {}).items():
                if pattern.strip("^$") in name and self.chance(0.7):
                    place = sub
            out[name] = self.instance(place, depth - 1)
        return out

    # -- recursion

    def recursive(self):
        out = {"$defs": {"t": self.object(2)}, "$ref": "#/$defs/t"}
        target = out["$defs"]["t"]
        target["type"] = self.random.choice(["object", ["object", "null"]])
        target.setdefault("properties", {})["a"] = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/t"}]} if self.chance(0.5) else {"type": "array", "items": {"$ref": "#/$defs/t"}}
        return out

    def case(self, size):
        """A schema and `size` values."""
        schema = self.recursive() if self.chance(0.06) else self.schema()
        target = schema["$defs"]["t"] if isinstance(schema, dict) and "$defs" in schema else schema
        return schema, [self.instance(target) if self.chance(0.85) else self.value() for _ in range(size)]
