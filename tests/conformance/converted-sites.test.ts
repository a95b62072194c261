// Generated sites of nginx, Caddy and HAProxy, beside what edge convert makes of them: a site of which no line is noted gives the same responses, and
// its origin gets the same requests. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { IS_LONG } from "../harness/long-lane.ts";
import { RawClient, type Reply, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { sitesFile, type Written } from "./converted-sites.ts";
import { isInstalled, startBeside } from "./refusal-run.ts";

/** Sites of one file, and files of each product: in the long lane others each time. */
const SITES = IS_LONG ? 30 : 6;
const FILES = IS_LONG ? Number(process.env.EDGE_TEST_ROUNDS ?? 10) : 1;
const SEED = Number(process.env.EDGE_SITES_SEED ?? (IS_LONG ? Date.now() % 1_000_000 : 1));
const LIMIT_MS = 300_000;
const SHOWN = 3;

const HOSTS = Array.from({ length: SITES }, (_, i) => `h${i}.test`);
/** Whether a place with a slash at its end takes its path without one is each gateway's own: docs/migrate.md. */
const PATHS = ["/", "/a/", "/a/b", "/a/x", "/a/z.php", "/b/c", "/pub/x", "/c.php", "/none"];
const WAYS: readonly (readonly [method: string, query: string, fields: readonly string[]])[] = [
  ["GET", "", []],
  ["POST", "", []],
  ["GET", "?k=1", ["X-Key: 1"]],
  ["GET", "", ["X-Key: 2", "Cookie: k=1"]],
];

/** What takes a request that nothing of a site is for: an empty 200 of Caddy, 503 of HAProxy, 404 here. */
const NOTHING: Readonly<Record<Written, string>> = {
  nginx: "",
  caddy: '{"status":200,"fields":[],"body":""}',
  haproxy: "",
};

/** No file, as each gateway says it; Caddy answers a path below a file with 400. */
const NO_FILE = /^\{"status":40[0345],/;

const PRODUCTS: readonly Written[] = ["nginx", "caddy", "haproxy"];
for (const product of PRODUCTS)
  describe.skipIf(!isInstalled(product))(product, () => {
    for (let file = 0; file < FILES; file++)
      test(`sites ${SEED + file}`, () => isTheSame(product, SEED + file), LIMIT_MS);
  });

/** Asserts that a file's sites answer alike, apart from those that convert has noted. */
async function isTheSame(product: Written, seed: number): Promise<void> {
  const { text, lines } = sitesFile(product, HOSTS, new SeededRandom(seed));
  const origin = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: echo });
  try {
    const both = await startBeside(product, text, origin.port!);
    if (typeof both === "string") throw new Error(`${product} does not take sites ${seed}: ${both}\n${text}`);
    const noted = [...both.routes.matchAll(/^# \| \S*?:(\d+) \|/gm)].map(([, line]) => Number(line));
    const wrong: string[] = [];
    let compared = 0;
    try {
      for (const [i, host] of HOSTS.entries()) {
        const [from, to] = lines[i]!;
        if (noted.some((line) => line >= from && line <= to)) continue;
        compared++;
        const clients = { there: new KeptClient(both.port), here: new KeptClient(both.gateway.port) };
        for (const path of PATHS)
          for (const [method, query, fields] of WAYS) {
            const asked = request(`${method} ${path}${query}`, [`Host: ${host}`, ...fields]);
            const there = shown(await clients.there.exchange(asked), both.port);
            const here = shown(await clients.here.exchange(asked), both.gateway.port);
            const site = text
              .split("\n")
              .slice(from - 1, to)
              .join("\n");
            // What is no file is 403, 404, 405, or led to its slash, as each gateway has it.
            const isNoFile = (one: string): boolean => NO_FILE.test(one) || one.includes(`"location: ${path}/`);
            const isPosted = method === "POST" && there.includes('"body":"file ') && here.startsWith('{"status":405,');
            if (isPosted || (site.includes("SITE") && isNoFile(there) && isNoFile(here))) continue;
            if (there === here || (there === NOTHING[product] && here.includes('"status":404'))) continue;
            wrong.push(
              `${method} ${path}${query} ${fields.join(", ")}\n  ${product} ${there}\n  edge ${here}\n${site}`,
            );
          }
        for (const client of Object.values(clients)) client.close();
      }
    } finally {
      await both.stop();
    }
    if (process.env.EDGE_SITES_SHOWN !== undefined)
      console.log(`${product}: ${compared} of ${SITES} sites without a note, ${wrong.length} differences`);
    const bySite = [...Map.groupBy(wrong, (one) => one.split("\n").slice(3).join("\n")).values()].map(
      ([first]) => first,
    );
    expect(bySite.slice(0, SHOWN).join("\n\n")).toBe("");
    expect(compared).toBeGreaterThan(0);
  } finally {
    origin.stop(true);
  }
}

/** A connection for many requests, and another one if it was closed behind the last. */
class KeptClient {
  private client: RawClient | null = null;
  constructor(private readonly port: number) {}

  async exchange(asked: Buffer): Promise<Reply> {
    if (this.client !== null)
      try {
        return await this.client.exchange(asked);
      } catch {
        this.client.close();
      }
    this.client = await RawClient.connect(this.port);
    return this.client.exchange(asked);
  }

  close(): void {
    this.client?.close();
  }
}

/** Says what it was asked. */
function echo(asked: Request): Response {
  const { pathname, search } = new URL(asked.url);
  const names = ["x-set", "x-key", "x-real", "x-wide", "cookie"];
  const fields = names.flatMap((name) => (asked.headers.has(name) ? [`${name}: ${asked.headers.get(name)}`] : []));
  const text = JSON.stringify({ method: asked.method, target: `${pathname}${search}`, fields });
  return new Response(text, { headers: { "X-Own": "own", "X-Origin": "1" } });
}

/** A response in words that all gateways have. */
function shown({ status, fields, text }: Reply, port: number): string {
  const own = ["x-own", "x-added", "x-down", "x-wide", "location"].flatMap((name) => {
    const value = fields.get(name);
    // nginx makes its own redirects absolute.
    return value === null || value === undefined
      ? []
      : [`${name}: ${value.replace(RegExp(`^http://[a-z0-9.]+:${port}(?=/)`), "")}`];
  });
  // Pages of errors and redirects are each gateway's own.
  const isOrigin = fields.get("x-origin") === "1";
  return JSON.stringify({ status, fields: status < 400 ? own.sort() : [], body: status < 300 || isOrigin ? text : "" });
}
