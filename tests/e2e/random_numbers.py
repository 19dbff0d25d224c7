"""Random schemas of numbers alone, and numbers as json.dumps writes them: with exponents, near bounds and powers of ten."""
import random

NUMBERS = [0, 1, -1, 2, 5, 7, 100, 0.5, 0.1, 0.01, 2.5, 1e16, 1e17, -1e16, 1e-4, 1e-5, 1e-6, 123456789012345678, 10**17, 1e22, 1e23,
           1e308, 9.999999999999999e16, 9.999999999999999e22, 1.7976931348623157e308, 1.5, 3, 20, -7.25]
EXPONENTS = [-9, -6, -5, -4, -3, 14, 15, 16, 17, 18, 22, 23, 300]
# Other fractions tell a large double from the decimal that it is written as, which a schema means.
STEPS = [1, 0.5, 3, 7]


class NumberMaker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self):
        r = self.random
        if r.random() < 0.4:
            return r.choice(NUMBERS)
        first = r.uniform(1, 10) if r.random() < 0.6 else r.randint(1, 9)
        return r.choice([1, -1]) * float(f"{first}e{r.choice(EXPONENTS)}")

    def words(self):
        r = self.random
        kind = r.randrange(8)
        if kind < 4:
            return {["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"][kind]: r.choice(NUMBERS)}
        if kind == 4:
            return {"const": r.choice(NUMBERS)}
        if kind == 5:
            return {"enum": [r.choice(NUMBERS) for _ in range(r.randint(1, 3))]}
        if kind == 6:
            return {"multipleOf": r.choice(STEPS)}
        return {"type": r.choice(["integer", "number", "string"])}

    def schema(self, depth=3):
        r = self.random
        if depth == 0 or r.random() < 0.3:
            return self.words()
        kind = r.randrange(5)
        if kind == 0:
            return {"not": self.schema(depth - 1)}
        if kind == 1:
            return {"if": self.schema(depth - 1), "then": self.schema(depth - 1), "else": self.schema(depth - 1)}
        word = ["oneOf", "allOf", "anyOf"][kind - 2]
        return {word: [self.schema(depth - 1) for _ in range(r.randint(1, 3))]}
