import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { conversionOf } from "./fixtures.ts";

const EDGE = process.env.EDGE_BINARY ?? resolve(import.meta.dir, "..", "..", "..", "edge");
const START_MS = 10_000;
const REQUEST_MS = 5000;
/** The ports of all integration tests. */
const PORTS = /\b(9080|9443)\b/;

/** What came of an assertion of an integration test. */
export interface Assertion {
  readonly test: string;
  readonly line: string;
  readonly outcome: "passed" | "failed" | "closed" | "not reached";
  readonly said: string;
  /** Directives of the test that `edge convert` noted. */
  readonly names: readonly string[];
}

/** A request that a test makes with a text of its own, and what is expected. */
interface Expected {
  readonly line: string;
  readonly url: string;
  readonly status: number;
  /** Null if only the status counts. */
  readonly body: string | null;
  readonly location: string | null;
}

/** Runs the integration tests that give a Caddyfile and then ask for addresses; what they do in Go beyond that is left out. */
export async function runIntegration(checkout: string): Promise<Assertion[]> {
  const folder = join(checkout, "caddytest", "integration");
  const scratch = mkdtempSync(join(tmpdir(), "edge-caddy-suite-"));
  const all: Assertion[] = [];
  try {
    for (const file of readdirSync(folder)
      .filter((name) => name.endsWith("_test.go"))
      .toSorted())
      for (const text of readFileSync(join(folder, file), "utf8")
        .split(/^(?=func Test)/m)
        .slice(1)) {
        const test = /^func (\w+)/.exec(text)![1]!;
        const [, caddyfile, rest = ""] = /\.InitServer\(\s*`([^`]*)`,\s*"caddyfile"\)(.*)$/s.exec(text) ?? [];
        const expected = expectationsOf(rest);
        if (caddyfile !== undefined && expected.length > 0 && PORTS.test(caddyfile))
          all.push(...(await outcomesOf(test, caddyfile, expected, scratch)));
      }
    return all;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const TEXT = String.raw`("(?:[^"\\]|\\.)*"|${"`"}[^${"`"}]*${"`"})`;
const CALLS: readonly (readonly [RegExp, (words: readonly string[]) => Omit<Expected, "line">])[] = [
  [
    new RegExp(String.raw`AssertGetResponse\(${TEXT}, (\d+), ${TEXT}\)`, "g"),
    ([url = "", status, body = ""]) => ({
      url: textOf(url),
      status: Number(status),
      body: textOf(body),
      location: null,
    }),
  ],
  [
    new RegExp(String.raw`AssertRedirect\(${TEXT}, ${TEXT}, (\d+|http\.\w+)\)`, "g"),
    ([url = "", location = "", status = ""]) => ({
      url: textOf(url),
      status: STATUSES[status] ?? Number(status),
      body: null,
      location: textOf(location),
    }),
  ],
];
const STATUSES: Readonly<Record<string, number>> = { "http.StatusPermanentRedirect": 308 };

function textOf(literal: string): string {
  return literal.startsWith("`") ? literal.slice(1, -1) : (JSON.parse(literal) as string);
}

/** The assertions of a test, in the order in which it makes them. */
function expectationsOf(text: string): Expected[] {
  const found = CALLS.flatMap(([call, made]) =>
    [...text.matchAll(call)].map((match) => ({ at: match.index, line: match[0], ...made(match.slice(1)) })),
  );
  return found.toSorted((a, b) => a.at - b.at);
}

async function outcomesOf(
  test: string,
  caddyfile: string,
  expected: readonly Expected[],
  scratch: string,
): Promise<Assertion[]> {
  const { config, names, fault } = conversionOf(caddyfile, scratch);
  const notReached = (said: string): Assertion[] =>
    expected.map(({ line }) => ({ test, line, outcome: "not reached", said, names }));
  if (fault !== "") return notReached(fault.split("\n")[0]!);
  const gateway = Bun.spawn([EDGE, "serve", "--config", config, "--log-format", "json"], {
    stdout: "pipe",
    stderr: "ignore",
    env: { ...process.env, EDGE_STATE_DIR: scratch },
  });
  try {
    if (!(await isListening(gateway))) return notReached("the gateway did not start");
    const made: Assertion[] = [];
    for (const one of expected) made.push({ test, line: one.line, names, ...(await asked(one)) });
    return made;
  } finally {
    gateway.kill("SIGTERM");
    gateway.kill("SIGTERM");
    await gateway.exited;
  }
}

/** Whether the gateway said so in time. */
async function isListening(gateway: Bun.Subprocess<"ignore", "pipe", "ignore">): Promise<boolean> {
  const timer = setTimeout(() => gateway.kill("SIGKILL"), START_MS);
  const reader = gateway.stdout.getReader();
  const decoder = new TextDecoder();
  try {
    for (let log = ""; !log.includes('"event":"listening"'); ) {
      const { value, done } = await reader.read();
      if (done) return false;
      log += decoder.decode(value, { stream: true });
    }
    return true;
  } finally {
    clearTimeout(timer);
    reader.releaseLock();
  }
}

async function asked({ url, status, body, location }: Expected): Promise<Pick<Assertion, "outcome" | "said">> {
  try {
    const { host, protocol, port, pathname, search, hostname } = new URL(url);
    const response = await fetch(`${protocol}//127.0.0.1:${port}${pathname}${search}`, {
      headers: { Host: host },
      redirect: location === null ? "follow" : "manual",
      signal: AbortSignal.timeout(REQUEST_MS),
      tls: { rejectUnauthorized: false, serverName: hostname },
    });
    const text = await response.text();
    const place = response.headers.get("location");
    const isPassed =
      response.status === status && (body === null || text === body) && (location === null || place === location);
    if (isPassed) return { outcome: "passed", said: "" };
    if (text.includes("This address is not set up yet.") || text.includes("not allowed from this address"))
      return { outcome: "closed", said: "" };
    return { outcome: "failed", said: `${response.status} ${place ?? JSON.stringify(text.slice(0, 60))}` };
  } catch (error) {
    return { outcome: "failed", said: String(error) };
  }
}
