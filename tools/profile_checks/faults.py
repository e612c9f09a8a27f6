# SPDX-License-Identifier: Apache-2.0
"""What a checker found."""


class Faults:
    """A list of "RULE: where: what". One fault of a rule at one place is enough: a column of a million bad
    numbers is one fault."""

    def __init__(self):
        self.list = []
        self.rules = set()
        self._seen = set()

    def add(self, rule, where, what):
        if (rule, where) in self._seen:
            return
        self._seen.add((rule, where))
        self.rules.add(rule)
        self.list.append(f"{rule}: {where}: {what}")

    def unless(self, good, rule, where, what):
        if not good:
            self.add(rule, where, what)
        return good
