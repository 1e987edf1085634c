"""embed.py OUT ORIGIN=FILE... - writes skills as a C file, one string literal per line of text."""

import os
import sys


def literal(line):
    out = []
    for byte in line.encode():
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif 0x20 <= byte < 0x7F and char != "?":
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def row(origin, path):
    name = "/".join(path.split(os.sep)[-2:])
    with open(path, encoding="utf-8", newline="") as file:
        lines = file.read().splitlines(keepends=True)
    text = "\n         ".join(literal(line) for line in lines)
    return f"    {{STR_INIT({literal(name)}), {origin},\n     STR_INIT(\n         {text})}},\n"


def main(out, *skills):
    with open(out, "w", encoding="utf-8") as file:
        file.write('#include "skill/impl.h"\n\n')
        file.write("const struct skill_embedded skills_embedded[] = {\n")
        for skill in skills:
            file.write(row(*skill.split("=", 1)))
        file.write("};\nconst size_t skills_embedded_len = ARRAY_LEN(skills_embedded);\n")


main(*sys.argv[1:])
