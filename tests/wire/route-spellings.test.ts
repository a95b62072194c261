import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { makeCase, makeTable, type PathCase } from "../harness/path-cases.ts";
import { faultIn, type Outcome, plainLabel, type ReferenceRoute } from "../harness/path-reference.ts";
import { RawClient } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";

// For random routes, hosts, methods and spellings: what was matched is what the origin saw. docs/security.md#paths-and-hosts
// ROUTE_SEED, ROUTE_GATEWAYS and ROUTE_CASES make longer runs and other ones.
const seed = Number(process.env.ROUTE_SEED ?? 1);
const gateways = Number(process.env.ROUTE_GATEWAYS ?? 4);
const cases = Number(process.env.ROUTE_CASES ?? 800);

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
afterAll(() => origin.stop());

/** One way to ask. It gives the status; a connection that was closed is opened again. */
interface Way {
  readonly name: string;
  /** Of the cases, how many in a hundred go this way. */
  readonly share: number;
  ask(one: PathCase): Promise<number>;
  close(): void;
}

describe.each(Array.from({ length: gateways }, (_, i) => seed + i))("seed %d", (number) => {
  test("what was matched is what the origin saw, over HTTP/1.1, HTTP/2 and HTTP/3", async () => {
    const random = new SeededRandom(number);
    const routes = makeTable(random);
    const port = freePort();
    const gateway = await startWith(routes, port);
    const ways = [new OverHttp1(gateway.port), new OverHttp2(gateway.port), new OverHttp3(port)];
    try {
      for (const way of ways) {
        for (let left = (cases * way.share) / 100; left > 0; left--) await tryOne(random, routes, way);
      }
    } finally {
      for (const way of ways) way.close();
      await gateway.stop();
    }
  }, 600_000);
});

async function tryOne(random: SeededRandom, routes: readonly ReferenceRoute[], way: Way): Promise<void> {
  const one = makeCase(random, routes);
  // The client of HTTP/3 has one host.
  const asked = way instanceof OverHttp3 ? { ...one, host: way.host } : one;
  const seen = origin.requests.length;
  const status = await way.ask(asked);
  const [call, ...more] = origin.requests.slice(seen);
  expect(more.length).toBe(0);
  const outcome: Outcome = {
    status,
    label: call?.fields.get("x-route") ?? "",
    target: call?.target ?? "",
    host: call?.fields.get("host") ?? null,
  };
  const wrong = faultIn(routes, asked, outcome) ?? faultInPlain(routes, asked, outcome);
  if (wrong !== null) throw new Error(`${way.name}: ${wrong}\n${JSON.stringify({ asked, outcome, routes })}`);
}

function faultInPlain(routes: readonly ReferenceRoute[], one: PathCase, outcome: Outcome): string | null {
  if (one.plain === "" || outcome.status === 400) return null;
  const label = plainLabel(routes, { ...one, path: one.plain });
  return label === outcome.label ? null : `${label || "405"} was meant`;
}

function startWith(routes: readonly ReferenceRoute[], port: number): Promise<Gateway> {
  const tls = { port, cert_file: "a.pem", key_file: "a.key" };
  return startGateway({
    config: { server: { access_log: { enabled: false }, tls, http3: { enabled: true } } },
    routes: routes.map(({ label, path, exact, methods, hosts, stripPrefix }) => ({
      ...upstream("/", origin, { headers: { request: { set: { "X-Route": label } } }, strip_prefix: stripPrefix }),
      prefix: exact ? undefined : path,
      ...(exact ? { path } : {}),
      ...(methods.length > 0 ? { methods } : {}),
      ...(hosts.length > 0 ? { host: hosts } : {}),
    })),
    files: { "a.pem": certificate.cert, "a.key": certificate.key },
  });
}

class OverHttp1 implements Way {
  readonly name = "HTTP/1.1";
  readonly share = 60;
  private client: RawClient | null = null;

  constructor(private readonly port: number) {}

  async ask({ method, path, query, host }: PathCase): Promise<number> {
    this.client ??= await RawClient.connect(this.port);
    const head = `${method} ${path}${query} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`;
    const reply = await this.client.exchange(head, method);
    if (reply.fields.get("connection")?.toLowerCase() === "close") this.close();
    return reply.status;
  }

  close(): void {
    this.client?.close();
    this.client = null;
  }
}

class OverHttp2 implements Way {
  readonly name = "HTTP/2";
  readonly share = 35;
  private client: H2Client | null = null;

  constructor(private readonly port: number) {}

  async ask({ method, path, query, host }: PathCase): Promise<number> {
    // A connection whose client makes too many faults is ended.
    this.close();
    this.client = await H2Client.connect(this.port);
    const fields = [
      [":method", method],
      [":scheme", "http"],
      [":path", path + query],
      [":authority", host],
    ] as const;
    return (await this.client.request(fields)).status;
  }

  close(): void {
    this.client?.close();
    this.client = null;
  }
}

class OverHttp3 implements Way {
  readonly name = "HTTP/3";
  readonly share = 5;
  readonly host: string;
  private client: H3Client | null = null;

  constructor(private readonly port: number) {
    this.host = `localhost:${port}`;
  }

  async ask({ method, path, query }: PathCase): Promise<number> {
    this.close();
    this.client = await H3Client.connect(this.port);
    return (await this.client.ask(method, path + query)).status;
  }

  close(): void {
    this.client?.close();
    this.client = null;
  }
}
