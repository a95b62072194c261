import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ApiServer, type ClusterObject } from "../../harness/api-server.ts";
import { freePort, type Gateway, startGateway } from "../../harness/gateway.ts";
import { json, RawClient, type Reply, request } from "../../harness/raw-client.ts";
import { stopAll } from "../../harness/teardown.ts";
import { type GoObject, testCasesOf } from "./go-literal.ts";
import { type Probe, probesOf, type Wanted } from "./ingress-case.ts";

/** What came of a case of the suite. */
export interface Outcome {
  readonly test: string;
  /** What was asked. */
  readonly asked: string;
  readonly outcome: "passed" | "failed" | "closed" | "not reached";
  readonly said: string;
}

const FOLDER = "pkg/provider/kubernetes/ingress-nginx";
/** Of these keys of a case, each is a setting of Traefik's own command line. */
const SETTINGS = ["globalAuthURL", "defaultBackendServiceName", "strictValidatePathType", "ipAllowListStrategy"];
/** Where Ingresses listen. */
const ADDRESS = "127.0.0.84";
const SETTLE_MS = 1500;
const START_MS = 10_000;

/** Runs the cases of TestLoadIngresses: edge serves the fixtures, and does with requests what Traefik's routers say. */
export async function runIngresses(checkout: string): Promise<Outcome[]> {
  const source = readFileSync(join(checkout, FOLDER, "kubernetes_test.go"), "utf8");
  const site = await Site.start(checkout);
  try {
    const outcomes: Outcome[] = [];
    for (const test of testCasesOf(source, "TestLoadIngresses")) outcomes.push(...(await site.run(test)));
    return outcomes;
  } finally {
    await site.stop();
  }
}

/** A gateway in a cluster of fixtures. Endpoints `10.10.0.N:P` are loopback addresses here, at a free port for each P. */
class Site {
  private readonly ports: Map<number, number> = new Map();
  private readonly origins: Server[] = [];
  private readonly documents: Map<string, readonly ClusterObject[]> = new Map();
  private count = 0;

  private constructor(
    private readonly folder: string,
    private readonly api: ApiServer,
    private readonly gateway: Gateway,
    private readonly http: number,
  ) {}

  static async start(checkout: string): Promise<Site> {
    const api = new ApiServer();
    const [http, https] = [freePort(), freePort()];
    const gateway = await startGateway({
      config: {
        providers: {
          kubernetes: { kubeconfig: "kubeconfig", addresses: [`${ADDRESS}/32`], ingress_ports: { http, https } },
        },
      },
      routes: [],
      files: { kubeconfig: api.kubeconfig("first") },
    });
    return new Site(join(checkout, FOLDER, "fixtures"), api, gateway, http);
  }

  async run(test: GoObject): Promise<Outcome[]> {
    const name = String(test.desc);
    const probes = probesOf(test);
    const wrong = SETTINGS.filter((key) => test[key] !== undefined);
    const objects = (test.paths as readonly string[]).flatMap((path) => this.objectsOf(path));
    const mark = this.sentinel();
    this.api.put(...objects, ...mark);

    try {
      await this.settled(mark[0]!.metadata.name);
      const outcomes: Outcome[] = [];
      for (const probe of probes) outcomes.push(await this.outcome(name, probe, wrong, objects));
      if (probes.length === 0) outcomes.push(await this.nothing(name, objects));
      return outcomes;
    } finally {
      for (const object of [...objects, ...mark].toReversed()) this.api.remove(object);
    }
  }

  async stop(): Promise<void> {
    await stopAll(this.gateway);
    for (const origin of this.origins) {
      origin.closeAllConnections();
      origin.close();
    }
    await this.api.away();
  }

  private async outcome(
    test: string,
    probe: Probe,
    settings: readonly string[],
    objects: readonly ClusterObject[],
  ): Promise<Outcome> {
    const { wanted, host, path, fields } = probe;
    const asked = `\`${host}${path}\`${fields.length > 0 ? ` with \`${fields.join("`, `")}\`` : ""}`;
    if (settings.length > 0)
      return { test, asked, outcome: "not reached", said: `the case sets \`${settings[0]}\` of Traefik itself` };
    const far = wanted.servers.find((server) => !server.startsWith("http://10.10.0."));
    if (far !== undefined) return { test, asked, outcome: "not reached", said: `no origin of the suite is ${far}` };
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const got = await this.got(probe);
      const fault = differenceOf(wanted, got);
      if (fault === "") return { test, asked, outcome: "passed", said: "" };
      if (performance.now() < deadline) {
        await Bun.sleep(50);
        continue;
      }
      const named = this.named(objects.filter(({ kind }) => kind === "Ingress"));
      // edge serves nothing where it cannot keep what an annotation says about access.
      const isClosed = got.status === 503 && named !== "";
      return {
        test,
        asked,
        outcome: isClosed ? "closed" : "failed",
        said: named === "" ? fault : `${fault}; ${named}`,
      };
    }
  }

  /** A case of which Traefik makes no router. */
  private async nothing(test: string, objects: readonly ClusterObject[]): Promise<Outcome> {
    const hosts = objects.flatMap(({ spec }) =>
      ((spec as { rules?: { host?: string }[] } | undefined)?.rules ?? []).map(({ host = "" }) => host),
    );
    const deadline = performance.now() + SETTLE_MS;
    for (const host of hosts) {
      for (;;) {
        const { status } = await this.ask(host, "/", []);
        if (status === 404 || status === 503) break;
        if (performance.now() > deadline)
          return { test, asked: `\`${host}/\``, outcome: "failed", said: `${status}, of Traefik 404` };
        await Bun.sleep(50);
      }
    }
    return { test, asked: hosts.map((host) => `\`${host}/\``).join(", "), outcome: "passed", said: "" };
  }

  private async got(probe: Probe): Promise<Wanted> {
    const reply = await this.ask(probe.host, probe.path, probe.fields);
    const seen = reply.fields.get("content-type")?.includes("x-seen")
      ? (json(reply) as { server: string; path: string; host: string; prefix: string })
      : null;
    return {
      status: reply.status,
      location: reply.fields.get("location") ?? "",
      servers: seen === null ? [] : [seen.server],
      path: seen?.path ?? "",
      host: seen?.host ?? "",
      prefix: seen?.prefix ?? "",
      response: Object.fromEntries(
        Object.keys(probe.wanted.response).map((name) => [
          name.toLowerCase(),
          reply.fields.get(name.toLowerCase()) ?? "",
        ]),
      ),
    };
  }

  private async ask(host: string, path: string, fields: readonly string[]): Promise<Reply> {
    const client = await RawClient.connect(this.http, ADDRESS);
    try {
      client.send(request(`GET ${path}`, [`Host: ${host}`, ...fields]));
      return await client.reply();
    } finally {
      client.close();
    }
  }

  /** What edge has told the cluster of these Ingresses. It tells the same once. */
  private named(objects: readonly ClusterObject[]): string {
    const names = objects.map(({ metadata }) => metadata.name);
    const all = this.api.events as unknown as {
      involvedObject?: { name: string };
      reason?: string;
      message?: string;
    }[];
    const told = all.filter(({ involvedObject }) => names.includes(involvedObject?.name ?? ""));
    return [...new Set(told.map(({ reason = "", message = "" }) => `${reason}: ${message}`))].join("; ");
  }

  private async settled(name: string): Promise<void> {
    const deadline = performance.now() + START_MS;
    while ((await this.ask(`${name}.test`, "/", []).catch(() => null))?.status !== 200) {
      if (performance.now() > deadline) throw new Error(`the cluster's ${name} is not served`);
      await Bun.sleep(20);
    }
  }

  /** An Ingress that is there when the others are. */
  private sentinel(): ClusterObject[] {
    const name = `sentinel-${++this.count}`;
    const meta = { name, namespace: "sentinel" };
    return [
      {
        ...{ kind: "Ingress", metadata: meta },
        spec: {
          ingressClassName: "sentinel",
          rules: [
            {
              host: `${name}.test`,
              http: {
                paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { number: 80 } } } }],
              },
            },
          ],
        },
      },
      { kind: "IngressClass", metadata: { name: "sentinel" }, spec: { controller: "edge.dev/gateway" } },
      { kind: "Service", metadata: meta, spec: { ports: [{ name: "http", port: 80 }] } },
      {
        ...{ kind: "EndpointSlice", metadata: { ...meta, labels: { "kubernetes.io/service-name": name } } },
        ...{ addressType: "IPv4", ports: [{ name: "http", port: this.port(80) }] },
        endpoints: [{ addresses: ["127.10.0.99"], conditions: { ready: true } }],
      },
    ];
  }

  private objectsOf(path: string): readonly ClusterObject[] {
    const known = this.documents.get(path);
    if (known !== undefined) return known;
    const text = readFileSync(join(this.folder, path), "utf8");
    const objects = text
      .split(/^---\s*$/m)
      .map((part) => Bun.YAML.parse(part) as ClusterObject | null)
      .filter((one): one is ClusterObject => one !== null && typeof one === "object")
      .map((one) => this.placed(one));
    this.documents.set(path, objects);
    return objects;
  }

  /** An object as it is in this cluster: its class is edge's, and its endpoints are here. */
  private placed(object: ClusterObject): ClusterObject {
    if (object.kind === "IngressClass") return { ...object, spec: { controller: "edge.dev/gateway" } };
    if (object.kind !== "EndpointSlice") return object;
    const { ports = [], endpoints = [] } = object as unknown as {
      ports?: { port?: number }[];
      endpoints?: { addresses?: string[] }[];
    };
    return {
      ...object,
      ports: ports.map((one) => (one.port === undefined ? one : { ...one, port: this.port(one.port) })),
      endpoints: endpoints.map((one) => ({
        ...one,
        addresses: (one.addresses ?? []).map((address) => address.replace(/^10\./, "127.")),
      })),
    };
  }

  /** The port of this machine for one of the fixtures. Origins listen at it on every loopback address. */
  private port(fixture: number): number {
    const known = this.ports.get(fixture);
    if (known !== undefined) return known;
    const origin = createServer((request, response) => respond(request, response, fixture));
    origin.listen(0, "0.0.0.0");
    const { port } = origin.address() as AddressInfo;
    this.origins.push(origin);
    this.ports.set(fixture, port);
    return port;
  }
}

/** Says which endpoint this is, and what it has seen. */
function respond({ url = "", headers, socket }: IncomingMessage, response: ServerResponse, fixture: number): void {
  const address = (socket.localAddress ?? "").replace(/^127\./, "10.");
  response.setHeader("content-type", "application/x-seen+json");
  response.end(
    JSON.stringify({
      server: `http://${address}:${fixture}`,
      path: url,
      host: headers.host ?? "",
      prefix: headers["x-forwarded-prefix"] ?? "",
    }),
  );
}

/** What differs between what Traefik does with a request and what edge has done; "" for nothing. */
function differenceOf(wanted: Wanted, got: Wanted): string {
  if (got.status !== wanted.status) return `${got.status}, of Traefik ${wanted.status}`;
  if (got.location !== wanted.location) return `to ${got.location}, of Traefik ${wanted.location}`;
  const [server = ""] = got.servers;
  if (wanted.servers.length > 0 && !wanted.servers.includes(server))
    return `by ${server}, of Traefik ${wanted.servers}`;
  for (const key of ["path", "host", "prefix"] as const)
    if (got[key] !== wanted[key]) return `${key} ${got[key]}, of Traefik ${wanted[key]}`;
  for (const [name, value] of Object.entries(wanted.response)) {
    const found = got.response[name.toLowerCase()] ?? "";
    if (found !== value) return `${name}: ${found}, of Traefik ${value}`;
  }
  return "";
}
