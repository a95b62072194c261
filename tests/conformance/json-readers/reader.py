# Reads the files that its input names, and prints a line for each: its value with members in order, or "!".
import json
import struct
import sys


def text(value):
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(sorted(units(key) + ":" + text(one) for key, one in value.items())) + "}"
    if isinstance(value, str):
        return units(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) > 2**53 - 1:
        return "integer %d" % value
    if isinstance(value, float) and value == 0 and struct.pack(">d", value) != bytes(8):
        return "-0"
    return struct.pack(">d", float(value)).hex()


def units(value):
    return '"' + value.encode("utf-16-be", "surrogatepass").hex() + '"'


for file in sys.stdin.read().split("\n"):
    try:
        with open(file, "rb") as opened:
            print(text(json.loads(opened.read())))
    except (ValueError, RecursionError):
        print("!")
