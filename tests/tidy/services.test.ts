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
    name: "ListedControlServices",
  },
  {
    service: "WorkerService",
    folders: /^src\/(?:worker|features)\/.*\.ts$/,
    list: "src/worker/services.ts",
    name: "ListedWorkerServices",
  },
];

/** The classes that say that they are services of this kind. */
function serviceClasses(text: string, service: string): string[] {
  const heads = text.matchAll(/^export class (\w+)([^{]*(?:\{[^{}]*\}[^{]*)*)\{\n/gm);
  return [...heads]
    .filter(([, , head]) => new RegExp(`\\bimplements\\b.*\\b${service}\\b`, "s").test(head!))
    .map(([, name]) => name!);
}

/** The services that are listed, by their classes. */
function listedClasses(text: string, name: string): string[] {
  const body = new RegExp(`^export interface ${name} \\{\\n([\\s\\S]*?)^\\}`, "m").exec(text)?.[1] ?? "";
  return [...body.matchAll(/^ {2}readonly \w+: (\w+);$/gm)].map(([, one]) => one!);
}

test.each(THREADS)("each $service is listed", ({ service, folders, list, name }) => {
  const files = PROJECT_FILES.filter((path) => folders.test(path));
  const found = files.flatMap((path) => serviceClasses(projectText(path)!, service));
  expect(found.length).toBeGreaterThan(5);
  expect(found.toSorted()).toEqual(listedClasses(projectText(list)!, name).toSorted());
});

test("one that is left out is found by its name", () => {
  expect(serviceClasses("export class A extends B implements ControlService<C> {\n", "ControlService")).toEqual(["A"]);
  const structural = "export class A implements B, WorkerService<{ readonly c: unknown }> {\n";
  expect(serviceClasses(structural, "WorkerService")).toEqual(["A"]);
  expect(serviceClasses(structural, "ControlService")).toEqual([]);
  expect(serviceClasses("export class A implements B {\n", "ControlService")).toEqual([]);
  expect(listedClasses("export interface S {\n  /** One. */\n  readonly a: A;\n  readonly b: B;\n}\n", "S")).toEqual([
    "A",
    "B",
  ]);
});

test(`control and worker have at most ${MAX_THREAD_FILES} files together`, () => {
  const files = PROJECT_FILES.filter((path) => /^src\/(?:control|worker)\//.test(path));
  expect(files.length).toBeLessThanOrEqual(MAX_THREAD_FILES);
});
