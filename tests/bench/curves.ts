// The curves of growth: of what there is more and more, and which request is asked meanwhile.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillCache } from "./fill-cache.ts";
import { openIdle } from "./idle.ts";
import type { Lab } from "./lab.ts";
import type { Ports } from "./peer-configs.ts";
import type { Scenario } from "./scenarios.ts";

/** A gateway with so many of something. */
export interface Grown {
  config(ports: Ports): string;
  readonly routes: string;
  /** The request, if it depends on how many there are. */
  readonly load?: Partial<Scenario>;
  /** What is done after the start. @returns what undoes it */
  fill?(ports: Ports): Promise<() => void>;
}

/** One curve. */
export interface Curve {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly load: Scenario;
  grow(count: number, lab: Lab): Grown;
}

const PROXIED: Scenario = { name: "growth", path: "/p/x", tool: "wrk", setting: "plain", peers: [] };
const MANY = [10, 100, 1_000, 10_000] as const;

/** All curves. */
export const CURVES: readonly Curve[] = [
  {
    name: "routes",
    sizes: [...MANY, 50_000],
    load: PROXIED,
    grow: (count, lab) => ({
      config,
      routes: lines(count, (i) => `- {type: upstream, prefix: /svc${i}, ${targetOf(lab)}}`),
      load: { path: `/svc${count - 1}/x` },
    }),
  },
  {
    name: "hosts",
    sizes: [...MANY, 50_000],
    load: PROXIED,
    grow: (count, lab) => ({
      config,
      routes: lines(count, (i) => `- {type: upstream, host: h${i}.test, prefix: /p, ${targetOf(lab)}}`),
      load: { fields: [`Host: h${count - 1}.test`] },
    }),
  },
  {
    name: "fields of a request",
    sizes: [1, 10, 50, 90],
    load: PROXIED,
    grow: (count, lab) => ({
      config,
      routes: route(lab),
      load: { fields: Array.from({ length: count }, (_, i) => `X-Field-${i}: value-${i}`) },
    }),
  },
  {
    name: "certificates",
    sizes: MANY,
    load: { ...PROXIED, path: "/health", tool: "ab", setting: "tls" },
    grow(count, lab) {
      const [cert, key] = [join(lab.dir, "cert.pem"), join(lab.dir, "key.pem")];
      const hosts = lines(count, (i) => `      - {names: [h${i}.test], cert_file: ${cert}, key_file: ${key}}`);
      return {
        config: (ports) => `${config(ports)}  tls:
    port: ${ports.tls}
    cert_file: ${cert}
    key_file: ${key}
    hosts:
${hosts}`,
        routes: route(lab),
      };
    },
  },
  {
    name: "rules of the firewall",
    sizes: [10, 100, 1_000],
    load: PROXIED,
    grow(count, lab) {
      const folder = join(lab.dir, "rules");
      mkdirSync(folder, { recursive: true });
      const rule = (i: number) => `SecRule ARGS "@contains attack-${i}" "id:${100_000 + i},phase:2,deny,status:403"`;
      writeFileSync(join(folder, "rules.conf"), lines(count, rule));
      return {
        config: (ports) =>
          `${config(ports)}  waf: {enabled: true, mode: enforce, rules: [${join(folder, "rules.conf")}]}\n`,
        routes: route(lab),
        load: { path: "/p/x?name=value&other=more" },
      };
    },
  },
  {
    name: "targets",
    sizes: [1, 10, 100, 1_000],
    load: PROXIED,
    grow: (count, lab) => ({
      config,
      routes: `- type: upstream\n  prefix: /p\n  targets:\n${lines(count, (i) => `    - url: "http://127.0.0.1:${lab.originPort}/t${i}"`)}`,
    }),
  },
  {
    name: "entries of the cache",
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    load: { ...PROXIED, path: "/c/many/0" },
    grow: (count, lab) => ({
      config: (ports) =>
        `${config(ports)}  cache: {enabled: true, cookies: bypass, max_bytes: 4000MiB, max_entries: ${count + 1_000}}\n`,
      routes: `- {type: upstream, prefix: /c, ${targetOf(lab)}}\n`,
      fill: async ({ http }) => {
        await fillCache(http, count);
        return () => {};
      },
    }),
  },
  {
    name: "idle connections",
    sizes: [10, 100, 1_000, 10_000, 20_000],
    load: PROXIED,
    grow: (count, lab) => ({ config, routes: route(lab), fill: ({ http }) => openIdle(http, count) }),
  },
];

function config({ http }: Ports): string {
  return `server:
  host: 127.0.0.1
  port: ${http}
  workers: 1
  access_log: {enabled: false}
`;
}

function route(lab: Lab): string {
  return `- {type: upstream, prefix: /p, ${targetOf(lab)}}\n`;
}

function targetOf(lab: Lab): string {
  return `target: "http://127.0.0.1:${lab.originPort}"`;
}

function lines(count: number, line: (index: number) => string): string {
  return `${Array.from({ length: count }, (_, i) => line(i)).join("\n")}\n`;
}
