"""Reads the metadata of a GGUF file and writes it with other metadata, without touching its tensors."""

import struct

SCALARS = {"u8": (0, "<B"), "i8": (1, "<b"), "u16": (2, "<H"), "i16": (3, "<h"), "u32": (4, "<I"), "i32": (5, "<i"),
           "f32": (6, "<f"), "bool": (7, "<?"), "u64": (10, "<Q"), "i64": (11, "<q"), "f64": (12, "<d")}
NUMBERS = {number: (name, form) for name, (number, form) in SCALARS.items()}
STRING, ARRAY = 8, 9
ALIGNMENT = 32


class GgufFile:
    def __init__(self, data):
        self.data, self.at = data, 0
        magic, self.version, self.tensors, count = self.take("<4sIQQ")
        assert magic == b"GGUF"
        self.entries = {}  # key -> (type, value, bytes)
        for _ in range(count):
            start = self.at
            key = self.string()
            kind, value = self.value(self.take("<I")[0])
            self.entries[key] = (kind, value, data[start : self.at])
        start = self.at
        for _ in range(self.tensors):
            self.string()
            (dimensions,) = self.take("<I")
            self.take(f"<{dimensions}QIQ")
        self.infos = data[start : self.at]
        self.weights = data[aligned(self.at) :]

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def string(self):
        (length,) = self.take("<Q")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def value(self, number):
        if number == STRING:
            return "string", self.string()
        if number == ARRAY:
            element, count = self.take("<IQ")
            values = [self.value(element) for _ in range(count)]
            return [values[0][0] if values else "u32"], [value for _, value in values]
        name, form = NUMBERS[number]
        return name, self.take(form)[0]

    def changed(self, changes):
        """The file with `changes`: for each key (type, value), in which the type of a list is [type], or None to leave it out."""
        entries = [data for key, (_, _, data) in self.entries.items() if key not in changes]
        entries += [packed_string(key) + packed(*change) for key, change in changes.items() if change is not None]
        head = struct.pack("<4sIQQ", b"GGUF", self.version, self.tensors, len(entries)) + b"".join(entries) + self.infos
        return head + bytes(aligned(len(head)) - len(head)) + self.weights


def aligned(offset):
    return -(-offset // ALIGNMENT) * ALIGNMENT


def packed_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def packed(kind, value):
    if isinstance(kind, list):
        number, form = SCALARS[kind[0]]
        return struct.pack("<IIQ", ARRAY, number, len(value)) + b"".join(struct.pack(form, item) for item in value)
    if kind == "string":
        return struct.pack("<I", STRING) + packed_string(value)
    number, form = SCALARS[kind]
    return struct.pack("<I", number) + struct.pack(form, value)
