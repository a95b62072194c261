import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AdminApi, type Any, API, type Item, NODE } from "./api.ts";

interface RunningPod {
  readonly namespace: string;
  readonly name: string;
  readonly netns: string;
  readonly child: Bun.Subprocess;
  readonly lines: { readonly at: number; readonly text: string }[];
}

/** A node whose pods are processes, each in a network namespace of its own on the bridge br0. */
export class ProcessNode {
  private readonly api: AdminApi;
  private readonly home: string;
  private readonly pods: Map<string, RunningPod | null> = new Map();
  private next = 10;

  constructor(api: AdminApi, home: string) {
    this.api = api;
    this.home = home;
  }

  async run(): Promise<never> {
    const labels = { "kubernetes.io/hostname": NODE };
    await this.api.call("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: NODE, labels } });
    await this.api.patch(`/api/v1/nodes/${NODE}/status`, {
      status: {
        addresses: [{ type: "InternalIP", address: API }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
        conditions: [{ type: "Ready", status: "True", reason: "Harness", lastTransitionTime: nowText() }],
      },
    });
    this.serveLogs();
    for (;;) {
      try {
        await this.look();
      } catch (error) {
        console.error(`node: ${(error as Error).message}`);
      }
      await Bun.sleep(150);
    }
  }

  private async look(): Promise<void> {
    const all = await this.api.list("/api/v1/pods");
    const there = new Set(all.map(({ metadata }) => metadata.uid));
    for (const pod of all) {
      const { uid, deletionTimestamp, namespace, name } = pod.metadata;
      if (deletionTimestamp !== undefined) {
        this.end(uid);
        const body = { gracePeriodSeconds: 0, preconditions: { uid } };
        await this.api.call("DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, body);
      } else if (!this.pods.has(uid)) {
        this.pods.set(uid, null);
        void this.start(pod).catch((error: Error) => console.error(`pod ${name}: ${error.message}`));
      }
    }
    for (const uid of this.pods.keys()) if (!there.has(uid)) this.end(uid);
  }

  private async start(pod: Item): Promise<void> {
    const { uid, namespace, name } = pod.metadata;
    const index = this.next++;
    const ip = `10.244.${Math.floor(index / 250)}.${(index % 250) + 1}`;
    const netns = `edge-kube-${index}`;
    const [container] = pod.spec.containers;
    await this.api.call("POST", `/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
      ...{ apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: NODE } },
    });
    const link = `p${index}`;
    for (const args of [
      ["netns", "add", netns],
      ["link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", netns],
      ["link", "set", link, "master", "br0", "up"],
      ["-n", netns, "link", "set", "lo", "up"],
      ["-n", netns, "addr", "add", `${ip}/16`, "dev", "eth0"],
      ["-n", netns, "link", "set", "eth0", "up"],
      ["-n", netns, "route", "add", "default", "via", "10.244.0.1"],
    ])
      Bun.spawnSync(["ip", ...args]);
    const mounts = await this.mounts(pod, container);
    const env = envOf(pod, container, ip, mounts);
    const command = container.image.includes("coredns")
      ? [process.execPath, join(import.meta.dir, "dns.ts")]
      : [join(this.home, "bin", "echo-basic")];
    const child = Bun.spawn(["ip", "netns", "exec", netns, ...command], { env, stdout: "pipe", stderr: "pipe" });
    const running: RunningPod = { namespace, name, netns, child, lines: [] };
    this.pods.set(uid, running);
    for (const stream of [child.stdout, child.stderr]) void keepLines(stream, running);
    await Bun.sleep(300);
    await this.api.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { status: readyStatus(container, ip) });
  }

  private end(uid: string): void {
    const pod = this.pods.get(uid);
    this.pods.delete(uid);
    if (pod === null || pod === undefined) return;
    pod.child.kill(9);
    Bun.spawnSync(["ip", "netns", "del", pod.netns]);
  }

  /** Secrets and ConfigMaps of the pod as folders, by the path at which the container has them. */
  private async mounts({ metadata, spec }: Item, container: Any): Promise<ReadonlyMap<string, string>> {
    const folders = new Map<string, string>();
    for (const volume of spec.volumes ?? []) {
      const secret = volume.secret?.secretName;
      const source = secret ?? volume.configMap?.name;
      if (source === undefined) continue;
      const path = `/api/v1/namespaces/${metadata.namespace}/${secret === undefined ? "configmaps" : "secrets"}/${source}`;
      let found = await this.api.call("GET", path);
      for (let left = 100; found.status !== 200 && left > 0; left--) {
        await Bun.sleep(200);
        found = await this.api.call("GET", path);
      }
      const folder = join(this.home, "volumes", metadata.uid, volume.name);
      mkdirSync(folder, { recursive: true });
      const items = (volume.secret ?? volume.configMap).items;
      for (const [key, text] of Object.entries<string>(found.body.data ?? {})) {
        const name = items === undefined ? key : items.find((one: Any) => one.key === key)?.path;
        const content = secret === undefined ? text : Buffer.from(text, "base64");
        if (name !== undefined) writeFileSync(join(folder, name), content);
      }
      const mount = container.volumeMounts?.find((one: Any) => one.name === volume.name);
      if (mount !== undefined) folders.set(mount.mountPath, folder);
    }
    return folders;
  }

  /** What `kubectl logs` asks a kubelet for. */
  private serveLogs(): void {
    const file = (name: string) => readFileSync(join(this.home, "pki", name), "utf8");
    Bun.serve({
      hostname: API,
      port: 10_250,
      tls: { cert: file("kubelet.crt"), key: file("kubelet.key") },
      fetch: (request) => {
        const url = new URL(request.url);
        const [, what, namespace, name] = url.pathname.split("/");
        if (what !== "containerLogs") return new Response(null, { status: 404 });
        const since = Date.parse(url.searchParams.get("sinceTime") ?? "1970-01-01T00:00:00Z");
        const all = [...this.pods.values()].filter((one) => one?.namespace === namespace && one?.name === name);
        const lines = all.flatMap((one) => one?.lines ?? []).filter(({ at }) => at >= since);
        return new Response(lines.map(({ text }) => text).join(""));
      },
    });
  }
}

function envOf(pod: Item, container: Any, ip: string, mounts: ReadonlyMap<string, string>): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  const fields: Record<string, string> = {
    ...{ "metadata.name": name, "metadata.namespace": namespace, "metadata.uid": uid, "status.podIP": ip },
  };
  const env: Record<string, string> = { PATH: "/usr/bin:/bin" };
  for (const { name: key, value, valueFrom } of container.env ?? []) {
    const text: string = value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ""] ?? "";
    const [mount = "", folder = ""] = [...mounts].find(([path]) => text.startsWith(`${path}/`)) ?? [];
    env[key] = mount === "" ? text : folder + text.slice(mount.length);
  }
  return env;
}

function readyStatus({ name, image }: Any, ip: string): object {
  const at = nowText();
  const types = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
  return {
    phase: "Running",
    ...{ podIP: ip, podIPs: [{ ip }], hostIP: API, hostIPs: [{ ip: API }], startTime: at },
    conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: at })),
    containerStatuses: [
      {
        ...{
          name,
          image,
          imageID: image,
          containerID: `process://${name}`,
          ready: true,
          started: true,
          restartCount: 0,
        },
        state: { running: { startedAt: at } },
      },
    ],
  };
}

async function keepLines(stream: ReadableStream<Uint8Array>, { lines }: RunningPod): Promise<void> {
  const text = new TextDecoder();
  for await (const part of stream) lines.push({ at: Date.now(), text: text.decode(part) });
}

function nowText(): string {
  return new Date().toISOString().replace(/\.\d+/, "");
}
