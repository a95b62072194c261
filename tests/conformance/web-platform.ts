// Runs the Web Platform Tests of what functions are written against inside a function, and counts what passes.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { startGateway } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";
import type { Result } from "./web-platform/function.ts";

/** What came of a part of the suite. */
export interface PartOutcome {
  readonly name: string;
  readonly passed: number;
  readonly total: number;
  /** Of those that have failed: rules that protect the user of a browser from a page, which no server runtime has. */
  readonly browserRules: number;
  /** Tests that need the suite's own server, which are not counted. */
  readonly leftOut: number;
  readonly failed: readonly { readonly file: string; readonly name: string; readonly message: string }[];
  /** Files that did not come to their end, and why. */
  readonly broken: readonly string[];
}

/** Parts by their names: folders, whose files `*.any.js` are run. */
const PARTS: Readonly<Record<string, string>> = {
  Headers: "fetch/api/headers",
  Request: "fetch/api/request",
  Response: "fetch/api/response",
  URL: "url",
};
/** What is asked of a browser's cache, its list of ports and its interface definitions is no matter of a function. */
const LEFT_OUT = /request-cache|request-bad-port|keepalive|idlharness/;
const BROWSER_RULE =
  /no-cors|Adding invalid .*request header|forbidden|request constructor is filtering|Navigation|RequestInit's (window|mode|referrer)/;

/** A checkout of the suite, as EDGE_WPT names it; null if there is none, or some part is not in it. */
export function suiteFolder(): string | null {
  const folder = process.env.EDGE_WPT ?? "";
  const needed = ["resources/testharness.js", ...Object.values(PARTS)];
  return folder !== "" && needed.every((path) => existsSync(join(folder, path))) ? resolve(folder) : null;
}

/** Runs all parts in a gateway of their own. */
export async function runPlatformTests(suite: string): Promise<PartOutcome[]> {
  const module = join(import.meta.dir, "web-platform/function.ts");
  const gateway = await startGateway({
    config: { functions: { env: { WPT: suite }, memory: "1GiB" } },
    routes: [{ type: "function", prefix: "/", timeout: "30s", module }],
  });
  try {
    const outcomes: PartOutcome[] = [];
    for (const [name, folder] of Object.entries(PARTS)) outcomes.push(await runPart(gateway.port, suite, name, folder));
    return outcomes;
  } finally {
    await stopAll(gateway);
  }
}

async function runPart(port: number, suite: string, name: string, folder: string): Promise<PartOutcome> {
  const results: (Result & { file: string })[] = [];
  const broken: string[] = [];
  for (const file of filesOf(suite, folder)) {
    const response = await fetch(`http://127.0.0.1:${port}/?file=${encodeURIComponent(file)}`);
    if (!response.ok) broken.push(`${file}: ${response.status}`);
    else for (const result of (await response.json()) as Result[]) results.push({ ...result, file });
  }
  const counted = results.filter(({ message }) => !message?.includes("needs the server of the suite"));
  const failed = counted.filter(({ status }) => status !== 0);
  return {
    name,
    passed: counted.length - failed.length,
    total: counted.length,
    browserRules: failed.filter((one) => BROWSER_RULE.test(one.name)).length,
    leftOut: results.length - counted.length,
    failed: failed.map((one) => ({ file: one.file, name: one.name, message: one.message ?? "" })),
    broken,
  };
}

/** The tests of a folder that are for workers, too. */
function filesOf(suite: string, folder: string): string[] {
  const isForWorkers = (file: string): boolean => {
    const kinds = /^\/\/ META: global=(.*)$/m.exec(readFileSync(join(suite, file), "utf8"))?.[1];
    return kinds === undefined || /worker/.test(kinds);
  };
  return readdirSync(join(suite, folder))
    .filter((file) => file.endsWith(".any.js") && !LEFT_OUT.test(file))
    .map((file) => `${folder}/${file}`)
    .filter(isForWorkers)
    .sort();
}
