// scripts/examples/kubernetes: that the manifests are what Kubernetes takes, and that what they promise of the gateway holds.
// docs/kubernetes.md
import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { makeCertificate } from "../harness/certificate.ts";
import { EDGE_BINARY, freePort, startGateway } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";

// biome-ignore lint/suspicious/noExplicitAny: manifests have the shape that their schemas say
type Manifest = any;

const FOLDER = join(import.meta.dir, "..", "..", "scripts", "examples", "kubernetes");
const ROOTS = ["base", "overlays/reload", "overlays/fleet", "overlays/prometheus", "sidecar"];
const INSTALL_MS = 400_000;
const KINDS = [
  ...["namespace-v1", "serviceaccount-v1", "configmap-v1", "service-v1", "deployment-apps-v1"],
  ...["poddisruptionbudget-policy-v1", "horizontalpodautoscaler-autoscaling-v2", "networkpolicy-networking-v1"],
];
const folder = mkdtempSync(join(tmpdir(), "edge-kubernetes-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const textOf = (path: string): string => readFileSync(join(FOLDER, path), "utf8");
const manifest = (path: string): Manifest => parse(textOf(path));
const seconds = (text: string): number => Number(/^(\d+)s$/.exec(text)![1]);

describe("the manifests", () => {
  const deployment = manifest("base/deployment.yaml").spec.template.spec;
  const container = deployment.containers[0];

  for (const [name, path, grace] of [
    ["the base", "base/config/config.yaml", deployment.terminationGracePeriodSeconds],
    ["the fleet", "overlays/fleet/config.yaml", deployment.terminationGracePeriodSeconds],
    [
      "the sidecar",
      "sidecar/inbound.yaml",
      manifest("sidecar/with-edge.yaml").spec.template.spec.terminationGracePeriodSeconds,
    ],
  ] as const)
    test(`${name}: a configuration that edge takes, with a pod that lives longer than its drain`, async () => {
      const { server } = parse(textOf(path));
      expect(grace).toBeGreaterThan(seconds(server.drain_delay) + seconds(server.shutdown_timeout));
      const { cert, key } = await makeCertificate();
      for (const [file, text] of [
        ["tls.crt", cert],
        ["tls.key", key],
        ["ca.crt", cert],
      ] as const)
        writeFileSync(join(folder, file), text, { mode: 0o600 });
      const own = mkdtempSync(join(folder, "check-"));
      writeFileSync(join(own, "config.yaml"), textOf(path).replaceAll("/run/identity", folder));
      writeFileSync(
        join(own, "routes.yaml"),
        textOf(path.startsWith("sidecar") ? "sidecar/routes.yaml" : "base/config/routes.yaml"),
      );
      const env = { PATH: process.env.PATH ?? "", REDIS_PASSWORD: "x", POD_NAME: "edge-0" };
      const run = await runProcess([EDGE_BINARY, "check", "--config", "config.yaml", "--routes", "routes.yaml"], {
        cwd: own,
        env,
        timeout: INSTALL_MS,
      });
      expect([run.code, run.stderr]).toEqual([0, ""]);
    });

  test("ports, probes and selectors fit each other and the configuration", () => {
    const { server, internal_api } = parse(textOf("base/config/config.yaml"));
    const ports = new Map(container.ports.map((port: Manifest) => [port.name, port.containerPort]));
    expect(ports.get("http")).toBe(server.port);
    expect(internal_api.listen).toBe(`0.0.0.0:${ports.get("internal")}`);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
      expect([...ports.keys()]).toContain(container[probe].httpGet.port);
    expect(container.livenessProbe.httpGet.path).not.toBe(container.readinessProbe.httpGet.path);
    // The pod is taken out before the gateway refuses anything.
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(periodSeconds * failureThreshold).toBeLessThan(seconds(server.drain_delay));
    const [, internal] = parseAllDocuments(textOf("base/service.yaml")).map((document) => document.toJS() as Manifest);
    const monitor = manifest("overlays/prometheus/service-monitor.yaml").spec;
    const { resources } = manifest("base/kustomization.yaml");
    for (const path of resources)
      for (const { apiVersion } of parseAllDocuments(textOf(`base/${path}`)).map((one) => one.toJS() as Manifest))
        expect(apiVersion).toMatch(/^(?:apps|policy|autoscaling|networking\.k8s\.io)?\/?v\d$/);
    expect(monitor.selector.matchLabels).toMatchObject(internal.metadata.labels);
    expect(monitor.endpoints[0].port).toBe(internal.spec.ports[0].name);
  });

  test("the metric that the autoscaler goes by is one of the gateway's", async () => {
    const pods = manifest("base/autoscaler.yaml").spec.metrics.filter((metric: Manifest) => metric.type === "Pods");
    const gateway = await startGateway();
    for (const { pods: of } of pods)
      expect((await gateway.samples()).some(({ name }) => name === of.metric.name)).toBe(true);
    await gateway.stop();
  });
});

const canConfine = process.getuid?.() === 0 && Bun.which("unshare") !== null && Bun.which("setpriv") !== null;
if (!canConfine) console.log("skipped: a read-only root needs to be root, unshare and setpriv (Debian: util-linux)");

test.skipIf(!canConfine)(
  "a root that cannot be written, a user who is none, no capability: it serves, drains and ends",
  async () => {
    const [port, internal] = [freePort(), freePort()];
    const own = mkdtempSync(join(folder, "confined-"));
    chmodSync(own, 0o755);
    const config = textOf("base/config/config.yaml")
      .replace("port: 8080", `port: ${port}`)
      .replace("0.0.0.0:9090", `127.0.0.1:${internal}`)
      .replace("drain_delay: 10s", "drain_delay: 1s");
    writeFileSync(join(own, "config.yaml"), config);
    writeFileSync(join(own, "routes.yaml"), textOf("base/config/routes.yaml"));
    const confine = [
      "mount --make-rprivate /",
      "mount -o remount,bind,ro /",
      `mount --bind ${own} ${own}`,
      `mount -o remount,bind,ro ${own}`,
      `cd ${own}`,
      `exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`,
    ].join(" && ");
    const log = Bun.file(join(folder, "confined.log"));
    const child = Bun.spawn(
      [
        ...["unshare", "--mount", "sh", "-c", confine, "sh"],
        EDGE_BINARY,
        "serve",
        "--config",
        "config.yaml",
        "--routes",
        "routes.yaml",
      ],
      { env: { PATH: process.env.PATH ?? "" }, stdin: "ignore", stdout: log, stderr: "inherit" },
    );
    const health = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ status }) => status,
        () => 0,
      );
    const until = async (wanted: number) => {
      for (let status = 0; status !== wanted && child.exitCode === null; await Bun.sleep(20)) status = await health();
    };
    try {
      await until(200);
      const status = readFileSync(`/proc/${child.pid}/status`, "latin1");
      expect(/^Uid:\t(\d+)/m.exec(status)?.[1]).toBe("65532");
      expect(/^CapEff:\t(\w+)/m.exec(status)?.[1]).toBe("0000000000000000");
      child.kill("SIGTERM");
      await until(503);
      expect(await child.exited).toBe(0);
      expect((await log.text()).includes('"listening"')).toBe(true);
    } finally {
      child.kill("SIGKILL");
    }
  },
  30_000,
);

const hasWget = Bun.which("wget") !== null;
if (!hasWget) console.log("skipped: the reload container's script needs wget (Debian: apt install wget)");

test.skipIf(!hasWget)(
  "the reload container's script takes a changed ConfigMap up, and keeps asking until it is taken",
  async () => {
    // As the kubelet lays it out.
    const mount = mkdtempSync(join(folder, "mount-"));
    const routes = (body: string) => `- {path: /x, type: respond, body: ${body}}\n`;
    const put = (name: string, text: string) => {
      mkdirSync(join(mount, name));
      writeFileSync(join(mount, name, "routes.yaml"), text);
      symlinkSync(name, join(mount, "..new"));
      renameSync(join(mount, "..new"), join(mount, "..data"));
    };
    put("..1", routes("one"));
    symlinkSync("..data/routes.yaml", join(mount, "routes.yaml"));
    const internal = freePort();
    const gateway = await startGateway({
      config: { internal_api: { listen: `127.0.0.1:${internal}` } },
      args: ["--routes", join(mount, "routes.yaml")],
    });
    const script = manifest("overlays/reload/reloader.yaml").spec.template.spec.containers[0].command[2];
    const env = { PATH: process.env.PATH ?? "", CONFIG_DIR: mount, PORT: String(internal), PAUSE: "0.1" };
    const child = Bun.spawn(["sh", "-c", script], { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    const body = async () => (await gateway.once(request("GET /x"))).text;
    const until = async (wanted: string) => {
      while ((await body()) !== wanted) await Bun.sleep(20);
    };
    try {
      expect(await body()).toBe("one");
      put("..2", "- {path: /x, type: nonsense}\n");
      await gateway.log("the refusal", (line) => line.event === "config_reload" && line.ok === false);
      expect(await body()).toBe("one");
      put("..3", routes("three"));
      await until("three");
    } finally {
      child.kill("SIGTERM");
      await child.exited;
      await gateway.stop();
    }
  },
  30_000,
);

const tools = IS_LONG ? await installTools() : null;

/** kustomize, kubeconform and the schemas of the API; null where one of them cannot be had, which is said in one line. */
async function installTools(): Promise<{
  readonly kustomize: string;
  readonly kubeconform: string;
  readonly schemas: string;
} | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  const steps = [
    [go ?? "go", "install", "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1"],
    [go ?? "go", "install", "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"],
    ["python3", "-m", "venv", join(folder, "python")],
    [join(folder, "python", "bin", "pip"), "install", "-q", "kubernetes-validate==1.37.0"],
  ];
  for (const step of steps) {
    const env = { ...process.env, GOBIN: folder, GOTOOLCHAIN: "local" };
    const run = await runProcess(step, { env, timeout: INSTALL_MS }).catch(() => ({ code: 1 }));
    if (run.code === 0) continue;
    console.log(
      `skipped: the manifests' check needs kustomize, kubeconform and kubernetes-validate; not to be had: ${step[2]}`,
    );
    return null;
  }
  return {
    kustomize: join(folder, "kustomize"),
    kubeconform: join(folder, "kubeconform"),
    schemas: await writeSchemas(),
  };
}

/** The schemas of kubernetes-validate, each by itself: kubeconform does not follow their references to a file beside them. */
async function writeSchemas(): Promise<string> {
  const [from] = [
    ...new Bun.Glob("python/lib/*/site-packages/**/v1.36.0-local-strict/_definitions.json").scanSync(folder),
  ];
  const source = join(folder, from!, "..");
  const read = (name: string): Manifest =>
    JSON.parse(readFileSync(join(source, name), "utf8").replaceAll("/api/_definitions.json#", "#"));
  const { $defs } = read("_definitions.json");
  const target = join(folder, "schemas");
  mkdirSync(target);
  for (const kind of KINDS) {
    const { $id: _, ...schema } = read(`${kind}.json`);
    writeFileSync(join(target, `${kind}.json`), JSON.stringify({ ...schema, $defs }));
  }
  return target;
}

describe.skipIf(tools === null)("kustomize and kubeconform", () => {
  for (const root of ROOTS)
    test(`${root}: builds, and each resource is what the API takes`, async () => {
      const { kustomize, kubeconform, schemas } = tools!;
      const built = await runProcess([kustomize, "build", join(FOLDER, root)], { timeout: INSTALL_MS });
      expect([built.code, built.stderr]).toEqual([0, ""]);
      const file = join(folder, `${root.replace("/", "-")}.yaml`);
      writeFileSync(file, built.stdout);
      const location = join(schemas, "{{.ResourceKind}}{{.KindSuffix}}.json");
      // The schema of the operator's own kind is not the API's; what a cluster without the operator gets has no such kind.
      const skipped = root === "overlays/prometheus" ? ["-skip", "ServiceMonitor"] : [];
      const flags = ["-strict", "-summary", ...skipped, "-schema-location", location];
      const checked = await runProcess([kubeconform, ...flags, file], { timeout: INSTALL_MS });
      console.log(`${root}: ${checked.stdout.trim()}`);
      expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/Invalid: 0, Errors: 0/)]);
    }, 60_000);
});
