import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseFlags, startCommand } from "../../../src/cli/flags.ts";

const command = {
  name: "edge try",
  page: "tools.md",
  summary: "Tries flags.",
  flags: [
    { name: "url", type: "string", default: "http://a", help: "where to", placeholder: "URL" },
    { name: "c", type: "int", default: 20, min: 1, help: "workers" },
    { name: "attack-ratio", alias: "a", type: "float", default: 0.1, min: 0, max: 1, help: "share" },
    { name: "d", type: "duration", default: "5s", help: "how long" },
    { name: "tier", type: "string", default: "quick", choices: ["quick", "medium", "soak"], help: "which" },
    { name: "dry-run", type: "bool", default: false, help: "only look" },
  ],
  operands: { usage: "[FILE]", min: 0, max: 1 },
} as const;

function run(...args: string[]) {
  const parsed = parseFlags(command, args);
  if (parsed.kind !== "run") throw new Error(parsed.kind === "usage" ? parsed.message : "help");
  return parsed;
}

function usage(...args: string[]): string {
  const parsed = parseFlags(command, args);
  return parsed.kind === "usage" ? parsed.message : parsed.kind;
}

describe("flags", () => {
  test("have their defaults, durations in milliseconds", () => {
    expect(run().values).toEqual({
      url: "http://a",
      c: 20,
      "attack-ratio": 0.1,
      d: 5000,
      tier: "quick",
      "dry-run": false,
    });
    expect(run().given.size).toBe(0);
  });

  test.each([[["-url", "x"]], [["--url", "x"]], [["-url=x"]], [["--url=x"]], [["--url", "y", "-url=x"]]])(
    "%p sets url",
    (args) => {
      expect(run(...args).values.url).toBe("x");
    },
  );

  test("take values of their type", () => {
    const { values, given } = run("-c=7", "-a", "0.25", "-d", "1m30s", "--tier", "soak", "-dry-run");
    expect(values).toMatchObject({ c: 7, "attack-ratio": 0.25, d: 90_000, tier: "soak", "dry-run": true });
    expect([...given.keys()].sort()).toEqual(["attack-ratio", "c", "d", "dry-run", "tier"]);
  });

  test("operands stand anywhere, and after -- anything is one", () => {
    expect(run("a.txt", "-c", "3").operands).toEqual(["a.txt"]);
    expect(run("-c", "3", "--", "-c").operands).toEqual(["-c"]);
    expect(run("-dry-run", "-").operands).toEqual(["-"]);
  });

  test.each([
    [["--ulr", "x"], "unknown flag --ulr (did you mean --url?)"],
    [["--attackratio=1"], "unknown flag --attackratio (did you mean --attack-ratio?)"],
    [["--zzz"], "unknown flag --zzz"],
    [["--url"], "--url needs a value"],
    [["-url"], "-url needs a value"],
    [["-attack-ratio=2"], '-attack-ratio: expected a number from 0 to 1, found "2"'],
    [["--url", "-c", "3"], "--url needs a value"],
    [["-c", "many"], '-c: expected a whole number of at least 1, found "many"'],
    [["-c", "0"], '-c: expected a whole number of at least 1, found "0"'],
    [["-c=-5"], '-c: expected a whole number of at least 1, found "-5"'],
    [["-a", "1.5"], '-a: expected a number from 0 to 1, found "1.5"'],
    [["-d", "soon"], '-d: expected a duration such as 500ms, 60s or 1m30s, found "soon"'],
    [["--tier", "quik"], '--tier: expected one of quick, medium, soak, found "quik" (did you mean quick?)'],
    [["--dry-run=maybe"], '--dry-run: expected true or false, found "maybe"'],
    [["a", "b"], 'unexpected argument "b"'],
    [["--help"], "help"],
    [["-c", "3", "-h"], "help"],
  ])("%p gives %p", (args, message) => {
    expect(usage(...args)).toBe(message);
  });

  test("a missing operand is wrong usage", () => {
    const parsed = parseFlags({ ...command, operands: { usage: "FILE", min: 1, max: 1 } }, []);
    expect(parsed).toEqual({ kind: "usage", message: "missing FILE" });
  });

  test("no arguments throw", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom("-c", "--url", "=", "--", "-a=1"))),
        (args) => parseFlags(command, args).kind !== undefined,
      ),
    );
  });
});

describe("a command", () => {
  test("shows its help on --help", () => {
    const out: string[] = [];
    expect(startCommand(command, ["-help"], { out: (text) => out.push(text), err: () => {} })).toBe(0);
    expect(out.join("")).toBe(`Tries flags.

Usage: edge try [flags] [FILE]

Flags:
  --url URL             where to (default http://a)
  -c N                  workers (default 20)
  -a, --attack-ratio X  share (default 0.1)
  -d TIME               how long (default 5s)
  --tier TEXT           which (default quick)
  --dry-run             only look
  -h, --help            show this text

More: docs/tools.md
`);
  });

  test("complains about wrong usage and leaves with 2", () => {
    const err: string[] = [];
    expect(startCommand(command, ["--zzz"], { out: () => {}, err: (text) => err.push(text) })).toBe(2);
    expect(err.join("")).toBe('edge try: unknown flag --zzz\nTry "edge try --help".\n');
  });
});
