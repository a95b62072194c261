import { expect, test } from "bun:test";
import { PROJECT_FILES, projectText } from "./project-files.ts";

/** Files of the two threads' own folders: what belongs to a feature stands there. */
const MAX_THREAD_FILES = 60;

/** The services of a thread, by the interface that they say they implement, and where they are listed. */
const THREADS = [
  {
    service: "ControlService",
    folders: /^src\/(?:control|features)\/.*\.ts$/,
    list: "src/control/services.ts",
    name: "makeServices",
  },
  {
    service: "WorkerService",
    folders: /^src\/(?:worker|features)\/.*\.ts$/,
    list: "src/worker/services.ts",
    name: "listParts",
  },
];

/** The classes that say that they are services of this kind. */
function serviceClasses(text: string, service: string): string[] {
  const heads = text.matchAll(/^export class (\w+)([^{]*(?:\{[^{}]*\}[^{]*)*)\{\n/gm);
  return [...heads]
    .filter(([, , head]) => new RegExp(`\\bimplements\\b.*\\b${service}\\b`, "s").test(head!))
    .map(([, name]) => name!);
}

/** The services that a function lists, by their classes: it makes them itself, or passes on members of its parameter. */
function listedClasses(text: string, name: string): string[] {
  const [, parameter = "", body = ""] =
    new RegExp(`^export function ${name}\\(\\w+: (\\w+)\\) \\{\\n([\\s\\S]*?)^\\}`, "m").exec(text) ?? [];
  const made = new Map([...body.matchAll(/const (\w+)(?:: \w+)? = new (\w+)\(/g)].map(([, one, of]) => [one!, of!]));
  const returned = /return \{([\s\S]*)\}/.exec(body)?.[1] ?? "";
  const passed = new RegExp(`^export interface ${parameter} \\{\\n([\\s\\S]*?)^\\}`, "m").exec(text)?.[1] ?? "";
  return [
    ...[...returned.matchAll(/(\w+): new (\w+)\(/g)].map(([, , of]) => of!),
    ...[...returned.matchAll(/^\s*(\w+),$/gm)].map(([, one]) => made.get(one!) ?? one!),
    ...(/\.\.\.\w+/.test(returned) ? [...passed.matchAll(/^ {2}readonly \w+: (\w+);$/gm)].map(([, one]) => one!) : []),
  ];
}

test.each(THREADS)("each $service is listed", ({ service, folders, list, name }) => {
  const files = PROJECT_FILES.filter((path) => folders.test(path));
  const found = files.flatMap((path) => serviceClasses(projectText(path)!, service));
  expect(found.length).toBeGreaterThan(5);
  expect(found.toSorted()).toEqual(listedClasses(projectText(list)!, name).toSorted());
});

test("a thread names what its list makes in the list alone", () => {
  const namers = { makeServices: "src/control/control.ts", listParts: "src/worker/worker.ts" };
  for (const { list, name } of THREADS) {
    const made = [...projectText(list)!.matchAll(/\bnew (\w+)\(/g)].map(([, one]) => one!);
    const text = projectText(namers[name as keyof typeof namers])!;
    expect(made.filter((one) => new RegExp(`\\b${one}\\b`).test(text))).toEqual([]);
  }
});

test("one that is left out is found by its name", () => {
  expect(serviceClasses("export class A extends B implements ControlService<C> {\n", "ControlService")).toEqual(["A"]);
  const structural = "export class A implements B, WorkerService<{ readonly c: unknown }> {\n";
  expect(serviceClasses(structural, "WorkerService")).toEqual(["A"]);
  expect(serviceClasses(structural, "ControlService")).toEqual([]);
  expect(serviceClasses("export class A implements B {\n", "ControlService")).toEqual([]);
  const made =
    "export function f(site: S) {\n  const a = new A(1);\n  return {\n    a,\n    b: new B(x(), y),\n  };\n}\n";
  expect(listedClasses(made, "f").toSorted()).toEqual(["A", "B"]);
  const passed =
    "export interface Own {\n  /** One. */\n  readonly a: A;\n}\nexport function f(own: Own) {\n  return { ...own, b: new B() };\n}\n";
  expect(listedClasses(passed, "f").toSorted()).toEqual(["A", "B"]);
});

test(`control and worker have at most ${MAX_THREAD_FILES} files together`, () => {
  const files = PROJECT_FILES.filter((path) => /^src\/(?:control|worker)\//.test(path));
  expect(files.length).toBeLessThanOrEqual(MAX_THREAD_FILES);
});
