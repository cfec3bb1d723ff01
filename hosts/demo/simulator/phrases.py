"""What the simulated model talks about: a pool of phrases for each kind of prompt."""

from __future__ import annotations

CHAT = """\
The short answer is yes, with one condition that is easy to overlook.
Start with the smallest change that could work, and measure before you go on.
In practice most people notice the difference only under load.
A good rule is to keep one copy close by and another far away.
If the first attempt fails, wait a moment and try again with a longer limit.
There are three common reasons, and the last one is the most frequent.
First, look at what changed since it last worked.
Second, compare the two settings side by side rather than from memory.
You can always return to the earlier state, since nothing is deleted.
That said, the cost grows with the number of users, not with the amount of data.
For a family of four, plan about two hours and take enough water.
It helps to write down the question before looking at the numbers.
Both options are reasonable; the simpler one is easier to explain later.
Another way to see it is to ask what would have to be true for it to fail.
The result depends on the weather, the road and how early you leave.
Let me know which part matters most and I can go into more detail.
"""

PROSE = """\
The harbour lay quiet under a thin fog, and the gulls walked instead of flying.
She had carried the letter for eleven days without opening it.
Somewhere behind the mill a dog barked twice and then thought better of it.
He counted the steps of the old tower, lost the number, and began again.
Rain came over the hills as it always did, politely, from the west.
Nobody in the village remembered who had planted the walnut tree.
The clockmaker kept one hour of every day for himself and told no one which.
On the third morning the river had moved its bed by the width of a cart.
Her grandmother used to say that bread knows when it is being watched.
They spoke of the winter as of a relative who had overstayed.
A lamp burned in the upper window, and its light fell on the wet stones.
What he found in the drawer was not a map but a list of names.
The train was late, and for once he was grateful to it.
In the orchard the ladders leaned against the trees like tired visitors.
"""

CODE = """\
def read_rows(path):
    with open(path) as source:
        return [line.rstrip() for line in source]

def total(values):
    result = 0
    for value in values:
        result += value
    return result

class Counter:
    def __init__(self):
        self.count = 0

    def add(self, amount):
        self.count += amount
        return self.count

for index, row in enumerate(rows):
    if not row:
        continue
    print(index, row)

try:
    value = int(text)
except ValueError:
    value = None

assert total([1, 2, 3]) == 6

names = sorted(set(names), key=len)

while queue:
    item = queue.pop()
    if item in seen:
        continue
    seen.add(item)
"""

PHRASES: dict[str, list[str]] = {
    "chat": [" " + line for line in CHAT.splitlines()],
    "prose": [" " + line for line in PROSE.splitlines()],
    "code": [block.rstrip() + "\n\n" for block in CODE.split("\n\n")],
}
