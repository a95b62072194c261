import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { ConfiguredFiles } from "../../../src/config/configured-file.ts";
import { FaultLog } from "../../../src/config/fault-log.ts";
import { list } from "../../../src/config/piece.ts";
import { block, type ConfigOf } from "../../../src/config/row.ts";
import { referenceOf } from "../../../src/config/row-reference.ts";
import { cidr, duration, flag, integer, secret, size, text } from "../../../src/config/scalars.ts";
import { readYaml } from "../../../src/config/yaml-source.ts";

const door = block(
  {
    enabled: { type: flag(), default: true },
    idle_time: { type: duration(1), default: "1m30s", doc: "how long it stays open" },
    max_bytes: { type: size(0), default: "64KiB" },
    max_payload: { type: size(0), default: 100, field: "payloadBytes" },
    depth: { type: integer(1), absent: null, example: 3 },
    name: { type: text("a name"), required: "the name of the door", example: "front" },
    guests: { type: list(cidr(), "networks"), example: ["10.0.0.0/8"], doc: "who may pass" },
    key: { type: secret("the key"), default: "" },
    first: { type: text("a name"), default: "", field: "" },
    panes: {
      type: list(block({ wide: { type: integer(0), required: "its width", example: 4 } }), "panes"),
      doc: "one or more",
    },
  },
  {
    check: ({ name }, { log, path }) => name === "none" && log.warn([...path, "name"], "is no name"),
    finish: ({ idleTimeMs }, { first }) => ({ firstTwice: first + first, isLong: idleTimeMs > 60_000 }),
    list: ({ firstTwice }, lines) => ({ ...lines, first: firstTwice.slice(firstTwice.length / 2) }),
    notes: ["That is all."],
  },
);

function resolve(yaml: string): { config: ConfigOf<typeof door>; lines: string[] } {
  const source = readYaml("config.yaml", yaml, {});
  const log = new FaultLog(source);
  const values = log.read(door, source.value, [], 1);
  const config = door.resolve(values, { path: [], log, files: new ConfiguredFiles(log, "/") });
  return {
    config,
    lines: [...log.faults, ...log.warnings].map(({ line, path, message }) => `${line} ${path}: ${message}`),
  };
}

describe("a block of rows", () => {
  test("resolves to fields that have the unit in their names", () => {
    expect(
      resolve("name: front\nmax_bytes: 1MiB\nguests: [10.1.0.0/16]\nfirst: a\npanes: [{wide: 2}]\n").config,
    ).toEqual({
      enabled: true,
      idleTimeMs: 90_000,
      maxBytes: 1_048_576,
      payloadBytes: 100,
      depth: null,
      name: "front",
      guests: [expect.objectContaining({ text: "10.1.0.0/16" })],
      key: "",
      panes: [{ wide: 2 }],
      firstTwice: "aa",
      isLong: true,
    });
  });

  test.each(["010", "-07", "00"])("takes %s, octal to some readers, for no number", (digits) => {
    const { lines } = resolve(`name: front\nfirst: a\ndepth: ${digits}\n`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toEndWith("octal: leave out the zero in front");
  });

  test("is written as a file would say it, without absent keys, secrets masked", () => {
    const { config } = resolve("name: front\nkey: hush\nguests: [10.1.0.0/16]\nfirst: a\n");
    expect(door.write(config)).toEqual({
      enabled: true,
      idle_time: "1m30s",
      max_bytes: "64KiB",
      max_payload: 100,
      name: "front",
      guests: ["10.1.0.0/16"],
      key: "***",
      first: "a",
      panes: [],
    });
  });

  test("is shown with plain numbers, units in the names, secrets masked", () => {
    const { config } = resolve("name: front\nkey: hush\nmax_bytes: 1MiB\n");
    expect(door.show(config)).toEqual({
      enabled: true,
      idle_time_ms: 90_000,
      max_bytes: 1_048_576,
      max_payload: 100,
      depth: null,
      name: "front",
      guests: [],
      key: "***",
      panes: [],
    });
  });

  test("names what is wrong with its place", () => {
    expect(resolve("idle_time: soon\nnaem: front\n").lines).toEqual([
      '1 idle_time: expected a duration such as 500ms, 60s or 1m30s, found "soon"',
      "1 name: missing: expected the name of the door",
      '2 naem: unknown key (did you mean "name"?)',
    ]);
    expect(resolve("idle_time: 3s\n").lines).toEqual(["1 name: missing: expected the name of the door"]);
    expect(resolve("name: none\n").lines).toEqual(["1 name: is no name"]);
  });

  test("may be written as true or false where it is a switch", () => {
    const light = block({ enabled: { type: flag(), default: true } }, { isSwitch: true });
    expect(light.unit).toBe("");
    expect([false, true, undefined, {}].map((value) => v.parse(light, value).enabled)).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  test("has a reference in which each line is YAML", () => {
    expect(
      referenceOf({ door: { type: door, doc: "of the house" } }, "  "),
    ).toBe(`  door:                           # of the house
    enabled: true
    idle_time: 1m30s              # how long it stays open
    max_bytes: 64KiB
    max_payload: 100
    depth: 3                      # e.g.
    name: front                   # e.g.
    guests: [10.0.0.0/8]          # e.g. who may pass
    key: ""
    first: ""
    panes:                        # one or more
      - wide: 4                   # e.g.
    # That is all.
`);
    expect(referenceOf({ door: { type: door, example: { max_payload: 5 } } })).toBe(`door:
  max_payload: 5                  # e.g.
`);
  });
});
