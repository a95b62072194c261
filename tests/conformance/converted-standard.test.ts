// Directives of HAProxy that edge convert says to need no setting: with a value that is not the default, both answer alike. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { planOf } from "../../src/tools/convert/convert.ts";
import { isInstalled, probesFor, runBeside } from "./refusal-run.ts";

/** THE lines that are said to need nothing, with values that are not the defaults, by the section that they are in. */
const LINES = {
  global: [
    "log 127.0.0.1:9 local7 err",
    "log-tag other",
    "spread-checks 40",
    "hard-stop-after 7s",
    'description "a test"',
  ],
  defaults: [
    "mode http",
    "option forwardfor",
    "option http-server-close",
    "option http-keep-alive",
    "option httplog",
    "option dontlognull",
    "option dontlog-normal",
    "option log-health-checks",
    "option log-separate-errors",
    "option redispatch",
    "option tcpka",
    "option clitcpka",
    "option srvtcpka",
    "option prefer-last-server",
    "option contstats",
    "option socket-stats",
    "timeout queue 3s",
    "timeout tunnel 9m",
    "timeout client-fin 2s",
    "timeout server-fin 2s",
    "timeout check 3s",
    "timeout tarpit 4s",
  ],
  frontend: ["log global", "log-tag third", "id 77", "backlog 33", 'description "front"'],
  backend: ["fullconn 12", "id 78"],
} as const;

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join("\n");
const TIMES = ["timeout connect 5s", "timeout client 10s", "timeout server 10s"];
const TEXT = `global
${indented(LINES.global)}
defaults
${indented([...TIMES, ...LINES.defaults])}
frontend f
  bind 127.0.0.1:PORT
${indented(LINES.frontend)}
  http-request deny if { path /b }
  default_backend b
backend b
${indented(LINES.backend)}
  server s 127.0.0.1:ORIGIN
`;

describe.skipIf(!isInstalled("haproxy"))("HAProxy", () => {
  test("answers alike with all of them", async () => {
    const { differs, isWellFormed, routes } = await runBeside("haproxy", TEXT, probesFor(["h.test"]), true);
    expect({ isWellFormed, routes: isWellFormed ? "" : routes }).toEqual({ isWellFormed: true, routes: "" });
    // Dots and slashes that HAProxy leaves in a path, the gateway resolves before it looks for a route.
    expect(differs.filter(({ probe }) => !/\/\/|\.\.|\/\.\/|%|^\/b\//.test(probe.target))).toEqual([]);
  });
});

test("they are the lines that need no setting, and no other value of theirs does", () => {
  const { ledger } = planOf("haproxy", "x", TEXT.replace(/PORT|ORIGIN/g, "80"));
  const standard = ledger.account().flatMap(({ statement, fate }) => (fate === "standard" ? [statement] : []));
  const words = standard.flatMap(({ name, args }) =>
    name === "global" || name === "defaults" ? [] : [[name, ...args].join(" ")],
  );
  const all = Object.values(LINES)
    .flat()
    .map((line) => line.replaceAll('"', ""));
  expect(words.sort()).toEqual([...all].sort());
  const others = [
    "option forwardfor except 10.0.0.0/8",
    "option forwardfor if-none",
    "option forwardfor header X-Client",
    "option originalto",
    "option http-buffer-request",
    "option abortonclose",
    "unique-id-header X-Id",
    "maxconn 3",
  ];
  for (const line of others) {
    const { ledger: own } = planOf(
      "haproxy",
      "x",
      `defaults\n  mode http\nfrontend f\n  bind :80\n  ${line}\n  default_backend b\nbackend b\n  server s h:1\n`,
    );
    const found = own.account().find(({ statement }) => [statement.name, ...statement.args].join(" ") === line);
    expect({ line, fate: found?.fate }).toEqual({ line, fate: "noted" });
  }
});
