"""Draws templates: statements that nest, around expressions."""

from .expressions import Expressions

TEXTS = ["a", "  b", "\n", "  \n", "\n  ", " c\n\t", "é", "{ }", "\r\n", "#", "x\n\ny", ""]
PAIRS = ["1, 2", "l", "e", "(s, n)", "'ab'"]
BLOCK_FILTERS = ["upper", "trim", 'replace(" ", "_")', "indent(2)", "length", "upper | trim", "title", 'join(",")', "tojson"]
NAMESPACES = ["a=1", "a='x'", "d", "a=[]", "a=1, b=s"]
OPEN = ["{%", "{%", "{%", "{%-", "{%+"]
CLOSE = ["%}", "%}", "%}", "-%}", "+%}"]


class Statements(Expressions):
    def template(self):
        self.names = []
        if self.chance(0.6):
            return "{{ " + self.any(3) + " }}"
        return self.body(3) + self.draw.choice(["", "", "\n", "\n\n"])

    def tag(self, text):
        return f"{self.draw.choice(OPEN)} {text} {self.draw.choice(CLOSE)}"

    def text(self):
        return self.draw.choice(TEXTS)

    def body(self, depth):
        return self.text() + "".join(self.statement(depth) + self.text() for _ in range(self.draw.randint(1, 3)))

    def printed(self, depth):
        start, end = self.draw.choice(["{{", "{{", "{{-"]), self.draw.choice(["}}", "}}", "-}}"])
        return f"{start} {self.any(depth)} {end}"

    def statement(self, depth):
        if depth <= 0 or self.chance(0.3):
            return self.printed(2) if self.chance(0.8) else self.draw.choice(["{# c #}", "{#- c -#}", "{#+ c +#}", "{% raw %} {{ x }} {% endraw %}", "{%- raw -%}\n {% a %} {%- endraw +%}"])
        kinds = ["if", "for", "for", "set", "set", "block_set", "with", "macro", "call", "filter", "generation", "namespace", "loop", "recursive", "cycler", "block", "print"]
        return getattr(self, self.draw.choice(kinds) + "_")(depth - 1)

    def if_(self, depth):
        text = self.tag(f"if {self.of('b', 2) if self.chance(0.7) else self.of('a', 1)}") + self.body(depth)
        if self.chance(0.4):
            text += self.tag(f"elif {self.of('b', 1)}") + self.body(depth)
        if self.chance(0.5):
            text += self.tag("else") + self.body(depth)
        return text + self.tag("endif")

    def for_(self, depth):
        pair = self.chance(0.25)
        source = self.of("d", 1) + self.draw.choice([".items()", "|items", "|dictsort"]) if pair else self.of("l" if self.chance(0.9) else "a", 2)
        test = f" if {self.draw.choice(['x', 'x is string', 'x != 1', self.of('b', 1)])}" if self.chance(0.25) else ""
        before = list(self.names)
        self.names = before + (["k", "x"] if pair else ["x"]) + ["loop.index", "loop.index0", "loop.first", "loop.last", "loop.length", "loop.revindex", "loop.previtem", "loop.nextitem", "loop.cycle('p', 'q')", "loop.changed(x)", "loop.depth"]
        inside = self.body(depth)
        if self.chance(0.2):
            inside += self.tag("if loop.index > 1") + self.tag(self.draw.choice(["break", "continue"])) + self.tag("endif") + self.text()
        self.names = before
        other = self.tag("else") + self.body(depth) if self.chance(0.25) else ""
        return self.tag(f"for {'k, x' if pair else 'x'} in {source}{test}") + inside + other + self.tag("endfor")

    def set_(self, depth):
        name = self.draw.choice(["v", "w", "s", "n"])
        text = self.tag(f"set {name} = {self.of('a', 2)}") if self.chance(0.85) else self.tag(f"set v, w = {self.draw.choice(PAIRS)}")
        self.names += ["v", "w"]
        return text

    def block_set_(self, depth):
        suffix = self.draw.choice([" | upper", " | trim | length", ""])
        text = self.tag(f"set v{suffix}") + self.body(depth) + self.tag("endset")
        self.names += ["v"]
        return text

    def with_(self, depth):
        return self.tag(f"with {self.draw.choice(['v', 's'])} = {self.of('a', 1)}{self.draw.choice([', w = v', ', w = 2', ''])}") + self.body(depth) + "{{ v }}{{ w }}" + self.tag("endwith")

    def macro_(self, depth):
        parameters = self.draw.choice(["a", "a, b=2", "a, b=a", "", "a=1, b=s, c=[]", "a, b=c, c=1"])
        inside = self.text() + self.draw.choice(["{{ a }}", "{{ b }}|{{ c }}", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ a }}{{ varargs|length }}"]) + self.body(depth)
        call = self.draw.choice(["m()", "m(1)", "m(1, 2)", "m(1, 2, 3, 4)", "m(a=s)", "m(b=1)", "m(*l)", "m(**d)", "m(1, z=2)", "m(1)|upper", "m", "m.name", "m.arguments"])
        return self.tag(f"macro m({parameters})") + inside + self.tag("endmacro") + "{{ " + call + " }}"

    def call_(self, depth):
        inside = self.draw.choice(["[{{ caller() }}]", "[{{ caller(1, 2) }}]", "[{{ caller(n) }}{{ caller(s) }}]", "[]", "{{ caller is defined }}"])
        macro = "{% macro o(x=1) %}" + inside + "{{ x }}{% endmacro %}"
        return macro + self.tag(self.draw.choice(["call", "call(p)", "call(p, q=3)"]) + f" o({self.draw.choice(['', 's', 'x=2'])})") + "{{ p }}{{ q }}" + self.body(depth) + self.tag("endcall")

    def filter_(self, depth):
        return self.tag(f"filter {self.draw.choice(BLOCK_FILTERS)}") + self.body(depth) + self.tag("endfilter")

    def generation_(self, depth):
        return self.tag("generation") + self.body(depth) + self.tag("endgeneration")

    def namespace_(self, depth):
        loop = "{% for i in range(3) %}" + self.tag(f"set ns.a = {self.draw.choice(['ns.a + i', 'ns.a ~ i', '[ns.a, i]', 'i'])}") + "{% endfor %}"
        return f"{{% set ns = namespace({self.draw.choice(NAMESPACES)}) %}}" + loop + self.draw.choice(["{{ ns.a }}", "{{ ns }}", "{{ ns.b }}", "{{ ns['a'] }}"])

    def loop_(self, depth):
        return "{% for x in " + self.of("l", 1) + " %}{{ loop." + self.draw.choice(["index", "revindex0", "length", "last", "previtem", "nextitem", "depth0", "first"]) + " }},{{ x }};{% else %}-{% endfor %}"

    def recursive_(self, depth):
        return "{% for x in [1, [2, [3]], []] recursive %}{{ loop.depth }}:{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% else %}none{% endfor %}"

    def cycler_(self, depth):
        return "{% set c = cycler('a', 1, none) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.next() }}{% set j = joiner('; ') %}{{ j() }}{{ j() }}" + self.draw.choice(["{{ c.reset() }}{{ c.current }}", "{{ c.pos }}{{ c.items }}", "{{ j.used }}"])

    def block_(self, depth):
        name = self.draw.choice(["p", "q", "r"])
        return self.tag(f"block {name}{self.draw.choice(['', ' scoped'])}") + self.body(depth) + self.tag("endblock") + self.draw.choice(["", "{{ self." + name + "() }}"])

    def print_(self, depth):
        return self.tag(f"print {self.of('a', 2)}, {self.of('a', 1)}")
