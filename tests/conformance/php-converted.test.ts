// Sites with scripts, converted, beside the gateway that they were written for and before the same php-fpm. docs/php.md#moving-here
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { convert } from "../harness/conversions.ts";
import { type Gateway, type Settings, startGateway } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { exchangeOnce, type Reply, request } from "../harness/raw-client.ts";
import { findPhpFpm, startPhpFpm } from "./php-fpm.ts";
import { PHP_SCENARIOS, type PhpScenario } from "./php-scenarios.ts";

const PATH = `${process.env.PATH}:/usr/sbin`;
const COMMANDS = { nginx: ["-c"], caddy: ["run", "--adapter", "caddyfile", "--config"] } as const;
const fpm = IS_LONG ? findPhpFpm() : null;

let folder = "";
let php: Awaited<ReturnType<typeof startPhpFpm>> | null = null;

beforeAll(async () => {
  if (fpm === null) return;
  folder = realpathSync(mkdtempSync(join(tmpdir(), "edge-php-converted-")));
  chmodSync(folder, 0o755);
  writeSite(join(folder, "site"));
  php = await startPhpFpm(fpm, folder);
});
afterAll(async () => {
  await php?.server.stop();
  if (folder !== "") rmSync(folder, { recursive: true, force: true });
});

for (const scenario of PHP_SCENARIOS) {
  const command = Bun.which(scenario.product, { PATH });
  describe.skipIf(fpm === null || command === null)(`${scenario.product}: ${scenario.name}`, () => {
    const { ports, start, stop } = sideBySide(scenario, command ?? "");
    beforeAll(start);
    afterAll(stop);
    for (const one of scenario.requests)
      test(one, async () => {
        const [method, path, body] = / /.test(one) ? one.split(" ") : ["GET", one];
        const lines = body === undefined ? [] : ["Content-Type: application/x-www-form-urlencoded"];
        const bytes = request(`${method} ${path}`, lines, body);
        const replies = ports().map((port) => exchangeOnce(port, bytes, method));
        const [ours, theirs] = (await Promise.all(replies)) as [Reply, Reply];
        expect(comparable(ours)).toEqual(comparable(theirs));
      });
    for (const path of scenario.closed ?? [])
      test(`${path} is refused`, async () => {
        expect(comparable(await exchangeOnce(ports()[0]!, request(`GET ${path}`), "GET"))).toMatchObject({
          status: "refused",
        });
      });
  });
}

function sideBySide({ product, text }: PhpScenario, command: string) {
  let peer: ServerProcess | null = null;
  let gateway: Gateway | null = null;
  let port = 0;
  return {
    ports: () => [gateway!.port, port],
    async start(): Promise<void> {
      port = freePorts(1)[0]!;
      const own = mkdtempSync(join(folder, "peer-"));
      chmodSync(own, 0o755);
      const words = { PORT: String(port), SITE: join(folder, "site"), FOLDER: own, SOCKET: php!.socket };
      const whole = text.replace(/\b(PORT|SITE|FOLDER)\b|SOCKET/g, (word) => words[word as keyof typeof words]);
      const file = join(own, { nginx: "nginx.conf", caddy: "Caddyfile" }[product]);
      writeFileSync(file, whole);
      peer = new ServerProcess([command, ...COMMANDS[product], file], own, join(own, "peer.log"));
      const { code, config, routes, err } = convert(product, basename(file), whole);
      if (process.env.SHOW_CONVERTED !== undefined) console.log(routes);
      expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
      if (!(await peer.isReady(port, "/"))) throw new Error(`${product} did not start: ${peer.lastWords()}`);
      const { server, ...sections } = parse(config) as Settings;
      const { port: _port, host: _host, access_log: _log, ...rest } = server as Settings;
      gateway = await startGateway({
        config: { server: rest, ...sections },
        routes: (parse(routes) as { routes: Settings[] }).routes,
      });
    },
    async stop(): Promise<void> {
      await gateway?.stop();
      await peer?.stop();
    },
  };
}

/** What a client has of a response: fields that matter, what the script saw, or the file. */
function comparable({ status, fields, text }: Reply): object {
  const location = fields.all("location").map((to) => to.replace(/^http:\/\/gw\.test(:\d+)?\//, "/"));
  const isOfScript = fields.has("x-powered-by") || text.startsWith('{"file"');
  // Pages of errors and redirects are each gateway's own, and a refusal is 403 or 404.
  if (status !== 200 && !isOfScript) return { status: status === 403 || status === 404 ? "refused" : status, location };
  const kept = ["x-frame-options", "x-robots-tag", "x-powered-by"].map((name) => [name, fields.all(name)]);
  return { status, location, fields: Object.fromEntries(kept), body: text };
}

const SCRIPT = `<?php header("Content-Type: application/json");
$seen = ["SCRIPT_NAME", "SCRIPT_FILENAME", "PATH_INFO", "QUERY_STRING", "REQUEST_URI", "REQUEST_METHOD", "CONTENT_TYPE", "DOCUMENT_ROOT"];
$server = [];
foreach ($seen as $name) $server[$name] = $_SERVER[$name] ?? "";
echo json_encode(["file" => basename(__FILE__), "server" => $server, "get" => $_GET, "post" => $_POST]);
`;

function writeSite(root: string): void {
  const files: Readonly<Record<string, string>> = {
    "index.php": SCRIPT,
    "remote.php": SCRIPT,
    "xmlrpc.php": SCRIPT,
    "admin/index.php": SCRIPT,
    "admin/ajax.php": SCRIPT,
    "vendor/tool.php": SCRIPT,
    "content/uploads/shell.php": SCRIPT,
    "content/uploads/picture.gif": "GIF89a",
    "config/config.php": SCRIPT,
    "data/secret.txt": "secret",
    "sites/a/private/x": "secret",
    "folder/index.html": "<p>page</p>",
    "style.css": "p { color: red }",
    "robots.txt": "User-agent: *",
    "notes.txt": "notes",
    occ: "secret",
    ".env": "secret",
    ".git/config": "secret",
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), content);
  }
}
