// Runs the public suite of HTTP cache tests (npm http-cache-tests) against the gateway: its server is the origin, its
// client asks through the gateway. package.json replaces two of its dependencies, which only its web pages need.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import type { RunningCache } from "./cache-peers.ts";
import * as known from "./cache-suite-known.ts";

const ROOT = join(import.meta.dir, "..", "..", "node_modules", "http-cache-tests");

interface SuiteRequest {
  expected_type?: string;
  expected_status?: number;
  check_body?: boolean;
  expected_response_headers_missing?: string[];
  response_headers?: (string | number | boolean)[][];
  setup?: boolean;
  pause_after?: boolean;
}

interface SuiteTest {
  id: string;
  kind?: string;
  name: string;
  requests: SuiteRequest[];
}

interface Suite {
  tests: SuiteTest[];
}

/** `true`, or the kind and the message of a failure; absent where the test was not run. */
type Results = Readonly<Record<string, true | readonly [string, string] | undefined>>;

/** What came of a run. */
export interface SuiteOutcome {
  /** Required tests, those for browsers included. */
  readonly required: number;
  readonly passed: number;
  /** Of these, those of `CDN-Cache-Control`. */
  readonly cdn: number;
  readonly cdnPassed: number;
  /** Required tests that failed, with what the suite says; those for browsers left out. */
  readonly failed: ReadonlyMap<string, string>;
  /** Tests that are merely optimal, and those of them that passed. */
  readonly optimal: number;
  readonly optimalPassed: number;
}

/** Whether the package is installed. */
export async function hasSuite(): Promise<boolean> {
  return await Bun.file(join(ROOT, "package.json")).exists();
}

/**
 * Runs the whole suite, some ten seconds, with the default freshness off.
 * @param start another cache than the gateway, before an origin at this port
 */
export async function runSuite(start: (origin: number) => Promise<RunningCache> = startEdge): Promise<SuiteOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "edge-cache-suite-"));
  const port = freePort();
  const origin = startOrigin(port, folder);
  try {
    await untilListening(port);
    const gateway = await start(port);
    try {
      const suites = await amendedSuites();
      const { runTests, getResults } = (await import(join(ROOT, "client", "runner.mjs"))) as {
        runTests(suites: Suite[], fetch: unknown, isBrowser: boolean, base: string): Promise<void>;
        getResults(): Results;
      };
      await runTests(suites, fetch, false, `http://127.0.0.1:${gateway.port}`);
      return outcomeOf(suites, getResults());
    } finally {
      await gateway.stop();
    }
  } finally {
    origin.kill();
    await origin.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

function startEdge(origin: number): Promise<RunningCache> {
  return startGateway({
    config: { server: { workers: 2, cache: { enabled: true, default_ttl: "0s", max_entries: 10_000 } } },
    routes: [upstream("/", { url: `http://127.0.0.1:${origin}` })],
  });
}

function startOrigin(port: number, folder: string): Bun.Subprocess {
  return Bun.spawn([process.execPath, join(ROOT, "server", "server.mjs")], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      npm_config_protocol: "http",
      npm_config_port: String(port),
      npm_config_pidfile: join(folder, "pid"),
    },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
}

async function untilListening(port: number): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await Bun.sleep(20)) {
    const answer = await fetch(`http://127.0.0.1:${port}/state/none`).catch(() => null);
    if (answer !== null) return;
  }
  throw new Error("the suite's server did not start");
}

/** The suite as it is now, as far as it differs from npm's copy in what is required. */
async function amendedSuites(): Promise<Suite[]> {
  const suites = ((await import(join(ROOT, "tests", "index.mjs"))) as { default: Suite[] }).default;
  const ages = suites.find((suite) => suite.tests.some((test) => test.id === "age-parse-prefix"));
  for (const [id, age] of Object.entries(known.AGES_ADDED)) ages?.tests.push(ageTest(id, age));
  for (const [id, { fields, cached }] of Object.entries(known.CDN_ADDED)) ages?.tests.push(cdnTest(id, fields, cached));
  for (const test of suites.flatMap((suite) => suite.tests)) amend(test);
  return suites;
}

function amend(test: SuiteTest): void {
  const last = test.requests.at(-1);
  if (last === undefined) return;
  if (known.FRESH_SINCE_RFC_9111.includes(test.id)) last.expected_type = "cached";
  if (known.NOT_REQUIRED_SINCE.includes(test.id)) test.kind = "check";
  if (!known.ANY_ANSWER_BUT_STORED.includes(test.id)) return;
  delete last.expected_type;
  last.expected_status = 502;
  last.check_body = false;
  last.expected_response_headers_missing = ["server-request-count"];
}

function isOfCdn({ id, kind }: SuiteTest): boolean {
  return (kind ?? "required") === "required" && (id in known.CDN_ADDED || id.startsWith("cdn-"));
}

function ageTest(id: string, age: string): SuiteTest {
  const response_headers = [
    ["Date", 0],
    ["Cache-Control", "max-age=3600"],
    ["Age", age, false],
  ];
  return {
    id,
    name: `an answer of the age ${age} is stale`,
    requests: [{ response_headers, setup: true, pause_after: true }, { expected_type: "not_cached" }],
  };
}

function cdnTest(id: string, fields: readonly (readonly [string, string | number])[], cached: boolean): SuiteTest {
  // The suite looks for each field in the response, unless it is told not to: an age is the gateway's own.
  const response_headers = [["Date", 0], ...fields.map(([name, value]) => [name, value, false])];
  return {
    id,
    name: `CDN-Cache-Control: ${id}`,
    requests: [
      { response_headers, setup: true, pause_after: true },
      { expected_type: cached ? "cached" : "not_cached" },
    ],
  };
}

function outcomeOf(suites: readonly Suite[], results: Results): SuiteOutcome {
  const tests = suites.flatMap((suite) => suite.tests);
  const required = tests.filter((test) => (test.kind ?? "required") === "required");
  const optimal = tests.filter((test) => test.kind === "optimal");
  const failed = new Map<string, string>();
  for (const { id } of required) {
    const result = results[id];
    if (result !== true && !known.FOR_BROWSERS.includes(id)) failed.set(id, result?.join(": ") ?? "not run");
  }
  const passed = (list: readonly SuiteTest[]): number => list.filter(({ id }) => results[id] === true).length;
  return {
    required: required.length,
    passed: passed(required),
    cdn: required.filter(isOfCdn).length,
    cdnPassed: passed(required.filter(isOfCdn)),
    failed,
    optimal: optimal.length,
    optimalPassed: passed(optimal),
  };
}
