// What the gateway counts, logs and refuses is said once, by its owner, and gathered in src/facts; so are its phases, in
// worker/pipeline.ts.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EVENTS } from "../../src/facts/events.ts";
import { METRICS } from "../../src/facts/metrics.ts";
import { WAY_DOWN } from "../../src/worker/pipeline.ts";
import { ROOT } from "./project-files.ts";
import { SOURCE_MODULES } from "./source-module.ts";

/** Rows by name, as the files that end so export them: `x_EVENTS` of `events.ts`. */
async function declared(file: RegExp, table: RegExp): Promise<[name: string, path: string, row: unknown][]> {
  const rows: [string, string, unknown][] = [];
  for (const { path } of SOURCE_MODULES.filter((module) => file.test(module.path))) {
    const exported = (await import(join(ROOT, path))) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    for (const [name, value] of Object.entries(exported).filter(([one]) => table.test(one)))
      for (const [key, row] of Object.entries(value)) rows.push([key, `${path}#${name}`, row]);
  }
  return rows;
}

/** What is wrong with rows of owners, beside the table that gathers them. */
function gatheringFaults(
  rows: readonly (readonly [name: string, path: string, row: unknown])[],
  gathered: Readonly<Record<string, unknown>>,
): string[] {
  const owners = Map.groupBy(rows, ([name]) => name);
  const twice = [...owners].filter(([, own]) => own.length > 1);
  return [
    ...twice.map(([name, own]) => `${name} is declared twice: ${own.map(([, path]) => path).join(", ")}`),
    ...rows
      .filter(([name, , row]) => gathered[name] !== row)
      .map(([name, path]) => `${name} of ${path} is not gathered`),
    ...Object.keys(gathered)
      .filter((name) => !owners.has(name))
      .map((name) => `${name} has no owner`),
  ];
}

/** A phase that is a class, with its body; a phase that is an object. */
const PHASE_CLASS = /\bclass (\w+)[^{]*\bimplements [^{]*\bPhase\b[^{]*\{\n([\s\S]*?)\n\}/g;
const PHASE_OBJECT = /\b(\w+): Phase = \{\n\s*name: "(\w+)"/g;
/** The names that a class declares; one that stands in for another has the name of that one: `OtherPhase.NAME`. */
const NAME_LINE = /^ {2}(?:static readonly NAME|readonly name)\b([^;]*);/gm;
/** Phases of the other listeners, and what stands around any phase. docs/phases.md#other-listeners */
const NOT_ON_THE_WAY = ["sidecarIngress", "sidecarEgress", "forwardProxy", "boundedBody"];
const AROUND_ANY_PHASE = "src/explain/dry-run.ts#TracedPhase";

interface DeclaredPhase {
  readonly place: string;
  readonly names: readonly string[];
  /** The class that it has its name from. */
  readonly namedAfter: string | undefined;
}

function phasesOf(path: string, text: string): DeclaredPhase[] {
  const classes = [...text.matchAll(PHASE_CLASS)].map(([, name, body]) => {
    const lines = [...body!.matchAll(NAME_LINE)].map(([, said]) => said!);
    return {
      place: `${path}#${name}`,
      names: lines.flatMap((said) => [...said.matchAll(/"(\w+)"/g)].map(([, one]) => one!)),
      namedAfter: lines.flatMap((said) => /= (\w+)\.NAME$/.exec(said)?.[1] ?? [])[0],
    };
  });
  const objects = [...text.matchAll(PHASE_OBJECT)].map(([, member, name]) => ({
    place: `${path}#${member}`,
    names: [name!],
    namedAfter: undefined,
  }));
  return [...classes, ...objects];
}

/** What is wrong with phases, beside the names of the way down. */
function phaseFaults(phases: readonly DeclaredPhase[], way: readonly string[]): string[] {
  const named = phases.flatMap(({ names, place }) => names.map((name) => ({ name, place })));
  const owners = Map.groupBy(named, ({ name }) => name);
  const classes = new Set(phases.filter(({ names }) => names.length > 0).map(({ place }) => place.split("#")[1]));
  return [
    ...[...owners]
      .filter(([, own]) => own.length > 1)
      .map(([name, own]) => `${name} is declared twice: ${own.map(({ place }) => place).join(", ")}`),
    ...named.filter(({ name }) => !way.includes(name)).map(({ name, place }) => `${name} of ${place} is on no way`),
    ...way.filter((name) => !owners.has(name)).map((name) => `${name} is on the way, but is no phase's name`),
    ...phases
      .filter(({ names, namedAfter }) => names.length === 0 && !classes.has(namedAfter))
      .map(({ place }) => `${place} has no name`),
  ];
}

/** Files that declare keys. */
const KEY_FILES = /^src\/(?:config|features|routes|settings)\/.*\.ts$/;
/** A row that is written out: `key: { type: …, doc: "…" }`. */
const KEY_ROW = /\b(\w+): \{(?=[^{}]*\btype: )(?:[^{}]|\{[^{}]*\})*?\bdoc:\s*(["'])(.*?)\2/g;
/** Rows of one name and with the same words in several files. Towards none: a row that several sections have is imported. */
const MAX_KEYS_TOLD_TWICE = 10;

function toldTwice(files: readonly { readonly path: string; readonly text: string }[]): string[] {
  const rows = files.flatMap(({ path, text }) =>
    [...text.matchAll(KEY_ROW)].map(([, key, , doc]) => ({ path, said: `${key}: ${doc}` })),
  );
  return [...Map.groupBy(rows, ({ said }) => said)]
    .map(([said, same]) => ({ said, paths: [...new Set(same.map(({ path }) => path))] }))
    .filter(({ paths }) => paths.length > 1)
    .map(({ said, paths }) => `${said} (${paths.join(", ")})`);
}

describe("one home for each", () => {
  test("event", async () => {
    const rows = await declared(/^src\/(features\/\w+\/events|facts\/gateway-events)\.ts$/, /_EVENTS$/);
    expect(gatheringFaults(rows, EVENTS)).toEqual([]);
  });

  test("metric", async () => {
    const rows = await declared(/^src\/(features\/\w+\/metrics|facts\/gateway-metrics)\.ts$/, /_METRICS$/);
    expect(gatheringFaults(rows, METRICS)).toEqual([]);
  });

  test(`key: at most ${MAX_KEYS_TOLD_TWICE} rows are told in two files`, () => {
    const found = toldTwice(SOURCE_MODULES.filter(({ path }) => KEY_FILES.test(path)));
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(MAX_KEYS_TOLD_TWICE);
  });

  test("a row that is told in two files is found; one word for two keys is not", () => {
    const file = (path: string, key: string) => ({
      path,
      text: `const rows = {\n  ${key}: { type: flag(), doc: "off" },\n};\n`,
    });
    expect(toldTwice([file("a.ts", "wait"), file("b.ts", "wait")])).toEqual(["wait: off (a.ts, b.ts)"]);
    expect(toldTwice([file("a.ts", "wait"), file("b.ts", "time")])).toEqual([]);
  });

  test("phase: its name stands in the order of pipeline.ts, whose rows docs/phases.md shows", () => {
    const phases = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")).flatMap(({ path, text }) =>
      phasesOf(path, text),
    );
    const own = phases.filter(({ place }) => place !== AROUND_ANY_PHASE);
    expect(own.length).toBe(phases.length - 1);
    expect(phaseFaults(own, [...WAY_DOWN, ...NOT_ON_THE_WAY])).toEqual([]);
  });

  test("a phase that is on no way, has another's name or none is found by its name", () => {
    const phases = (members: string, name = "APhase") =>
      phasesOf("a.ts", `export class ${name} implements Phase {\n${members}\n  private x = "y";\n}\n`);
    const own = phases('  readonly name = "a";');
    const object = phasesOf("b.ts", '  readonly phase: Phase = {\n    name: "a",\n');
    expect(phaseFaults(own, ["a"])).toEqual([]);
    expect(phaseFaults(own, [])).toEqual(["a of a.ts#APhase is on no way"]);
    expect(phaseFaults(own, ["a", "b"])).toEqual(["b is on the way, but is no phase's name"]);
    expect(phaseFaults([...own, ...object], ["a"])).toEqual(["a is declared twice: a.ts#APhase, b.ts#phase"]);
    const after = phases("  readonly name: string = APhase.NAME;", "BPhase");
    expect(phaseFaults([...own, ...after], ["a"])).toEqual([]);
    expect(phaseFaults(after, [])).toEqual(["a.ts#BPhase has no name"]);
    expect(phaseFaults(phases('  readonly name: "a" | "b";'), ["a", "b"])).toEqual([]);
  });

  test("a row that is not gathered, or declared twice, is found by its name", () => {
    const row = {};
    expect(gatheringFaults([["a", "x", row]], { a: row })).toEqual([]);
    expect(gatheringFaults([["a", "x", row]], {})).toEqual(["a of x is not gathered"]);
    expect(gatheringFaults([["a", "x", row]], { a: row, b: row })).toEqual(["b has no owner"]);
    expect(
      gatheringFaults(
        [
          ["a", "x", row],
          ["a", "y", {}],
        ],
        { a: row },
      ),
    ).toEqual(["a is declared twice: x, y", "a of y is not gathered"]);
  });
});
