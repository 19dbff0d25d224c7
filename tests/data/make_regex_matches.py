"""Writes regex_matches.json: random regular expressions and texts, and which of the texts Python's `re` finds them in.

    python3 make_regex_matches.py > regex_matches.json

Each entry is [pattern, anchored, texts that match, texts that do not].
"""
import json
import random
import re

LETTERS = "abcAB01 _-é漢😀"
CLASSES = ["[abc]", "[^a]", "[a-c]", "[^a-cA-B]", "[0-9_]", r"[\d_]", r"[^\w]", r"[\]\-a]", "[]a]", "[é-漢]", "[^é]", "[a-]",
           r"[\x41\u00e9]", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", r"\x61", r"\u00e9", r"\.", r"\\"]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?", "??", "{1,2}?"]


def atom(rng, depth):
    kind = rng.randrange(10)
    if kind < 4 or depth == 0:
        return re.escape(rng.choice(LETTERS)) if rng.random() < 0.8 else re.escape(rng.choice(LETTERS) + rng.choice(LETTERS))
    if kind < 7:
        return rng.choice(CLASSES)
    opening = rng.choice(["(", "(?:", "(?P<n%d>" % rng.randrange(10**9), "(?i:", "(?s:"])
    return opening + alternatives(rng, depth - 1) + ")"


def branch(rng, depth):
    parts = []
    for _ in range(rng.randrange(4)):
        part = atom(rng, depth)
        if rng.random() < 0.4:
            group = part.startswith(("(", "[")) or len(part) == 1 or re.fullmatch(r"\\.|\\x..|\\u....", part)
            part = (part if group else "(?:" + part + ")") + rng.choice(REPEATS)
        parts.append(part)
    return "".join(parts)


def alternatives(rng, depth):
    return "|".join(branch(rng, depth) for _ in range(rng.choice([1, 1, 2, 3])))


def pattern(rng):
    text = alternatives(rng, 2)
    if rng.random() < 0.2:
        text = rng.choice(["^", r"\A", "(?:^|a)"]) + text
    if rng.random() < 0.2:
        text += rng.choice(["$", r"\Z", "(?:$|b)"])
    if rng.random() < 0.15:
        look = rng.choice(["(?=", "(?!"]) + alternatives(rng, 1) + rng.choice(["", "$"]) + ")"
        text = rng.choice(["", "^", "a"]) + look + branch(rng, 1)
    return text


def texts(rng):
    for _ in range(40):
        yield "".join(rng.choice(LETTERS + ".\\]") for _ in range(rng.randrange(7)))


def main():
    rng = random.Random(5)
    entries = []
    while len(entries) < 1500:
        p = pattern(rng)
        try:
            # Python's \w, \d and \s of Unicode differ from the crate's at the edges: none of those is in LETTERS.
            compiled = re.compile(p)
        except re.error:
            continue
        anchored = rng.random() < 0.6
        find = compiled.fullmatch if anchored else compiled.search
        yes, no = [], []
        for text in texts(rng):
            (yes if find(text) else no).append(text)
        if not yes and rng.random() < 0.8:
            continue
        entries.append([p, anchored, sorted(set(yes))[:8], sorted(set(no))[:8]])
    print("[" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "]")


main()
