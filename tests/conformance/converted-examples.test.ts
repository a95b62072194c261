// The examples of edge convert beside their own products: requests that those refuse are refused by what has become of them. Traefik is not
// packaged for the test machines: its examples are compared with its documentation alone. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { examples } from "../harness/conversions.ts";
import { adapted, wordsOf } from "./adapted-examples.ts";
import { isInstalled, type Opened, type Probe, runBeside } from "./refusal-run.ts";

/** Examples that no product takes on a test machine, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "nginx/included.conf": "it is of other files",
  "nginx/lua-and-modules.conf": "its modules are in no package",
  "nginx/stream-and-mail.conf": "its modules are in packages of their own",
  "nginx/quotes-and-comments.conf": "nginx takes no quote behind a quote",
  "caddy/blocks.caddyfile": "packaged versions have no {block}",
  "caddy/snippets.caddyfile": "packaged versions have no texts of several lines",
  "haproxy/tcp.cfg": "its streams listen where the other program does",
};

/** What is no refusal by a rule: the origin's answers, and counts of requests. */
const BY_RULE: ReadonlySet<number> = new Set([0, 401, 403, 404, 405]);
/** The folder has no index.php, which nginx looks for there; the gateway sends index.html, which nginx sends by its name. */
const OF_FOLDERS: ReadonlySet<string> = new Set(["nginx/wordpress.conf /", "nginx/wordpress.conf /."]);

const WAYS: readonly Pick<Probe, "method" | "fields">[] = [
  { method: "GET", fields: [] },
  { method: "POST", fields: [] },
  { method: "DELETE", fields: ["X-Key: 1", "User-Agent: badbot"] },
];

function probesOf(text: string): Probe[] {
  const { paths, hosts } = wordsOf(text);
  return hosts.flatMap((host) => paths.flatMap((target) => WAYS.map((way) => ({ ...way, host, target }))));
}

describe.each(["nginx", "caddy", "haproxy"] as const)("examples of %s", (product) => {
  const isThere = isInstalled(product);
  for (const example of examples(product)) {
    const name = basename(example.path);
    const why = LEFT_OUT[`${product}/${name}`];
    if (why !== undefined) console.log(`skipped: ${product}/${name}: ${why}`);
    test.skipIf(!isThere || why !== undefined)(
      name,
      async () => {
        const { opened, isWellFormed, routes } = await runBeside(product, adapted(example), probesOf(example.text));
        if (!isWellFormed) throw new Error(`${product} does not take it: ${routes}`);
        const isOpened = ({ there, probe }: Opened): boolean =>
          BY_RULE.has(there) && !OF_FOLDERS.has(`${product}/${name} ${probe.target}`);
        expect(opened.filter(isOpened)).toEqual([]);
      },
      120_000,
    );
  }
});
