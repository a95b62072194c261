/** An object of a cluster, as tests write it. */
export interface ClusterObject {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace?: string };
  readonly [member: string]: unknown;
}

interface Watcher {
  readonly plural: string;
  send(line: string): void;
  close(): void;
}

const PLURALS: Readonly<Record<string, string>> = {
  Gateway: "gateways",
  Ingress: "ingresses",
  GatewayClass: "gatewayclasses",
};
const UNKNOWN = new Set(["udproutes"]);

function pluralOf(kind: string): string {
  return PLURALS[kind] ?? `${kind.toLowerCase().replace(/y$/, "ie").replace(/s$/, "se")}s`;
}

/** An API server of Kubernetes, as far as the gateway asks one: lists in pages, watches, statuses, Leases. It does as tests say. */
export class ApiServer {
  /** By plural, then by `namespace/name`. */
  private readonly objects: Map<string, Map<string, ClusterObject>> = new Map();
  private readonly watchers: Set<Watcher> = new Set();
  readonly port: number;
  private server: Bun.Server<undefined>;
  private version = 100;
  /** Changes since `oldest`, for watches that begin later. */
  private readonly history: { readonly plural: string; readonly version: number; readonly line: string }[] = [];
  private oldest = 0;
  /** How many lists there were, by plural. */
  readonly lists: Map<string, number> = new Map();
  /** Who has written statuses, by the User-Agent's account. */
  readonly writers: string[] = [];
  readonly events: ClusterObject[] = [];
  /** What the next requests for a plural get in place of a response. */
  readonly refusals: { readonly plural: string; readonly status: number; readonly wait?: number }[] = [];

  private readonly page: number;

  /** @param page so many objects each page of a list has, whatever is asked for */
  constructor(port = 0, page = 2) {
    this.page = page;
    this.server = this.listen(port);
    this.port = this.server.port!;
  }

  /** A kubeconfig for an account. */
  kubeconfig(account: string): string {
    return JSON.stringify({
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${this.port}` } }],
      users: [{ name: "u", user: { token: account } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "edge" } }],
      "current-context": "x",
    });
  }

  put(...all: readonly ClusterObject[]): void {
    for (const one of all) this.store(one, true);
  }

  remove({ kind, metadata }: ClusterObject): void {
    const plural = pluralOf(kind);
    const key = keyOf(metadata);
    const there = this.objects.get(plural)?.get(key);
    if (there === undefined) return;
    this.objects.get(plural)!.delete(key);
    this.tell(plural, "DELETED", { ...there, metadata: { ...there.metadata, resourceVersion: `${++this.version}` } });
  }

  get(kind: string, name: string, namespace = "web"): ClusterObject | undefined {
    return this.objects.get(pluralOf(kind))?.get(kind === "GatewayClass" ? `/${name}` : `${namespace}/${name}`);
  }

  /** Writes into every watch of a kind. */
  say(kind: string, text: string): void {
    for (const one of this.watchers) if (one.plural === pluralOf(kind)) one.send(text);
  }

  /** Ends the watches of a kind. */
  cut(kind: string): void {
    for (const one of this.watchers) if (one.plural === pluralOf(kind)) one.close();
  }

  async away(): Promise<void> {
    for (const one of this.watchers) one.close();
    await this.server.stop(true);
  }

  /** Comes back at the same port, with another history. */
  back(): void {
    this.version += 1_000_000;
    this.history.length = 0;
    this.oldest = this.version;
    this.server = this.listen(this.port);
  }

  private listen(port: number): Bun.Server<undefined> {
    return Bun.serve({ hostname: "127.0.0.1", port, idleTimeout: 0, fetch: (request) => this.answer(request) });
  }

  private store(object: ClusterObject, isNewGeneration: boolean): ClusterObject {
    const plural = pluralOf(object.kind);
    const all = this.objects.get(plural) ?? new Map<string, ClusterObject>();
    this.objects.set(plural, all);
    const before = all.get(keyOf(object.metadata));
    const generation = Number(before?.metadata.generation ?? 0) + (isNewGeneration ? 1 : 0);
    const made: ClusterObject = {
      ...object,
      apiVersion: object.apiVersion ?? "v1",
      metadata: {
        creationTimestamp: `2026-01-01T00:00:${String(all.size).padStart(2, "0")}Z`,
        ...before?.metadata,
        ...object.metadata,
        ...{ generation, uid: `${plural}-${object.metadata.name}`, resourceVersion: `${++this.version}` },
      },
      ...(object.status === undefined && before?.status !== undefined ? { status: before.status } : {}),
    };
    all.set(keyOf(object.metadata), made);
    this.tell(plural, before === undefined ? "ADDED" : "MODIFIED", made);
    return made;
  }

  private tell(plural: string, type: string, object: ClusterObject): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    this.history.push({ plural, version: this.version, line });
    for (const one of this.watchers) if (one.plural === plural) one.send(line);
  }

  private async answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const parts =
      /^\/(?:api|apis\/[^/]+)\/v1(?:alpha1)?(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(\/status)?$/.exec(
        url.pathname,
      );
    const [, namespace = "", plural = "", name = "", status = ""] = parts ?? [];
    const refusal = this.refusals.findIndex((one) => one.plural === plural);
    if (refusal >= 0) {
      const [{ status: code, wait = 0 }] = this.refusals.splice(refusal, 1) as [(typeof this.refusals)[number]];
      return Response.json({ message: "as the test says" }, { status: code, headers: { "Retry-After": `${wait}` } });
    }
    if (parts === null || UNKNOWN.has(plural)) return Response.json({ message: "not found" }, { status: 404 });
    if (request.method === "GET" && name === "") {
      return url.searchParams.has("watch") ? this.watch(plural, url) : this.list(plural, url);
    }
    const body = request.method === "GET" ? {} : ((await request.json()) as ClusterObject);
    if (plural === "events") {
      this.events.push(body as ClusterObject);
      return Response.json(body, { status: 201 });
    }
    return this.change(request, plural, `${namespace}/${name || (body as ClusterObject).metadata.name}`, status, body);
  }

  private change(request: Request, plural: string, key: string, part: string, body: object): Response {
    const there = this.objects.get(plural)?.get(key);
    const wanted = (body as Partial<ClusterObject>).metadata?.resourceVersion;
    if (request.method === "GET")
      return there === undefined ? Response.json({ message: "none" }, { status: 404 }) : Response.json(there);
    if (request.method === "POST" && there !== undefined) return Response.json({ message: "there" }, { status: 409 });
    if (request.method !== "POST" && there === undefined) return Response.json({ message: "none" }, { status: 404 });
    if (there !== undefined && wanted !== undefined && wanted !== there.metadata.resourceVersion)
      return Response.json({ message: "changed" }, { status: 409 });
    if (part === "") return Response.json(this.store(body as ClusterObject, false), { status: 201 });
    this.writers.push(request.headers.get("authorization") ?? "");
    const written = (body as { status: object }).status;
    const fields = Object.fromEntries(Object.keys(written).map((name) => [`f:${name}`, {}]));
    const manager = new URL(request.url).searchParams.get("fieldManager");
    const managedFields = [{ manager, subresource: "status", fieldsV1: { "f:status": fields } }];
    const status = { ...(there!.status as object), ...written };
    return Response.json(this.store({ ...there!, metadata: { ...there!.metadata, managedFields }, status }, false));
  }

  private list(plural: string, url: URL): Response {
    this.lists.set(plural, (this.lists.get(plural) ?? 0) + 1);
    const all = [...(this.objects.get(plural)?.values() ?? [])];
    const from = Number(url.searchParams.get("continue") ?? "0");
    const end = from + this.page;
    const next = end < all.length ? String(end) : "";
    return Response.json({
      metadata: { resourceVersion: `${this.version}`, ...(next === "" ? {} : { continue: next }) },
      items: all.slice(from, end).map(({ kind: _, apiVersion: __, ...one }) => one),
    });
  }

  private watch(plural: string, url: URL): Response {
    const from = Number(url.searchParams.get("resourceVersion"));
    if (from < this.oldest || from > this.version) return Response.json({ message: "too old" }, { status: 410 });
    let watcher: Watcher;
    const stream = new ReadableStream({
      start: (controller) => {
        const text = new TextEncoder();
        watcher = {
          plural,
          send: (line) => controller.enqueue(text.encode(line)),
          close: () => {
            this.watchers.delete(watcher);
            controller.close();
          },
        };
        this.watchers.add(watcher);
        for (const one of this.history) if (one.plural === plural && one.version > from) watcher.send(one.line);
        const version = String(this.version);
        watcher.send(
          `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { name: "", resourceVersion: version } } })}\n`,
        );
      },
      cancel: () => {
        this.watchers.delete(watcher);
      },
    });
    return new Response(stream);
  }
}

function keyOf({ namespace = "", name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
