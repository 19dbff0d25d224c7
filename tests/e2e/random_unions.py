"""Random JSON Schemas that join objects by oneOf, anyOf, not and if: tagged unions and worse."""
from random import Random

PLAIN = [{"type": "string"}, {"type": "integer"}, {"const": "a"}, {"enum": ["a", "b"]}, {"type": ["string", "null"]}, True, False,
         {"minimum": 3}, {"type": "number"}]


class UnionMaker:
    def __init__(self, seed):
        self.random = Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def branch(self, number, branches):
        tag = self.random.randrange(branches) if self.chance(0.2) else number
        properties = {"kind": {"const": f"k{tag}"}} if self.chance(0.8) else {}
        properties |= {name: self.random.choice(PLAIN) for name in "xyz" if self.chance(0.5)}
        out = {"properties": properties}
        for share, more in [(0.7, {"type": "object"}), (0.6, {"required": self.random.sample(["kind", *"xyz"], self.random.randrange(3))}),
                            (0.4, {"additionalProperties": False}), (0.1, {"additionalProperties": self.random.choice(PLAIN)}),
                            (0.3, {"patternProperties": {self.random.choice(["^x", "z$", "k"]): self.random.choice(PLAIN)}}),
                            (0.1, {"maxProperties": self.random.randrange(4)}), (0.1, {"minProperties": self.random.randrange(3)}),
                            (0.1, {"not": {"required": [self.random.choice("xyz")]}})]:
            if self.chance(share):
                out |= more
        return out

    def schema(self):
        count = self.random.randrange(2, self.random.choice([3, 4, 6, 10]))
        branches = [self.branch(i, count) for i in range(count)]
        return self.random.choice([{"oneOf": branches}, {"oneOf": branches}, {"anyOf": branches}, {"not": {"anyOf": branches}, "type": "object"},
                                   {"if": branches[0], "then": branches[1], "else": {"not": branches[-1]}}])

    def value(self):
        names = self.random.sample(["kind", *"xyzw", "xx"], self.random.randrange(6))
        return {name: f"k{self.random.randrange(5)}" if name == "kind" and self.chance(0.8) else
                self.random.choice(["a", "b", 1, 5, None, "q", 2.5]) for name in names}
