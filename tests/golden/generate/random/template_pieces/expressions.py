"""Draws expressions."""

from . import filters as known
from . import values

COMPARISONS = ["==", "!=", "<", ">", "<=", ">=", "in", "not in"]
EXPONENTS = ["0", "1", "2", "3", "-1", "-2", "0.5", "f", "g", "yes", "12", "true", "s"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~"]


class Expressions:
    def __init__(self, draw):
        self.draw = draw
        self.names = []  # variables that the template has set

    def chance(self, share):
        return self.draw.random() < share

    def of(self, kind, depth):
        """An expression of a type, or sometimes of any."""
        if isinstance(kind, list):
            return self.draw.choice(kind)
        if kind == "a" or self.chance(0.04):
            kind = self.draw.choice("ttwnfblda")
            if kind == "a":
                return self.draw.choice(values.ANYTHING + self.names)
        return getattr(self, "of_" + {"t": "text", "w": "whole", "c": "count", "f": "float", "n": "number", "b": "bool", "l": "list", "d": "dict"}[kind])(depth)

    def of_text(self, depth):
        if depth <= 0 or self.chance(0.3):
            return self.draw.choice(values.STRINGS if self.chance(0.5) else values.TEXT_LITERALS)
        way = self.draw.randrange(9)
        text = self.of("t", depth - 1)
        if way < 3:
            name = self.draw.choice(["capitalize", "center", "escape", "forceescape", "indent", "lower", "replace", "safe", "string", "title", "trim",
                                     "truncate", "upper", "wordwrap", "join", "striptags", "tojson", "urlencode", "filesizeformat", "xmlattr", "format"])
            return self.filtered(name, depth)
        if way == 3:
            return f"{text} ~ {self.of('a', depth - 1)}"
        if way == 4:
            return f"({text} + {self.of('t', depth - 1)})"
        if way == 5:
            return self.slice(text)
        if way == 6:
            return f"({text} if {self.of('b', depth - 1)} else {self.of('t', depth - 1)})"
        if way == 7:
            return self.formatted(depth)
        return self.method("t", text, depth)

    def of_whole(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.draw.choice(values.WHOLES if self.chance(0.5) else values.NUMBER_LITERALS)
        way = self.draw.randrange(4)
        if way == 0:
            return f"{self.of('a', depth - 1)}|length" if self.chance(0.5) else f"({self.of('t', depth - 1)}|int)"
        if way == 1:
            return f"-{self.draw.choice(values.WHOLES)}"
        return f"({self.of('w', depth - 1)} {self.draw.choice(['+', '-', '*', '//', '%'])} {self.of('w', depth - 1)})"

    def of_count(self, depth):
        return self.draw.choice(["0", "1", "2", "3", "4", "7", "10", "12", "n", "-1"])

    def of_float(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.draw.choice(values.FLOATS if self.chance(0.4) else values.FLOAT_LITERALS)
        if self.chance(0.3):
            return self.filtered(self.draw.choice(["round", "float"]), depth)
        return f"({self.of('n', depth - 1)} {self.draw.choice(['/', '+', '*', '-', '//', '%'])} {self.of('f', depth - 1)})"

    def of_number(self, depth):
        if self.chance(0.1):
            return self.draw.choice(values.BOOLS)
        return self.of("w" if self.chance(0.6) else "f", depth)

    def of_bool(self, depth):
        if depth <= 0 or self.chance(0.2):
            return self.draw.choice(values.BOOLS + ["true", "false", "True"])
        way = self.draw.randrange(6)
        if way == 0:
            return self.compared(depth)
        if way == 1:
            return f"(not {self.of('a', depth - 1)})"
        if way == 2:
            return f"({self.of('b', depth - 1)} {self.draw.choice(['and', 'or'])} {self.of('b', depth - 1)})"
        return self.tested(depth)

    def compared(self, depth):
        kind = self.draw.choice("tnnla")
        text = self.of(kind, depth - 1)
        for _ in range(1 if self.chance(0.8) else 2):
            text += f" {self.draw.choice(COMPARISONS)} {self.of(kind, depth - 1)}"
        return f"({text})"

    def tested(self, depth):
        negated = " not" if self.chance(0.25) else ""
        if self.chance(0.55):
            name = self.draw.choice(list(known.TESTS))
            return f"({self.of(known.TESTS[name], depth - 1)} is{negated} {name})"
        name = self.draw.choice(list(known.TESTS_WITH))
        kind = known.TESTS_WITH[name]
        operand = self.of("a" if isinstance(kind, list) or name == "in" else kind, depth - 1)
        argument = self.of(kind, 0)
        plain = self.chance(0.4) and argument[0] not in "-("
        return f"({operand} is{negated} {name} {argument})" if plain else f"({operand} is{negated} {name}({argument}))"

    def of_list(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.draw.choice(values.LISTS)
        way = self.draw.randrange(8)
        if way == 0:
            items = ", ".join(self.of("a", depth - 2) for _ in range(self.draw.randrange(4)))
            return f"[{items}]" if self.chance(0.6) else f"({items},)" if items else "()"
        if way == 1:
            return f"range({', '.join(self.of('c', 0) for _ in range(self.draw.randint(1, 3)))})"
        if way == 2:
            return self.slice(self.of("l", depth - 1))
        if way == 3:
            return self.method("t", self.of("t", depth - 1), depth, ["split", "rsplit", "splitlines", "partition"])
        if way == 4:
            return self.method("d", self.of("d", depth - 1), depth, ["items", "keys", "values"]) + "|list"
        if way == 5:
            return f"({self.of('l', depth - 1)} {self.draw.choice(['+', '*'])} {self.of(self.draw.choice('lc'), depth - 1)})"
        if way == 6:
            return self.selected(depth)
        name = self.draw.choice(["batch", "dictsort", "groupby", "items", "list", "reverse", "slice", "sort", "unique"])
        return self.filtered(name, depth) + self.draw.choice(["|list", "|list", ""])

    def selected(self, depth):
        operand = self.of("l", depth - 1)
        name = self.draw.choice(["select", "reject", "selectattr", "rejectattr", "map", "map"])
        if name == "map":
            if self.chance(0.5):
                default = f", default={self.of('a', 0)}" if self.chance(0.4) else ""
                return f"{operand}|map(attribute={self.draw.choice(known.ATTRIBUTES)}{default})|list"
            return f"{operand}|map({self.draw.choice(known.FILTER_NAMES)})|list"
        arguments = [self.draw.choice(known.ATTRIBUTES)] if name.endswith("attr") else []
        if self.chance(0.4):
            arguments.append(self.draw.choice(known.TEST_NAMES))
        elif self.chance(0.7):
            arguments += [self.draw.choice(known.TESTS_OF_TWO), self.of("a", 0)]
        return f"{operand}|{name}({', '.join(arguments)})|list"

    def of_dict(self, depth):
        if depth <= 0 or self.chance(0.6):
            return self.draw.choice(values.DICTS)
        if self.chance(0.3):
            return f"dict({self.draw.choice(['d', '[(1, 2)]', 'd.items()', ''])}{self.draw.choice([', k=1', '']) if self.chance(0.5) else ''})".replace("(, ", "(")
        entries = ", ".join(f"{self.of(self.draw.choice('ttwfab'), 0)}: {self.of('a', depth - 1)}" for _ in range(self.draw.randrange(4)))
        return "{" + entries + "}"

    def slice(self, operand):
        bounds = [self.draw.choice(["", "", "1", "2", "-1", "-3", "0", "9", "none"]) for _ in range(self.draw.randint(2, 3))]
        return f"{self.closed(operand)}[{':'.join(bounds)}]"

    def closed(self, operand):
        return operand if operand.isidentifier() or operand[0] in "[({'\"" and operand.count(operand[0]) == 1 else f"({operand})"

    def arguments(self, parameters, depth):
        given = []
        by_name = False
        for name, kind in parameters:
            if given and self.chance(0.4) and not by_name:
                break
            if by_name or self.chance(0.3):
                by_name = True
                if self.chance(0.5):
                    given.append(f"{name}={self.of(kind, min(depth, 1) - 1)}")
            else:
                given.append(self.of(kind, min(depth, 1) - 1))
        if self.chance(0.01):
            given.append(self.draw.choice(["nope=1", "1, 2, 3, 4, 5"]) if by_name is False else "nope=1")
        return ", ".join(given)

    def filtered(self, name, depth):
        kind, parameters = known.FILTERS[name]
        operand = self.of(kind, depth - 1)
        if name == "format":
            text, count = self.draw.choice(known.FORMATS)
            return f"{text}|format({', '.join(self.of(self.draw.choice('nta'), 0) for _ in range(count))})"
        given = self.arguments(parameters, depth)
        return f"{operand}|{name}" + (f"({given})" if given or self.chance(0.1) else "")

    def formatted(self, depth):
        of = lambda: self.of(self.draw.choice("nnta"), 0)
        if self.chance(0.5):
            text, count = self.draw.choice(known.FORMATS)
            given = ", ".join(of() for _ in range(count))
            if self.chance(0.1):
                return f"('%(b)s %(A)05d' % {self.draw.choice(['d', 'users[0]'])})"
            return f"({text} % ({given},))" if count > 1 or self.chance(0.5) else f"({text} % {given})"
        text, count = self.draw.choice(known.FIELDS)
        given = ", ".join(of() for _ in range(count))
        return f"{text}.format({given}{', x=2' if self.chance(0.2) else ''})"

    def method(self, kind, operand, depth, names=None):
        name = self.draw.choice(names or list(known.METHODS[kind]))
        given = []
        is_optional = False
        for part in known.METHODS[kind][name]:
            if part is None:
                is_optional = True
            elif is_optional and self.chance(0.5):
                break
            else:
                given.append(self.of(part, 0))
        return f"{self.closed(operand)}.{name}({', '.join(given)})"

    def any(self, depth):
        """An expression as it is printed."""
        way = self.draw.randrange(12)
        if way < 4:
            return self.filtered(self.draw.choice(list(known.FILTERS)), depth)
        if way == 4:
            return self.method(self.draw.choice("tttdl"), self.of(self.draw.choice("tttdl"), depth - 1), depth)
        if way == 5:
            parts = [self.of("n" if self.chance(0.8) else "a", depth - 2)]
            for _ in range(self.draw.randint(1, 4)):
                operator = self.draw.choice(OPERATORS)
                if operator == "**":  # Python would compute for hours with a large exponent
                    parts.append(f"** {self.draw.choice(EXPONENTS)}")
                    continue
                parts.append(f"{operator} {self.draw.choice(['', '', '-', '+', 'not ']) if self.chance(0.3) else ''}{self.of('n', depth - 2)}")
            return " ".join(parts)
        if way == 6:
            return self.tested(depth)
        if way == 7:
            return f"{self.of('a', depth)} if {self.of('b', depth - 1)}" + (f" else {self.of('a', depth - 1)}" if self.chance(0.7) else "")
        if way == 8:
            item = self.draw.choice(["[0]", "[-1]", "['name']", ".name", ".items", "[yes]", ".0", ".at.zip", "['a b'].k[1]", "[n]", ".real", "[1.0]", "[s]"])
            return self.closed(self.of("a", depth - 1)) + item
        return self.of(self.draw.choice("tttnnblld"), depth)
