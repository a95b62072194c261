import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ContainerEngine } from "../../harness/container-engine.ts";
import { type Gateway, startGateway } from "../../harness/gateway.ts";
import { json, request } from "../../harness/raw-client.ts";
import { stopAll } from "../../harness/teardown.ts";
import { below, type GoObject, type GoValue, testCasesOf, textsOf } from "./go-literal.ts";
import type { Outcome } from "./ingresses.ts";

type Labels = Readonly<Record<string, string>>;

/** Cases of Traefik that it runs with another setting of its own. */
const SETTINGS = ["constraints", "useBindPortIP", "allowEmptyServices"];
const SETTLE_MS = 1500;
const START_MS = 10_000;
const NO_CASE: Outcome[] = [];

/** Runs the cases of Traefik's provider for Docker: the same containers have the same routes to the same servers. */
export async function runLabels(checkout: string): Promise<Outcome[]> {
  const cases = readFileSync(join(checkout, "pkg/provider/docker/config_test.go"), "utf8");
  const labels = readFileSync(join(checkout, "pkg/config/label/label_test.go"), "utf8");
  const engine = await new ContainerEngine().open();
  const gateway = await startGateway({
    config: {
      providers: {
        docker: {
          endpoint: `unix:${engine.socket}`,
          exposed_by_default: true,
          // As the default rule of the cases.
          default_host: "{name}.traefik.wtf",
        },
      },
    },
    routes: [],
  });
  const site = new Site(engine, gateway);
  try {
    const outcomes = NO_CASE.slice();
    for (const test of testCasesOf(cases, "TestDynConfBuilder_build")) outcomes.push(await site.run(test));
    for (const [name, own] of middlewaresOf(textsOf(labels, "TestDecodeConfiguration", "labels")))
      outcomes.push(await site.middleware(name, own));
    return outcomes;
  } finally {
    await stopAll(gateway);
    engine.stop();
  }
}

/** The labels of each middleware of one large example. */
function middlewaresOf(labels: Labels): Map<string, Labels> {
  const all = new Map<string, Labels>();
  for (const [label, value] of Object.entries(labels)) {
    const [, name] = /^traefik\.http\.middlewares\.([^.]+)\./i.exec(label) ?? [];
    if (name !== undefined) all.set(name, { ...all.get(name), [label]: value });
  }
  return all;
}

/** A gateway beside an engine with the containers of a case. */
class Site {
  private count = 0;

  constructor(
    private readonly engine: ContainerEngine,
    private readonly gateway: Gateway,
  ) {}

  async run(test: GoObject): Promise<Outcome> {
    const name = String(test.desc);
    const containers = (test.containers as readonly GoValue[]).map(containerOf);
    const labels = containers.flatMap((one) => Object.keys(one.labels));
    const other = SETTINGS.find((key) => test[key] !== undefined);
    const wanted = wantedOf(test);
    const asked = wanted.length === 0 ? "no route" : wanted.map((line) => `\`${line}\``).join(", ");
    const all = { test: name, asked };
    if (other !== undefined)
      return { ...all, outcome: "not reached", said: `the case sets \`${other}\` of Traefik itself` };
    const { got, told } = await this.routesWith(containers, (found) => String(found) === String(wanted));
    if (String(got) === String(wanted)) return { ...all, outcome: "passed", said: "" };
    const difference = `edge has ${got.length === 0 ? "no route" : got.map((line) => `\`${line}\``).join(", ")}`;
    const isStream = wanted.length === 0 && labels.some((label) => /^traefik\.(tcp|udp)\./i.test(label));
    const isFewer = got.every((line) => wanted.includes(line)) && told !== "";
    const said = `${difference}${told === "" ? "" : `; ${told}`}`;
    return { ...all, outcome: isFewer ? "closed" : isStream ? "not reached" : "failed", said };
  }

  /** A router with one middleware. */
  async middleware(name: string, labels: Labels): Promise<Outcome> {
    const kinds = new Set(Object.keys(labels).map((label) => label.split(".")[4]!.toLowerCase()));
    const own = {
      ...labels,
      "traefik.http.routers.r.rule": "Host(`m.test`)",
      "traefik.http.routers.r.middlewares": name,
    };
    const plan = { name: "m", labels: own, address: "127.0.0.1", network: "bridge", ports: [80] };
    const wanted = ["m.test / http://127.0.0.1:80"];
    const { got, told } = await this.routesWith([plan], (found) => String(found) === String(wanted));
    const isThere = got.length > 0;
    const all = { test: `label test: ${[...kinds].join(", ")}`, asked: `${Object.keys(labels).length} labels` };
    if (isThere && told === "") return { ...all, outcome: "passed", said: "" };
    return { ...all, outcome: isThere ? "passed" : told === "" ? "failed" : "closed", said: told };
  }

  /** The routes of containers as `host path servers`, and what edge has said of their labels. */
  private async routesWith(
    containers: readonly ReturnType<typeof containerOf>[],
    isRight: (routes: readonly string[]) => boolean,
  ): Promise<{ got: string[]; told: string }> {
    const mark = `sentinel-${++this.count}`;
    const keys = containers.map((_, i) => `${mark}-${i}`);
    const from = this.gateway.logs.json.length;
    for (const [i, plan] of containers.entries()) this.engine.start(keys[i]!, plan);
    this.engine.start(mark, { labels: { "edge.enable": "true", [`edge.routes.${mark}.host`]: mark }, ports: [80] });
    try {
      const started = performance.now();
      let got: string[] = [];
      for (let isSeen = false; ; ) {
        const all = await this.listed();
        isSeen ||= all.some((line) => line.startsWith(mark));
        got = all.filter((line) => !line.startsWith("sentinel-"));
        const age = performance.now() - started;
        if (isSeen && (isRight(got) || age > SETTLE_MS)) break;
        if (age > START_MS) throw new Error(`the containers of ${mark} are not served`);
        await Bun.sleep(20);
      }
      const lines = this.gateway.logs.json
        .slice(from)
        .filter(({ event }) => event === "label_ignored" || event === "route_invalid");
      const told = lines.map(({ label, reason, faults }) =>
        label === undefined ? String(faults) : `\`${String(label)}\`: ${String(reason)}`,
      );
      return { got, told: [...new Set(told)].join("; ") };
    } finally {
      for (const key of [...keys, mark]) this.engine.end(key);
      await this.emptied();
    }
  }

  private async emptied(): Promise<void> {
    const deadline = performance.now() + START_MS;
    while ((await this.listed()).length > 0) {
      if (performance.now() > deadline) throw new Error("routes of ended containers stay");
      await Bun.sleep(20);
    }
  }

  private async listed(): Promise<string[]> {
    const reply = await this.gateway.once(request("GET /internal/api/routes", ["Host: localhost"]));
    const { routes } = json(reply) as {
      routes: { prefix?: string; path?: string; regex?: string; host?: string[]; targets?: { url: string }[] }[];
    };
    return routes
      .flatMap(({ prefix, path, regex, host = [], targets = [] }) => {
        const servers = targets
          .map(({ url }) => new URL(url).origin)
          .toSorted()
          .join(" ");
        return (host.length === 0 ? [""] : host).map((one) => `${one} ${path ?? prefix ?? regex ?? "/"} ${servers}`);
      })
      .toSorted();
  }
}

/** A container of the table of cases, as the engine shows it. */
function containerOf(value: GoValue) {
  const networks = (below(value, "NetworkSettings", "Networks") ?? {}) as GoObject;
  const [network = "bridge"] = Object.keys(networks);
  const ports = Object.keys((below(value, "NetworkSettings", "Ports") ?? {}) as GoObject);
  return {
    name: String(below(value, "Name")),
    labels: Object.fromEntries(
      Object.entries((below(value, "Labels") ?? {}) as GoObject).map(([key, text]) => [key, String(text)]),
    ),
    address: String(below(networks, network, "Addr") ?? "127.0.0.1"),
    network,
    ports: ports.filter((port) => port.endsWith("/tcp")).map((port) => Number.parseInt(port, 10)),
    ...(below(value, "Health") === undefined ? {} : { health: String(below(value, "Health")) }),
  };
}

/** What Traefik makes of a case, as `host path servers`. */
function wantedOf(test: GoObject): string[] {
  const http = below(test, "expected", "HTTP");
  const routers = Object.values((below(http, "Routers") ?? {}) as GoObject);
  return routers
    .flatMap((router) => {
      const rule = String(below(router, "Rule") ?? "");
      const hosts = [...rule.matchAll(/Host\(`([^`]+)`\)/g)].map(([, host]) => host!.toLowerCase());
      const path = /Path(?:Prefix)?\(`([^`]+)`\)/.exec(rule)?.[1] ?? "/";
      const servers = below(http, "Services", String(below(router, "Service")), "LoadBalancer", "Servers");
      const urls = Array.isArray(servers)
        ? servers.map((one: GoValue) => new URL(String(below(one, "URL"))).origin)
        : [];
      // Without a server Traefik refuses every request, and edge has no route.
      if (urls.length === 0) return [];
      return (hosts.length === 0 ? [""] : hosts).map((host) => `${host} ${path} ${urls.toSorted().join(" ")}`);
    })
    .toSorted();
}
