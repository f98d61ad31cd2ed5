"""Filters and methods with the types of their arguments.

A type is a letter: t text, w whole number, c small count, f float, n number, b bool, l list, d dict, a anything, or a list of sources to choose from.
"""

ATTRIBUTES = ["'name'", "'age'", "'city'", "'at.zip'", "'tags.0'", "'nothing'", "0", "'admin'", "none", "'items'"]
FILTER_NAMES = ["'upper'", "'length'", "'int'", "'string'", "'trim'", "'title'", "'abs'", "'first'", "'nope'", "'tojson'"]
TEST_NAMES = ["'odd'", "'defined'", "'string'", "'none'", "'mapping'", "'nope'", "'lower'", "'number'"]
TESTS_OF_TWO = ["'equalto'", "'eq'", "'lt'", "'>'", "'ne'", "'in'", "'divisibleby'", "'sameas'"]

# name: (type of the operand, [(parameter, type)])
FILTERS = {
    "abs": ("n", []),
    "attr": ("a", [("name", ["'upper'", "'items'", "'name'", "'real'", "'x'"])]),
    "batch": ("l", [("linecount", "c"), ("fill_with", "a")]),
    "capitalize": ("t", []),
    "center": ("t", [("width", "c")]),
    "count": ("a", []),
    "d": ("a", [("default_value", "a"), ("boolean", "b")]),
    "default": ("a", [("default_value", "a"), ("boolean", "b")]),
    "dictsort": ("d", [("case_sensitive", "b"), ("by", ["'key'", "'value'", "'x'"]), ("reverse", "b")]),
    "e": ("a", []),
    "escape": ("t", []),
    "filesizeformat": ("n", [("binary", "b")]),
    "first": ("l", []),
    "float": ("a", [("default", "a")]),
    "forceescape": ("t", []),
    "format": ("t", []),
    "groupby": (["users"], [("attribute", ATTRIBUTES), ("default", ["'x'", "0", "none"]), ("case_sensitive", "b")]),
    "indent": ("t", [("width", ["2", "0", "'> '", "4"]), ("first", "b"), ("blank", "b")]),
    "int": ("a", [("default", "a"), ("base", ["2", "8", "16", "10", "0", "36", "1"])]),
    "items": ("d", []),
    "join": ("l", [("d", "t"), ("attribute", ATTRIBUTES)]),
    "last": ("l", []),
    "length": ("a", []),
    "list": ("a", []),
    "lower": ("t", []),
    "max": ("l", [("case_sensitive", "b"), ("attribute", ATTRIBUTES)]),
    "min": ("l", [("case_sensitive", "b"), ("attribute", ATTRIBUTES)]),
    "pprint": ("a", []),
    "replace": ("t", [("old", "t"), ("new", "t"), ("count", "c")]),
    "reverse": ("l", []),
    "round": ("n", [("precision", ["0", "1", "2", "-1", "3", "none"]), ("method", ["'common'", "'ceil'", "'floor'", "'x'"])]),
    "safe": ("t", []),
    "slice": ("l", [("slices", "c"), ("fill_with", "a")]),
    "sort": ("l", [("reverse", "b"), ("case_sensitive", "b"), ("attribute", ATTRIBUTES + ["'age,name'"])]),
    "string": ("a", []),
    "striptags": (["html", "'a <i>b</i>  c'", "'<!-- <x> -->y &amp; z'", "s|escape"], []),
    "sum": ("l", [("attribute", ATTRIBUTES), ("start", ["0", "1.5", "[]", "''", "10"])]),
    "title": ("t", []),
    "tojson": ("a", [("ensure_ascii", "b"), ("indent", ["none", "2", "0", "'--'"]), ("separators", ["none", "(',', ':')"]), ("sort_keys", "b")]),
    "trim": ("t", [("chars", "t")]),
    "truncate": ("t", [("length", "c"), ("killwords", "b"), ("end", ["'...'", "''", "'…'"]), ("leeway", ["0", "1", "none"])]),
    "unique": ("l", [("case_sensitive", "b"), ("attribute", ATTRIBUTES)]),
    "upper": ("t", []),
    "urlencode": ("a", []),
    "wordcount": ("t", []),
    "wordwrap": ("t", [("width", "c"), ("break_long_words", "b"), ("wrapstring", ["'|'", "none"]), ("break_on_hyphens", "b")]),
    "xmlattr": ("d", [("autospace", "b")]),
}

# name: types of the arguments, optional ones after None
METHODS = {
    "t": {
        "upper": [], "lower": [], "casefold": [], "swapcase": [], "capitalize": [], "title": [], "isdigit": [], "isdecimal": [], "isnumeric": [],
        "isalpha": [], "isalnum": [], "isspace": [], "isascii": [], "isupper": [], "islower": [], "istitle": [], "isprintable": [],
        "isidentifier": [], "strip": [None, "t"], "lstrip": [None, "t"], "rstrip": [None, "t"], "startswith": ["t", None, "w", "w"],
        "endswith": ["t", None, "w", "w"], "split": [None, "t", "w"], "rsplit": [None, "t", "w"], "splitlines": [None, "b"],
        "replace": ["t", "t", None, "w"], "removeprefix": ["t"], "removesuffix": ["t"], "find": ["t", None, "w", "w"], "rfind": ["t", None, "w", "w"],
        "index": ["t", None, "w"], "rindex": ["t"], "count": ["t", None, "w", "w"], "join": ["l"], "partition": ["t"], "rpartition": ["t"],
        "ljust": ["c", None, "t"], "rjust": ["c", None, "t"], "center": ["c", None, "t"], "zfill": ["c"], "expandtabs": [None, "c"],
    },
    "d": {"get": ["t", None, "a"], "items": [], "keys": [], "values": [], "copy": [], "pop": ["t"], "update": ["d"]},
    "l": {"index": ["a"], "count": ["a"], "copy": [], "append": ["a"], "pop": []},
}

TESTS = {
    "odd": "n", "even": "n", "defined": "a", "undefined": "a", "none": "a", "boolean": "a", "false": "a", "true": "a", "integer": "a", "float": "a",
    "lower": "t", "upper": "t", "string": "a", "mapping": "a", "number": "a", "sequence": "a", "iterable": "a", "callable": "a", "escaped": "a",
    "filter": ["'upper'", "'nope'", "1", "s", "'tojson'"], "test": ["'odd'", "'nope'", "1", "'=='"],
}
TESTS_WITH = {
    "divisibleby": "n", "sameas": ["none", "true", "l", "s", "users"], "in": "l", "eq": "a", "equalto": "a", "ne": "a", "gt": "n", "greaterthan": "n",
    "ge": "n", "lt": "n", "lessthan": "t", "le": "n",
}

FORMATS = [
    ("'%s|%r'", 2), ("'%5d|%-5s|'", 2), ("'%05.1f'", 1), ("'%x %X %o'", 3), ("'%+.3e'", 1), ("'%g'", 1), ("'%c'", 1), ("'%%%s'", 1), ("'%.2s'", 1),
    ("'%#x'", 1), ("'% d'", 1), ("'%s'", 2), ("'%*d'", 2), ("'%G'", 1), ("'%i'", 1), ("'%a'", 1),
]
FIELDS = [
    ("'{}-{}'", 2), ("'{1}{0}'", 2), ("'{:>8}|{:<6}|'", 2), ("'{:^9}'", 1), ("'{:*^9}'", 1), ("'{:08.3f}'", 1), ("'{:,}'", 1), ("'{:_}'", 1), ("'{:+d}'", 1),
    ("'{:x}'", 1), ("'{:#b}'", 1), ("'{:e}'", 1), ("'{:g}'", 1), ("'{:%}'", 1), ("'{!r:>6}'", 1), ("'{0[0]}'", 1), ("'{0.real}'", 1), ("'{:{}}'", 2),
    ("'{{}}{}'", 1), ("'{:.3}'", 1), ("'{:05}'", 1), ("'{:010,.2f}'", 1), ("'{!s}'", 1), ("'{'", 1), ("'{x}'", 1), ("'{:n}'", 1), ("'{:=+7}'", 1), ("'{:c}'", 1),
]
