// docs/tracing.md#a-collector-that-is-away
import { afterAll, describe, expect, test } from "bun:test";
import { OtlpChannel } from "../../../../../src/features/telemetry/otlp/otlp-channel.ts";

const servers: { stop(closes?: boolean): unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.stop(true);
});

/** A collector that responds as it is told, and a channel to it. */
function opened(respond: (call: number) => Response | Promise<Response>, timeoutMs = 5000) {
  let calls = 0;
  const bodies: Uint8Array[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const call = ++calls;
      bodies.push(new Uint8Array(await request.arrayBuffer()));
      return respond(call);
    },
  });
  servers.push(server);
  return { ...channelTo(`http://127.0.0.1:${server.port}/`, timeoutMs), calls: () => calls, bodies };
}

function channelTo(endpoint: string, timeoutMs: number) {
  const tally = { sent: 0, dropped: 0 };
  const failures: string[] = [];
  const otlp = { endpoint, headers: [], timeoutMs, compression: "none", caFile: "" } as never;
  const channel = new OtlpChannel("logs", otlp, { tally, onFailed: (_, error) => failures.push(error) });
  return { channel, tally, failures };
}

const MESSAGE = Buffer.from("a message");

describe("a call to a collector", () => {
  test("is repeated while the collector asks for patience", async () => {
    const { channel, tally, failures, calls, bodies } = opened((call) =>
      call < 3
        ? new Response("", { status: call === 1 ? 503 : 429, headers: { "Retry-After": "0.05" } })
        : new Response(),
    );
    channel.send(() => MESSAGE, 5);
    await channel.flush();
    expect([calls(), tally, failures]).toEqual([3, { sent: 5, dropped: 0 }, []]);
    expect(bodies.map((body) => Buffer.from(body).toString())).toEqual(["a message", "a message", "a message"]);
  });

  test.each([400, 401, 413, 500, 302])("is not repeated after %d", async (status) => {
    const { channel, tally, failures, calls } = opened(() => new Response("no", { status }));
    channel.send(() => MESSAGE, 5);
    await channel.flush();
    expect([calls(), tally]).toEqual([1, { sent: 0, dropped: 5 }]);
    expect(failures).toEqual([`the collector responds with HTTP status ${status}`]);
  });

  test("is given up when it would be repeated too late", async () => {
    const { channel, tally, calls } = opened(
      () => new Response("", { status: 503, headers: { "Retry-After": "3600" } }),
    );
    channel.send(() => MESSAGE, 1);
    await channel.flush();
    expect([calls(), tally.dropped]).toEqual([1, 1]);
  });

  test("ends in time if the collector is silent", async () => {
    const { channel, tally, failures } = opened(() => new Promise(() => {}), 100);
    channel.send(() => MESSAGE, 1);
    await channel.flush();
    expect([tally.dropped, failures]).toEqual([1, [expect.stringContaining("no whole response within")]]);
  });

  test("of whose items the collector has not taken all counts them", async () => {
    const partial = Buffer.from([0x0a, 7, 0x08, 3, 0x12, 3, 0x6e, 0x6f, 0x21]);
    const { channel, tally, failures } = opened(() => new Response(partial));
    channel.send(() => MESSAGE, 5);
    await channel.flush();
    expect([tally, failures]).toEqual([{ sent: 2, dropped: 3 }, ["the collector has not taken all: no!"]]);
  });

  test.each<[string, () => Response]>([
    ["endless", () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65_536)) }))],
    ["compressed", () => new Response(Bun.gzipSync("x"), { headers: { "Content-Encoding": "gzip" } })],
  ])("with an %s response is not repeated, since it has arrived", async (_, respond) => {
    const { channel, tally, calls } = opened(respond);
    channel.send(() => MESSAGE, 1);
    await channel.flush();
    expect([calls(), tally.dropped]).toEqual([1, 1]);
  });

  test("beyond the fourth is dropped, and its message is not made", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { channel, tally, failures } = opened(() => gate.then(() => new Response()));
    let made = 0;
    const encode = () => {
      made++;
      return MESSAGE;
    };
    for (let i = 0; i < 6; i++) channel.send(encode, 10);
    expect([made, tally.dropped]).toEqual([4, 20]);
    expect(failures[0]).toBe("the collector is away or slow: 4 calls wait for it");
    open();
    await channel.flush();
    expect(tally).toEqual({ sent: 40, dropped: 20 });
  });
});
