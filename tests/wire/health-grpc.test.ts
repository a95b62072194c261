// docs/upstreams.md#health-checks
import { afterAll, describe, expect, test } from "bun:test";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

/** How a server responds to the question for its health. */
type Mood = "serving" | "not_serving" | "unimplemented" | "huge" | "silent" | "resets";

/** A server of HTTP/2 with a name, that takes every other request. */
class HealthOrigin {
  mood: Mood = "serving";
  asked: Record<string, unknown>[] = [];
  private readonly server = createServer();

  constructor(readonly name: string) {
    this.server.on("session", (session) => session.on("error", () => {}));
    this.server.on("stream", (stream, fields) => this.take(stream as ServerHttp2Stream, fields));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `h2c://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
  }

  private take(stream: ServerHttp2Stream, fields: Record<string, unknown>): void {
    stream.on("error", () => {});
    if (fields[":path"] !== "/api/grpc.health.v1.Health/Check") {
      stream.respond({ ":status": 200, "x-node": this.name });
      return void stream.end();
    }
    this.asked.push(fields);
    const head = { ":status": 200, "content-type": "application/grpc" };
    const ends = (status: string) => {
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
      stream.respond(head, { waitForTrailers: true });
    };
    switch (this.mood) {
      case "serving":
      case "not_serving":
        ends("0");
        return void stream.end(Buffer.from([0, 0, 0, 0, 2, 8, this.mood === "serving" ? 1 : 2]));
      case "unimplemented":
        return stream.respond({ ...head, "grpc-status": "12" }, { endStream: true });
      case "huge":
        stream.respond(head);
        return void stream.write(Buffer.from([0, 5, 0xf5, 0xe1, 0, 0]));
      case "resets":
        return stream.close(8);
      case "silent":
    }
  }
}

const [a, b] = await Promise.all([new HealthOrigin("a").start(), new HealthOrigin("b").start()]);
const health_check = { grpc: true, interval: "60ms", timeout: "1s", healthy_threshold: 2, unhealthy_threshold: 2 };
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      routes: [
        {
          http_method: "GET",
          http_path: "/t/:id",
          grpc_method: "/shop.Shop/Get",
          upstream_url: `${a.url.replace("h2c", "http")}/api`,
        },
      ],
    },
  },
  routes: [
    {
      type: "upstream",
      prefix: "/n",
      targets: [{ url: `${a.url}/api` }, { url: `${b.url}/api` }],
      health_check,
      retries: { attempts: 0 },
    },
  ],
});
afterAll(() => stopAll(gateway, a, b));

async function inUse(): Promise<string[]> {
  const names = new Set<string>();
  for (let i = 0; i < 6; i++) names.add(String((await gateway.once(request("GET /n/x"))).fields.get("x-node")));
  return [...names].sort();
}

describe("a health check by gRPC", () => {
  test("calls the method below the path of the target's address", async () => {
    await eventually(() => expect(Math.min(a.asked.length, b.asked.length)).toBeGreaterThan(2));
    expect(a.asked[0]).toMatchObject({ ":method": "POST", "content-type": "application/grpc+proto", te: "trailers" });
    expect(await inUse()).toEqual(["a", "b"]);
  });

  test.each<[Mood, number, RegExp, string | null]>([
    ["not_serving", 503, /^$/, null],
    ["unimplemented", 501, /^$/, null],
    ["huge", 429, /^$/, null],
    ["resets", 0, /reset/, "h2_reset"],
    ["silent", 0, /no message within/, "first_byte_timeout"],
  ])("takes out a target that is %s, and takes it back", async (mood, status, error, cause) => {
    const told = gateway.logs.json.length;
    a.mood = mood;
    await eventually(async () => expect(await inUse()).toEqual(["b"]), 20_000);
    const lines = () => gateway.logs.json.slice(told).filter(({ event }) => event === "upstream_unhealthy");
    await eventually(async () => expect(lines()).not.toEqual([]));
    const line = lines()[0]!;
    expect([line.status, String(line.error), line.fault_detail ?? null]).toEqual([
      status,
      expect.stringMatching(error),
      cause,
    ]);
    a.mood = "serving";
    await eventually(async () => expect(await inUse()).toEqual(["a", "b"]), 20_000);
  });

  test("the list of upstreams says of a transcoded route whether its server serves", async () => {
    const listed = async () => {
      const { text } = await gateway.once(request("GET /internal/api/upstreams/health"));
      return (JSON.parse(text) as { upstreams: Record<string, unknown>[] }).upstreams.find(
        ({ route }) => route === "/t/:id",
      )!;
    };
    for (const [mood, healthy] of [
      ["serving", true],
      ["not_serving", false],
      ["unimplemented", true],
    ] as const) {
      a.mood = mood;
      expect([mood, (await listed()).healthy]).toEqual([mood, healthy]);
    }
    a.mood = "serving";
  });

  test("needs targets of HTTP/2", async () => {
    const routes = [
      { type: "upstream", prefix: "/", target: "http://127.0.0.1:1", health_check: { grpc: true, path: "/x" } },
    ];
    const { code, stdout, stderr } = await runEdge(["check"], { routes });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain("health_check.grpc: needs targets of HTTP/2, with h2c:// or h2://");
    expect(stdout + stderr).toContain("health_check.path: has no effect with grpc");
  });
});
