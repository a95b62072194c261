import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const OK = "HTTP/1.1 200 OK";
const origin = ScriptedOrigin.start();
// Before the first probe.
origin.on("/health", (call) => call.send(`${OK}\nContent-Length: 2\n\nok`));
const old = { strict_origins: false };
const gateway = await startGateway({
  config: { server: { workers: 1, cache: { enabled: true } } },
  routes: [
    upstream("/old", origin, { ...old, cache: false }),
    upstream("/strict", origin, { cache: false }),
    upstream("/cached", origin, old),
    upstream("/probed", origin, {
      ...old,
      health_check: { path: "/health", interval: "60ms", unhealthy_threshold: 1 },
    }),
  ],
});
/** Where the server says it for all. */
const lenient = await startGateway({
  config: { server: { workers: 1, ...old } },
  routes: [upstream("/old", origin), upstream("/strict", origin, { strict_origins: true })],
});
afterAll(() => stopAll(gateway, lenient, origin));

interface Row {
  readonly name: string;
  /** What the origin sends. */
  readonly answer: string;
  readonly leniency: string;
  readonly status: number;
  readonly text: string;
  readonly fields?: Readonly<Record<string, string>>;
}

const ROWS: readonly Row[] = [
  {
    name: "bare LF in the head",
    answer: `${OK}\nContent-Length: 5\nX-A: b\n\nhello`,
    leniency: "bare_lf",
    status: 200,
    text: "hello",
    fields: { "content-length": "5", "x-a": "b" },
  },
  {
    name: "bare LF in one line of the head",
    answer: `${OK}\r\nContent-Length: 5\nX-A: b\r\n\r\nhello`,
    leniency: "bare_lf",
    status: 200,
    text: "hello",
    fields: { "content-length": "5", "x-a": "b" },
  },
  {
    name: "bare LF in chunks",
    answer: `${OK}\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n6\r\n world\r\n0\n\n`,
    leniency: "bare_lf",
    status: 200,
    text: "hello world",
  },
  {
    name: "folded fields",
    answer: `${OK}\r\nX-A: b,\r\n\t c\r\nContent-Length: 5\r\nX-B:\r\n d\r\n\r\nhello`,
    leniency: "folding",
    status: 200,
    text: "hello",
    fields: { "x-a": "b, c", "x-b": "d", "content-length": "5" },
  },
  {
    name: "Transfer-Encoding: chunked in two fields",
    answer: `${OK}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    leniency: "repeated_coding",
    status: 200,
    text: "hello",
  },
  {
    name: "Content-Length 5, 5",
    answer: `${OK}\r\nContent-Length: 5, 5\r\n\r\nhello`,
    leniency: "repeated_length",
    status: 200,
    text: "hello",
    fields: { "content-length": "5" },
  },
  {
    name: "Content-Length in two fields",
    answer: `${OK}\r\nContent-Length: 5\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello`,
    leniency: "repeated_length",
    status: 200,
    text: "hello",
    fields: { "content-length": "5", "x-a": "b" },
  },
  {
    name: "204 with a length and a body",
    answer: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
    leniency: "body_of_204",
    status: 204,
    text: "",
    fields: { "x-a": "b" },
  },
  {
    name: "204 in chunks",
    answer: "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    leniency: "body_of_204",
    status: 204,
    text: "",
  },
];

const REFUSED: readonly (readonly [name: string, answer: string])[] = [
  ["lengths that differ", `${OK}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
  ["lengths that differ in one field", `${OK}\r\nContent-Length: 5, 6\r\n\r\nhello!`],
  ["lengths 5 and 05", `${OK}\r\nContent-Length: 5, 05\r\n\r\nhello`],
  ["length and coding", `${OK}\nContent-Length: 5\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n`],
  ["a coding twice in one field", `${OK}\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
  ["a folded coding", `${OK}\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
  ["a folded length", `${OK}\r\nContent-Length:\r\n 5\r\n\r\nhello`],
  ["a folded status line", `${OK}\r\n X-A: b\r\n\r\n`],
  ["a line of white space", `${OK}\r\nX-A: b\r\n \r\nContent-Length: 5\r\n\r\nhello`],
  ["bare CR", `${OK}\rContent-Length: 5\r\rhello`],
  ["a control byte", `${OK}\nX-A: b\x01\nContent-Length: 5\n\nhello`],
  ["NUL in a fold", `${OK}\r\nX-A: b\r\n \0c\r\nContent-Length: 5\r\n\r\nhello`],
  ["white space before a colon", `${OK}\nX-A : b\nContent-Length: 5\n\nhello`],
  ["a bad chunk size", `${OK}\nTransfer-Encoding: chunked\n\n0x5\nhello\n0\n\n`],
  ["bare LF behind an extension", `${OK}\nTransfer-Encoding: chunked\n\n5;a=b\nhello\n0\n\n`],
  ["204 with length and coding", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["204 with two lengths", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
  ["HTTP/0.9", "<html>\nhello\n"],
];

async function lenientAnswers(leniency: string): Promise<number> {
  const samples = parseMetrics((await gateway.once(request("GET /metrics"))).text);
  return sumOf(samples, "gateway_lenient_answers_total", { leniency });
}

/** The connection of the last request for a path is closed by the gateway, although the origin leaves it open. */
function untilLeft(path: string): Promise<true> {
  const { connection } = origin.requestsFor(path).at(-1)!;
  return origin.until("the end of the connection", () => {
    const { ending, isClosed } = origin.connections[connection]!;
    return ending !== "open" || isClosed || undefined;
  });
}

describe("strict_origins: false takes", () => {
  test.each(ROWS)("$name, over HTTP/1.1 and 2, and closes the connection", async (row) => {
    const path = `/${row.name.replaceAll(/\W/g, "-")}`;
    origin.on(path, (call) => call.send(row.answer));
    const before = await lenientAnswers(row.leniency);
    const client = await gateway.connect();
    const h2 = await H2Client.connect(gateway.port);
    for (let i = 0; i < 2; i++) {
      const reply = await client.exchange(request(`GET /old${path}`));
      expect([reply.status, reply.text]).toEqual([row.status, row.text]);
      for (const [name, value] of Object.entries(row.fields ?? {})) expect(reply.fields.all(name)).toEqual([value]);
      if (row.status === 204) expect([reply.fields.has("content-length"), reply.framing]).toEqual([false, "none"]);
      await untilLeft(path);
      const stream = await h2.request(head("GET", `/old${path}`));
      expect([stream.status, stream.text]).toEqual([row.status, row.text]);
      for (const [name, value] of Object.entries(row.fields ?? {})) expect(stream.fields.get(name)).toBe(value);
      if (row.status === 204) expect(stream.fields.has("content-length")).toBe(false);
      await untilLeft(path);
    }
    client.close();
    h2.close();
    expect(new Set(origin.requestsFor(path).map(({ connection }) => connection)).size).toBe(4);
    expect((await lenientAnswers(row.leniency)) - before).toBe(4);
    await gateway.log("the leniency", ({ event, upstream: from, reason }) => {
      return event === "lenient_answer" && from === origin.url && reason === row.leniency;
    });
  });

  test.each(ROWS)("$name in pieces of one byte", async (row) => {
    const path = `/pieces-${row.name.replaceAll(/\W/g, "-")}`;
    origin.on(path, (call) => call.connection.sendPieces(row.answer, 1));
    const reply = await gateway.once(request(`GET /old${path}`));
    expect([reply.status, reply.text]).toEqual([row.status, row.text]);
  });

  test.each(ROWS)("$name, which elsewhere is 502 or cut", async (row) => {
    const path = `/elsewhere-${row.name.replaceAll(/\W/g, "-")}`;
    origin.on(path, (call) => call.send(row.answer));
    const h2 = await H2Client.connect(gateway.port);
    expect((await h2.request(head("GET", `/strict${path}`))).status).toBe(502);
    h2.close();
  });

  test("a repeated length in the answer to HEAD", async () => {
    origin.on("/head", (call) => call.send(`${OK}\nContent-Length: 1000\nContent-Length: 1000\n\n`));
    const reply = await gateway.once(request("HEAD /old/head"), "HEAD");
    expect([reply.status, reply.fields.all("content-length")]).toEqual([200, ["1000"]]);
  });

  test("an answer until the connection's end", async () => {
    origin.on("/until", (call) => call.sendAndFinish("HTTP/1.0 200 OK\nX-A: b\n\nhello\n\nworld"));
    const reply = await gateway.once(request("GET /old/until"));
    expect([reply.status, reply.text, reply.fields.get("x-a")]).toEqual([200, "hello\n\nworld", "b"]);
  });

  test("interim answers, and not the bytes behind a 101", async () => {
    origin.on("/interim", (call) =>
      call.send(`HTTP/1.1 103 Early\nLink: </a>\n\n${OK}\r\nContent-Length: 2\r\n\r\nok`),
    );
    const client = await gateway.connect();
    client.send(request("GET /old/interim"));
    const got = (await client.takeUntil("\r\n\r\nok", 4096)).toString("latin1");
    expect(got).toStartWith("HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n");
    client.close();
    await untilLeft("/interim");
    origin.on("/upgrade", (call) => call.send("HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: x\n\n"));
    const reply = await gateway.once(request("GET /old/upgrade", ["Connection: Upgrade", "Upgrade: x"]));
    expect(reply.status).toBe(502);
  });

  test("what is stored in the cache as what it means", async () => {
    let asked = 0;
    origin.on("/stored", (call) => {
      asked++;
      call.send(
        `${OK}\nCache-Control: public,\n max-age=60\nX-A: b\n c\nContent-Length: 5\nContent-Length: 5\n\nhello`,
      );
    });
    for (const cached of ["MISS", "HIT"]) {
      const reply = await gateway.once(request("GET /cached/stored"));
      expect([reply.text, reply.fields.get("x-cache")]).toEqual(["hello", cached]);
      expect(reply.fields.get("cache-control")).toBe("public, max-age=60");
      expect(reply.fields.all("x-a")).toEqual(["b c"]);
      expect(reply.fields.all("content-length")).toEqual(["5"]);
    }
    expect(asked).toBe(1);
  });
});

describe("strict_origins: false still refuses", () => {
  test.each(REFUSED)("%s, over HTTP/1.1 and 2", async (name, answer) => {
    const path = `/refused-${name.replaceAll(/\W/g, "-")}`;
    origin.on(path, (call) => call.send(answer));
    const h2 = await H2Client.connect(gateway.port);
    expect((await h2.request(head("GET", `/old${path}`))).status).toBe(502);
    h2.close();
    expect((await gateway.once(request(`GET /old${path}`))).status).toBe(502);
    await untilLeft(path);
  });

  test("the same of requests: bare LF, folding and equal lengths are 400", async () => {
    for (const text of [
      "GET /old/x HTTP/1.1\nHost: a\n\n",
      "GET /old/x HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
      "POST /old/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
      "POST /old/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
    ]) {
      expect((await gateway.once(text)).status).toBe(400);
    }
    expect(origin.requestsFor("/x")).toEqual([]);
  });
});

describe("connections of a lenient route", () => {
  test("are kept while answers are strict, apart from those of strict routes", async () => {
    origin.on("/plain", (call) => call.reply("200 OK", [], "plain"));
    for (const prefix of ["/old", "/strict", "/old", "/strict"]) {
      expect((await gateway.once(request(`GET ${prefix}/plain`))).text).toBe("plain");
    }
    const [first, second, third, fourth] = origin.requestsFor("/plain").map(({ connection }) => connection);
    expect([third, fourth]).toEqual([first, second]);
    expect(first).not.toBe(second);
  });

  test.each([
    ["GET", "204 No Content"],
    ["GET", "304 Not Modified"],
    ["HEAD", "200 OK"],
  ])("end with the answer to %s, %s, behind which a body may come late", async (method, said) => {
    const path = `/late-${said.slice(0, 3)}`;
    origin.on(path, async (call) => {
      call.send(`HTTP/1.1 ${said}\r\n\r\n`);
      await Bun.sleep(20);
      call.send(`${OK}\r\nContent-Length: 6\r\n\r\npoison`);
    });
    origin.on("/next", (call) => call.reply("200 OK", [], "next"));
    const client = await gateway.connect();
    for (let i = 0; i < 3; i++) {
      const reply = await client.exchange(request(`${method} /old${path}`));
      expect(reply.status).toBe(Number(said.slice(0, 3)));
      expect((await client.exchange(request("GET /old/next"))).text).toBe("next");
    }
    client.close();
  });
});

test("health checks read answers as the route does", async () => {
  await eventually(() => expect(origin.requestsFor("/health").length).toBeGreaterThan(3));
  expect(gateway.logs.json.filter(({ event }) => event === "upstream_unhealthy")).toEqual([]);
  const report = await gateway.once(request("GET /internal/api/upstreams/health"));
  expect(report.text).not.toContain("malformed");
});

test("server.strict_origins is the default of all routes", async () => {
  origin.on("/default", (call) => call.send(`${OK}\nContent-Length: 5\n\nhello`));
  expect((await lenient.once(request("GET /old/default"))).text).toBe("hello");
  expect((await lenient.once(request("GET /strict/default"))).status).toBe(502);
});

test("edge check and the start warn of each place that says it", async () => {
  const options = {
    config: { server: old },
    routes: [upstream("/a", origin, old), upstream("/b", origin), upstream("/c", origin, old)],
  };
  const { stdout, stderr } = await runEdge(["check"], options);
  const warnings = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("strict_origins"));
  expect(warnings.map((line) => /(server|routes\[\d\])\.strict_origins: is false/.exec(line)?.[1])).toEqual([
    "server",
    "routes[0]",
    "routes[2]",
  ]);
  expect(warnings[1]).toContain("bare LF");
  expect(gateway.errors.lines.join("\n")).toContain("routes[0].strict_origins: is false");
});
