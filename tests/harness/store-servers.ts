import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** A request with its body, and whether something else has been done with it. */
type Misdeed = (path: string, response: ServerResponse) => boolean;

/** A store as its HTTP API shows it, on one port of loopback that stays its own while it is away. */
abstract class StoreServer {
  port = 0;
  /** Each request: method, path and query, and its fields. */
  readonly seen: { readonly path: string; readonly headers: IncomingMessage["headers"] }[] = [];
  /** Does something else with a request. @returns whether it has */
  misdeed: Misdeed = () => false;
  private server: Server | null = null;

  async open(): Promise<this> {
    const server = createServer((request, response) => {
      this.seen.push({ path: request.url!, headers: request.headers });
      let body = "";
      request.on("data", (part) => {
        body += part;
      });
      request.on("end", () => {
        if (!this.misdeed(request.url!, response)) this.answer(request.url!, body, response);
      });
    });
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.port, "127.0.0.1", resolve));
    this.port = (server.address() as { port: number }).port;
    return this;
  }

  /** Goes away, as a killed process does. */
  async close(): Promise<void> {
    const { server } = this;
    this.server = null;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  protected abstract answer(url: string, body: string, response: ServerResponse): void;
}

/** An instance of a service. */
interface Registration {
  readonly service: string;
  readonly tags: readonly string[];
  readonly address: string;
  readonly port: number;
  readonly status?: "passing" | "warning" | "critical";
  readonly kind?: string;
  readonly namespace?: string;
}

/** The catalogs of Consul and Nomad, in the shape of their answers, with questions that they hold back until something changes. */
export class CatalogServer extends StoreServer {
  private readonly all: Map<string, Registration & { readonly since: number }> = new Map();
  private index = 1;
  private waiting: (() => void)[] = [];

  register(id: string, one: Registration): void {
    this.all.set(id, { ...one, since: this.all.get(id)?.since ?? this.index });
    this.changed();
  }

  remove(id: string): void {
    this.all.delete(id);
    this.changed();
  }

  changed(): void {
    this.index++;
    for (const go of this.waiting.splice(0)) go();
  }

  protected override answer(url: string, _: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, this.url);
    const isHeld = searchParams.has("wait") && Number(searchParams.get("index")) >= this.index;
    const go = (): void => {
      const name = pathname.startsWith("/v1/service") ? "X-Nomad-Index" : "X-Consul-Index";
      response.writeHead(200, { "Content-Type": "application/json", [name]: String(this.index) });
      response.end(JSON.stringify(this.documentOf(pathname, searchParams)));
    };
    if (isHeld) this.waiting.push(go);
    else go();
  }

  private documentOf(path: string, query: URLSearchParams): unknown {
    const all = [...this.all].map(([id, one]) => ({ id, ...one }));
    const name = decodeURIComponent(path.split("/").at(-1)!);
    const tagsOf = (service: string): string[] => [
      ...new Set(all.filter((one) => one.service === service).flatMap(({ tags }) => tags)),
    ];
    const names = [...new Set(all.map(({ service }) => service))];
    if (path === "/v1/catalog/services") return Object.fromEntries(names.map((one) => [one, tagsOf(one)]));
    if (path === "/v1/health/state/any")
      return all
        .filter(({ status = "passing" }) => status !== "passing")
        .map(({ id, status }) => ({ Node: "n1", CheckID: `service:${id}`, ServiceID: id, Status: status }));
    if (path.startsWith("/v1/health/service/"))
      return all
        .filter(
          ({ service, status = "passing" }) => service === name && (!query.has("passing") || status === "passing"),
        )
        .map(({ id, service, tags, address, port, kind = "", since }) => ({
          Node: { ID: "0d5a", Node: "n1", Address: "10.255.0.9", Datacenter: "dc1" },
          Service: {
            ID: id,
            Service: service,
            Tags: tags,
            Address: address,
            Port: port,
            Kind: kind,
            CreateIndex: since,
          },
          Checks: [{ Node: "n1", CheckID: `service:${id}`, Status: "passing" }],
        }));
    if (path === "/v1/services") {
      const spaces = [...new Set(all.map(({ namespace = "default" }) => namespace))];
      return spaces.map((space) => ({
        Namespace: space,
        Services: [
          ...new Set(all.filter(({ namespace = "default" }) => namespace === space).map(({ service }) => service)),
        ].map((one) => ({ ServiceName: one, Tags: tagsOf(one) })),
      }));
    }
    return all
      .filter(({ service, namespace = "default" }) => service === name && namespace === query.get("namespace"))
      .map(({ id, service, tags, address, port, namespace = "default", since }) => ({
        ID: id,
        ServiceName: service,
        Namespace: namespace,
        Tags: tags,
        Address: address,
        Port: port,
        CreateIndex: since,
      }));
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The keys of etcd, in the shape of the answers of its JSON gateway (recorded from etcd 3.4). */
export class KeyServer extends StoreServer {
  private readonly all: Map<string, { readonly text: string; readonly revision: number }> = new Map();
  private revision = 1;
  private readonly streams: Set<ServerResponse> = new Set();
  /** Tokens that count; all questions need one if there is any. */
  readonly tokens: Set<string> = new Set();
  password = "";

  put(key: string, text: string): void {
    this.all.set(key, { text, revision: ++this.revision });
    this.say([{ kv: { key: base64(key), mod_revision: String(this.revision), value: base64(text) } }]);
  }

  remove(key: string): void {
    this.all.delete(key);
    this.revision++;
    this.say([{ type: "DELETE", kv: { key: base64(key), mod_revision: String(this.revision) } }]);
  }

  /** Ends watches as a compaction does, and answers no earlier revision. */
  compact(): void {
    this.write(`${JSON.stringify({ result: { canceled: true, compact_revision: String(this.revision) } })}\n`);
  }

  /** Writes bytes to whoever watches. */
  write(text: string): void {
    for (const stream of this.streams) stream.write(text);
  }

  get watchers(): number {
    return this.streams.size;
  }

  private get header() {
    return { cluster_id: "14841639068965178418", revision: String(this.revision), raft_term: "2" };
  }

  private say(events: readonly object[]): void {
    this.write(`${JSON.stringify({ result: { header: this.header, events } })}\n`);
  }

  protected override answer(url: string, body: string, response: ServerResponse): void {
    const send = (status: number, value: object): void => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const asked = JSON.parse(body) as Readonly<Record<string, string>>;
    if (url === "/v3/auth/authenticate") {
      if (asked.password !== this.password)
        return send(400, { error: "etcdserver: authentication failed, invalid user ID or password", code: 3 });
      const token = `t.${this.tokens.size}`;
      this.tokens.add(token);
      return send(200, { header: this.header, token });
    }
    if (this.password !== "" && !this.tokens.has(this.seen.at(-1)!.headers.authorization ?? ""))
      return send(401, { error: "etcdserver: invalid auth token", code: 16 });
    if (url === "/v3/kv/range") {
      const [from, to] = [asked.key, asked.range_end].map((one) => Buffer.from(one ?? "", "base64").toString());
      const found = [...this.all].filter(([key]) => key >= from! && key < to!).sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, 2);
      const kvs = page.map(([key, { text, revision }]) => ({
        key: base64(key),
        mod_revision: String(revision),
        version: "1",
        value: base64(text),
      }));
      return send(200, {
        header: this.header,
        kvs,
        ...(found.length > page.length ? { more: true } : {}),
        count: String(found.length),
      });
    }
    const { start_revision: start } = asked.create_request as unknown as { readonly start_revision: string };
    response.writeHead(200, { "Content-Type": "application/json" });
    response.write(`${JSON.stringify({ result: { header: this.header, created: true } })}\n`);
    const missed = [...this.all].filter(([, { revision }]) => revision >= Number(start));
    for (const [key, { text, revision }] of missed)
      response.write(
        `${JSON.stringify({ result: { header: this.header, events: [{ kv: { key: base64(key), mod_revision: String(revision), value: base64(text) } }] } })}\n`,
      );
    this.streams.add(response);
    response.on("close", () => this.streams.delete(response));
  }
}
