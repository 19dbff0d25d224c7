"""What the drafts' measurements ask: five prompts of each kind."""

CODE = [
    ("rename the function count_words to word_counts", '''import os


def read_lines(path):
    """Every line of the file, without its end."""
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\\n") for line in file]


def count_words(path):
    """How often each word stands in the file."""
    counts = {}
    for line in read_lines(path):
        for word in line.split():
            word = word.lower().strip(".,;:!?")
            counts[word] = counts.get(word, 0) + 1
    return counts


def print_most_common(path, limit):
    """Prints the most common words of the file with their counts."""
    counts = count_words(path)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    for word, count in ordered[:limit]:
        print(f"{word:20} {count:6}")


def main():
    for name in sorted(os.listdir(".")):
        if name.endswith(".txt"):
            print_most_common(name, 10)


main()
'''),
    ("rename the class Account to BankAccount", '''class Account:
    """Money of one owner, in cents."""

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("a deposit must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount
        self.history.append(("withdraw", amount))

    def statement(self):
        lines = [f"Account of {self.owner}"]
        for kind, amount in self.history:
            lines.append(f"{kind:10} {amount / 100:10.2f}")
        lines.append(f"balance    {self.balance / 100:10.2f}")
        return "\\n".join(lines)
'''),
    ("write the list of cities in upper case", '''cities = [
    {"name": "Lisbon", "country": "Portugal", "population": 545000},
    {"name": "Porto", "country": "Portugal", "population": 232000},
    {"name": "Madrid", "country": "Spain", "population": 3280000},
    {"name": "Valencia", "country": "Spain", "population": 790000},
    {"name": "Lyon", "country": "France", "population": 522000},
    {"name": "Marseille", "country": "France", "population": 870000},
]


def by_country(cities):
    groups = {}
    for city in cities:
        groups.setdefault(city["country"], []).append(city)
    return groups


for country, group in sorted(by_country(cities).items()):
    total = sum(city["population"] for city in group)
    print(country, total)
    for city in group:
        print("   ", city["name"], city["population"])
'''),
    ("raise an error when the file does not exist", '''import csv
import statistics


def read_table(path):
    """The rows of a table as dictionaries."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def column(rows, name):
    """The numbers of one column; what is empty is left out."""
    return [float(row[name]) for row in rows if row[name]]


def describe(rows, name):
    """Prints the mean, the median and the extremes of a column."""
    values = column(rows, name)
    print("column:", name)
    print("mean:  ", statistics.mean(values))
    print("median:", statistics.median(values))
    print("least: ", min(values))
    print("most:  ", max(values))


rows = read_table("weather.csv")
for name in ("temperature", "pressure", "humidity"):
    describe(rows, name)
'''),
    ("change the port to 9090", '''<!DOCTYPE html>
<html>
<head>
  <title>Status</title>
  <script>
    async function load() {
      const answer = await fetch("http://localhost:8080/status");
      const status = await answer.json();
      document.getElementById("name").textContent = status.name;
      document.getElementById("version").textContent = status.version;
      document.getElementById("uptime").textContent = status.uptime;
    }
    setInterval(load, 1000);
  </script>
</head>
<body>
  <h1>Status</h1>
  <p>Name: <span id="name"></span></p>
  <p>Version: <span id="version"></span></p>
  <p>Uptime: <span id="uptime"></span></p>
</body>
</html>
'''),
]

REPORTS = [
    'The harbour council met on Tuesday to decide about the old lighthouse. "The tower has stood for a hundred and sixty years, and it '
    'will not fall this winter," said the engineer Maria Lindqvist, who has inspected it twice since the storm in September. Two cracks '
    'run from the gallery to the second window, she reported, but "neither has grown by more than a millimetre." The council\'s treasurer, '
    'Jonas Weber, disagreed. "We cannot spend four hundred thousand on a building that guides no ship," he said, and proposed to sell the '
    'tower to a hotel company from the capital. Fishermen in the audience were not pleased. "My father found his way home by that light," '
    'said Anna Berg, the owner of three boats, "and my children will show it to theirs." After three hours the council voted seven to four '
    'to repair the cracks in spring, to open the gallery to visitors in summer, and to ask the national heritage fund for half of the cost.',
    'The school on Mill Street will begin an hour later from January on. "Our pupils are asleep in the first lesson, and so are some of '
    'our teachers," said the head, Ruth Okafor, when she presented the plan to the parents. A trial with two classes had shown that '
    '"absences fell by a third and marks went up in every subject." Not everybody was convinced. "I have to be at the hospital at seven," '
    'said Peter Nowak, a nurse and father of twins, "and nobody has told me who opens the door for my children." The school will keep its '
    'library open from half past six, with tea and bread for those who come early.',
    'After eleven years of work the long bridge over the Sula has been opened to traffic. "We have poured more concrete than in any other '
    'bridge of this country," said the chief builder, Ilse Hartmann, and added that "the river was our hardest colleague." Twice floods had '
    'carried the scaffolding away. The ferryman, Tomas Reyes, made his last crossing on the same morning. "I have carried brides, coffins '
    'and a circus," he said, "and I shall miss the circus." The ministry expects nine thousand cars a day and a toll of two crowns.',
    'The orchestra of the city will play without a conductor next season. "We listened to each other for a year, and we found that it was '
    'enough," said the first violin, Clara Mendes. The critic Hugo Brandt was doubtful at first. "A symphony is not a committee," he wrote, '
    'but after the concert in May he admitted that "the slow movement has never sounded so free." The mayor, Lena Fischer, welcomed the '
    'decision for a reason of her own. "It saves the town two hundred thousand a year," she said, "and nobody waves a stick at us."',
    'A farmer near Aldbrook has found a hoard of Roman coins in a field that his family has ploughed for six generations. "I thought it was '
    'a bottle cap until I saw the emperor," said George Pratt, who called the museum the same evening. Its curator, Amina Yusuf, counted '
    'four hundred and twelve coins in a broken jar. "Somebody meant to come back for them," she said, "and somebody never did." The coins '
    'will be shown in autumn. "My grandfather walked over them every spring," said the farmer, "and complained that the field gave nothing."',
]

QUESTIONS = [
    "Why do people like to travel by train? Tell me in a few paragraphs.",
    "What makes a good teacher? Write a few paragraphs.",
    "Tell me a story about a fox who learns to read.",
    "How should somebody who has never cooked begin? Explain it step by step.",
    "What would change if nobody owned a car? Discuss it.",
]

# Each kind's prompts, and how many tokens an answer gets.
TASKS = {
    "editing (rewrite this code with one change)": (
        [f"Rewrite this code with one change: {change}. Answer with the whole code.\n\n```\n{code}```" for change, code in CODE], 256),
    "summarising with quotes": (
        [f"Summarise this report in three sentences. Quote what each person said word for word.\n\n{report}" for report in REPORTS], 160),
    "free chat": (QUESTIONS, 256),
}
