import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DryRun } from "../../../src/explain/dry-run.ts";
import { END_TAP_ROWS, HEAD_TAP_ROWS, PHASE_ROWS, type TapRow } from "../../../src/worker/phase-rows.ts";
import { AT_THE_END, WAY_DOWN, WAY_UP } from "../../../src/worker/pipeline.ts";
import { loadCase } from "../loading/config-case.ts";

// The order of phases is that of pipeline.ts: `scripts/reference` writes it, and what the rows say, into these papers.
const ROOT = join(import.meta.dir, "../../..");

/** What stands between two marks of a paper, the first of its place on. */
type Place = readonly [after: string, until: string, text: () => string];

const TABLE_END = "\n\n";
const PAPERS: Readonly<Record<string, readonly Place[]>> = {
  "docs/phases.md": [
    [
      "| # | phase | needs | reads | sets | can end with |\n|---|---|---|---|---|---|\n",
      TABLE_END,
      () => rows(WAY_DOWN.map((name, i) => [String(i + 1), `\`${name}\``, ...cellsOf(name)])),
    ],
    [
      "## Why in this order\n\n",
      "## The way up",
      () => WAY_DOWN.map((name) => `- **\`${name}\`**: ${lowerFirst(PHASE_ROWS[name].why)}\n`).join("") + "\n",
    ],
    ["| tap | needs | does |\n|---|---|---|\n", TABLE_END, () => tapRows(WAY_UP, HEAD_TAP_ROWS)],
    ["| end tap | needs | does |\n|---|---|---|\n", TABLE_END, () => tapRows(AT_THE_END, END_TAP_ROWS)],
  ],
  "ARCHITECTURE.md": [["## A request's way\n\n```\n", "```\n\n[docs/phases.md]", wayPicture]],
};

describe.each(Object.entries(PAPERS))("%s", (paper, places) => {
  test("has the order of pipeline.ts and what the rows say; scripts/reference writes them", () => {
    const file = join(ROOT, paper);
    const expected = places.reduce(filledIn, readFileSync(file, "utf8"));
    if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(file, expected);
    expect(readFileSync(file, "utf8")).toBe(expected);
  });
});

test("a cell of a row is a cell of the table: no text breaks out of it", () => {
  const texts = [...Object.values(PHASE_ROWS), ...Object.values(HEAD_TAP_ROWS), ...Object.values(END_TAP_ROWS)];
  expect(texts.flatMap((row) => Object.values(row)).filter((text) => /[|\n]/.test(text))).toEqual([]);
  expect(WAY_DOWN.filter((name) => PHASE_ROWS[name].why === "")).toEqual([]);
});

test("phases have the names of the table, and a request passes them in its order", () => {
  const loaded = loadCase({
    name: "all phases",
    config: `server:
  trusted_proxies: [10.0.0.0/8]
  pass_identity_headers: [X-HTTP-Method-Override]
  ip_rules: {deny: [192.0.2.0/24]}
  waf: {enabled: true, mode: enforce}
  cors: {enabled: true, allowed_origins: ["https://a.test"]}
  rate_limit: {enabled: true, requests: 100}
  compression: {enabled: true}
  cache: {enabled: true, cookies: bypass}
  bans: {for: 1h}
  bots: {enabled: true}
  agents: {enabled: true}
  overload: {cpu: 0.9}
  security_headers: {enabled: true}
  allowed_methods: [GET, POST]
telemetry: {enabled: true, otlp: {endpoint: "http://10.0.0.6:4318"}}
`,
    routes: `- type: upstream
  prefix: /a
  target: "http://10.0.0.5:8000"
  ip_rules: {allow: [10.0.0.0/8]}
  headers: {response: {set: {X-From: "{client_ip}"}}}
  maintenance: {allow: [10.0.0.0/8]}
  bots: {enabled: false}
  concurrency: {limit: 5}
  waiting_room: {active: 5}
  limit_rate: 1MiB
- {type: respond, path: /exact, body: x, ssi: true}
`,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const dry = new DryRun(loaded.config);
  const body = Buffer.from("a=b");
  const head = Buffer.from("POST /a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
  const { phases } = dry.run({ head, body, tls: false, clientIp: "10.0.0.7" });
  const names = phases.map(({ name }) => name);
  const others = [
    "passedNames",
    "hostDemands",
    "httpsRedirect",
    "auth",
    "userRateLimit",
    "userShedding",
    "errorPages",
    "responseRules",
    "hooks",
  ];
  expect(names as string[]).toEqual(WAY_DOWN.filter((name) => !others.includes(name)));
});

function cellsOf(name: (typeof WAY_DOWN)[number]): string[] {
  const { needs, reads, sets, ends } = PHASE_ROWS[name];
  return [needs, reads, sets, ends];
}

function tapRows<T extends string>(names: readonly T[], table: Readonly<Record<T, TapRow>>): string {
  return rows(names.map((name) => [`\`${name}\``, table[name].needs, table[name].does]));
}

function rows(cells: readonly (readonly string[])[]): string {
  return cells.map((row) => `|${row.map((cell) => (cell === "" ? " " : ` ${cell} `)).join("|")}|`).join("\n");
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function filledIn(page: string, [after, until, text]: Place): string {
  const from = page.indexOf(after);
  // The last line end before rows that are not there yet is a part of both marks.
  const to = page.indexOf(until, from + after.length - 1);
  if (from < 0 || to < 0) throw new Error(`there is no place for what follows ${JSON.stringify(after)}`);
  return page.slice(0, from + after.length) + text() + page.slice(to);
}

/** The way of a request through all phases, at most WIDTH columns wide. */
function wayPicture(): string {
  return [
    "socket data ─▶ InputBuffer ─▶ RequestParser ─▶ Exchange ─▶ Pipeline",
    ...wrapped(WAY_DOWN, " → ", " ─▶ Handler"),
    "",
    "SocketWriter ◀─ response encoder ◀─ ResponseSink (one a protocol) ◀── fixed │ head, body…, end │ abort(fault)",
    "  taps of the head, in this order:",
    ...wrapped(WAY_UP, " → ", ""),
    "  taps at the end:",
    ...wrapped(AT_THE_END, " → ", ""),
    "",
  ].join("\n");
}

function wrapped(names: readonly string[], arrow: string, end: string): string[] {
  const lines = [`  ${names[0]}`];
  for (const name of names.slice(1)) {
    const longer = `${lines.at(-1)}${arrow}${name}`;
    if (longer.length <= WIDTH) lines[lines.length - 1] = longer;
    else lines.push(`   ${arrow}${name}`);
  }
  lines.push(lines.pop()! + end);
  return lines;
}

const WIDTH = 120;
