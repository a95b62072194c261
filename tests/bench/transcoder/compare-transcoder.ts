// Calls a second: REST through the gateway's transcoder beside a plain connect-node client, to one gRPC server, by turns in one
// run; and beside grpc-gateway, where Go and protoc can be had. usage: scripts/compare-transcoder [seconds a turn] [calls at one time]
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { frameMessage } from "../../../src/proto/grpc/message-frames.ts";
import { buildGoShop, GoShop } from "../../conformance/go-shop.ts";
import { startGateway, upstream } from "../../harness/gateway.ts";
import { GrpcShop, SHOP, SHOP_FILE } from "../../harness/grpc-shop.ts";
import { readWrk } from "../load-tools.ts";
import { cpuSeconds } from "../process-stats.ts";
import { buildGrpcGateway, GrpcGateway } from "./grpc-gateway.ts";

const ROUNDS = 3;
const [seconds = 3, concurrency = 32] = process.argv.slice(2).map(Number);
const binary = await buildGoShop();
const server = binary === null ? await GrpcShop.start() : await GoShop.start(binary, "none");
const gateway = await startGateway({
  config: {
    server: { access_log: { enabled: false } },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [
        {
          http_method: "GET",
          http_path: "/v1/items/:id",
          grpc_method: "/shop.Shop/GetItem",
          upstream_url: server.url,
        },
      ],
    },
  },
  routes: [
    upstream("/shop.Shop", { url: server.url.replace("http:", "h2c:") }, { strip_prefix: false, grpc_web: true }),
  ],
});
const type = SHOP.registry.getMessage("shop.ItemRequest")!;
const client = createClient(
  SHOP.registry.getService("shop.Shop")!,
  createGrpcTransport({ baseUrl: server.url }),
) as unknown as {
  getItem(message: unknown): Promise<unknown>;
};
const path = "/v1/items/7?page_size=3&tags=a";
const rival = binary === null ? null : await buildGrpcGateway();
const grpcGateway = rival === null ? null : await GrpcGateway.start(rival, new URL(server.url).host);
const url = `http://127.0.0.1:${gateway.port}${path}`;

/** One way to call the method. */
interface Side {
  readonly name: string;
  /** What is being measured, where it is a process of its own. */
  readonly pid: number | null;
  /** @returns calls a second */
  run(): Promise<number>;
}
const message = { id: "7", pageSize: 3, tags: ["a"] };
const sides: Side[] = [
  {
    name: "connect-node, straight",
    pid: null,
    run: () => callsPerSecond(() => client.getItem(fromJson(type, message))),
  },
  {
    name: "edge, REST by fetch",
    pid: gateway.pid,
    run: () => callsPerSecond(() => fetch(url).then((reply) => reply.json())),
  },
];
if (Bun.which("wrk") === null) console.log("skipped: REST by wrk needs wrk (scripts/install-peers)");
else {
  sides.push({ name: "edge, REST by wrk", pid: gateway.pid, run: () => wrk(gateway.port) });
  sides.push({ name: "edge, gRPC-Web by wrk", pid: gateway.pid, run: () => wrk(gateway.port, webScript()) });
  if (grpcGateway !== null) {
    sides.push({ name: "grpc-gateway, REST by wrk", pid: grpcGateway.pid, run: () => wrk(grpcGateway.port) });
  }
}

const best = new Map<Side, { rate: number; cpuMicros: number }>();
for (let round = 0; round < ROUNDS; round++) {
  for (const side of sides) {
    const cpuFrom = side.pid === null ? 0 : cpuSeconds([side.pid]);
    const from = performance.now();
    const rate = await side.run();
    const calls = (rate * (performance.now() - from)) / 1000;
    const cpuMicros = side.pid === null ? 0 : ((cpuSeconds([side.pid]) - cpuFrom) * 1e6) / calls;
    if (rate > (best.get(side)?.rate ?? 0)) best.set(side, { rate, cpuMicros });
  }
}
console.log(
  `gRPC server: ${binary === null ? "@grpc/grpc-js" : "gRPC for Go"}; ${concurrency} calls at one time, one worker\n`,
);
console.log("| client | unary calls per second | CPU µs a call | to connect-node | to grpc-gateway |");
console.log("|---|---:|---:|---:|---:|");
const rateOf = (name: string) => [...best].find(([side]) => side.name.startsWith(name))?.[1].rate;
for (const [{ name }, { rate, cpuMicros }] of best) {
  const ratio = (other: number | undefined) => (other === undefined ? "-" : (rate / other).toFixed(2));
  const toOthers = [ratio(rateOf("connect-node")), name.endsWith("wrk") ? ratio(rateOf("grpc-gateway")) : "-"];
  const cells = [name, Math.round(rate), cpuMicros === 0 ? "-" : cpuMicros.toFixed(0), ...toOthers];
  console.log(`| ${cells.join(" | ")} |`);
}
grpcGateway?.stop();
server.stop();
await gateway.stop();
process.exit(0);

/** Keeps so many calls under way for the time of a turn. */
async function callsPerSecond(call: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < concurrency; i++) await call();
  let calls = 0;
  const from = performance.now();
  const until = from + seconds * 1000;
  const loop = async (): Promise<void> => {
    while (performance.now() < until) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return (calls / (performance.now() - from)) * 1000;
}

/** The same from outside, where the client costs next to nothing. @param script says what is sent; without one it is a GET */
async function wrk(port: number, script: readonly string[] = []): Promise<number> {
  const target = `http://127.0.0.1:${port}${path}`;
  const run = Bun.spawn(
    ["wrk", "-t1", `-c${concurrency}`, `-d${Math.ceil(seconds)}s`, "--latency", ...script, target],
    { stdout: "pipe", stderr: "inherit" },
  );
  const load = readWrk(await run.stdout.text());
  if (load.errors > 0) throw new Error(`${load.errors} calls through port ${port} have failed`);
  return load.requestsPerSecond;
}

/** The options by which wrk calls the same method by gRPC-Web. */
function webScript(): string[] {
  const file = join(mkdtempSync(join(tmpdir(), "edge-grpc-web-")), "call.lua");
  process.on("exit", () => rmSync(dirname(file), { recursive: true, force: true }));
  const frame = frameMessage(toBinary(type, fromJson(type, message)));
  const bytes = [...frame].map((byte) => `\\${String(byte).padStart(3, "0")}`).join("");
  const lines = [
    'wrk.method = "POST"',
    'wrk.path = "/shop.Shop/GetItem"',
    'wrk.headers["Content-Type"] = "application/grpc-web+proto"',
    `wrk.body = "${bytes}"`,
  ];
  writeFileSync(file, lines.join("\n"));
  return ["-s", file];
}
