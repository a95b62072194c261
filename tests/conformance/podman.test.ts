// docs/providers.md#docker-and-podman, on a real engine: Podman, which speaks Docker's API.
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { IS_LONG, longTest } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";

const folder = mkdtempSync(join(tmpdir(), "podman-"));
const socket = join(folder, "engine.sock");
const FLAGS = ["--runtime", "runc", "--cgroup-manager=cgroupfs", "--storage-driver=vfs"];
const PLACES = [`--root=${folder}/root`, `--runroot=${folder}/run`];
const LIMITS = ["--ulimit", "nofile=1000:1000", "--ulimit", "nproc=5000:5000"];

const STARTS = 100;
const REQUESTS = 50_000;

/** Runs Podman with a storage of its own. @returns whether it has succeeded */
async function podman(...args: readonly string[]): Promise<boolean> {
  const child = Bun.spawn(["podman", ...FLAGS, ...PLACES, ...args], {
    timeout: 60_000,
    stdout: "ignore",
    stderr: "ignore",
  });
  return (await child.exited) === 0;
}

/** An image of one static binary, which serves files. */
async function canRun(): Promise<boolean> {
  const busybox = Bun.which("busybox");
  if (!IS_LONG || busybox === null || Bun.which("podman") === null || Bun.which("runc") === null) return false;
  copyFileSync(busybox, join(folder, "busybox"));
  writeFileSync(join(folder, "index.html"), "served");
  const file =
    "FROM scratch\nCOPY busybox /busybox\nCOPY index.html /www/index.html\nEXPOSE 8000\nSTOPSIGNAL SIGKILL\n";
  writeFileSync(
    join(folder, "Containerfile"),
    `${file}ENTRYPOINT ["/busybox", "httpd", "-f", "-p", "8000", "-h", "/www"]\n`,
  );
  return (await podman("build", "-q", "-t", "files", folder)) && (await run("probe", {}));
}

function run(name: string, labels: Readonly<Record<string, string>>): Promise<boolean> {
  const all = Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]);
  return podman("run", "-d", "--name", name, ...LIMITS, ...all, "files");
}

const isThere = await canRun();
if (IS_LONG && !isThere)
  console.log("skipped: podman with runc and busybox-static cannot run containers here (scripts/install-peers)");

describe.skipIf(!isThere)("with Podman", () => {
  let gateway: Gateway;
  let engine: ReturnType<typeof serve>;

  function serve() {
    rmSync(socket, { force: true });
    return Bun.spawn(["podman", ...FLAGS, ...PLACES, "system", "service", "--time=0", `unix://${socket}`], {
      stdout: "ignore",
      stderr: "ignore",
    });
  }

  beforeAll(async () => {
    engine = serve();
    gateway = await startGateway({ config: { providers: { docker: { endpoint: `unix:${socket}` } } }, routes: [] });
  });
  afterAll(async () => {
    await gateway?.stop();
    engine?.kill();
    await podman("rm", "-f", "-a", "-t", "0");
    rmSync(folder, { recursive: true, force: true });
  });

  const labels = (name: string) => ({ "edge.enable": "true", [`edge.routes.${name}.host`]: `${name}.test` });
  async function text(host: string): Promise<string> {
    const reply = await gateway.once(request("GET /", [`Host: ${host}`]));
    return reply.status === 200 ? reply.text : String(reply.status);
  }

  longTest("containers that start, stop and are missed while the engine is away lose no request", async () => {
    expect([await run("one", labels("shop")), await run("two", labels("shop"))]).toEqual([true, true]);
    const isComplete = () =>
      eventually(async () => {
        const reply = await gateway.once(request("GET /internal/api/config/routes", ["Host: localhost"]));
        expect(reply.text).toMatch(/shop \((one, two|two, one)\)/);
      });
    await isComplete();
    let isOver = false;
    const seen = new Map<string, number>();
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const found = await text("shop.test");
        seen.set(found, (seen.get(found) ?? 0) + 1);
      }
    });
    for (let round = 0; round < 5; round++) {
      expect(await podman("stop", "-t", "0", "one")).toBe(true);
      expect(await podman("start", "one")).toBe(true);
      await isComplete();
    }
    engine.kill("SIGKILL");
    await engine.exited;
    expect(await podman("stop", "-t", "0", "two")).toBe(true);
    expect(await run("late", labels("late"))).toBe(true);
    engine = serve();
    await eventually(async () => expect(await text("late.test")).toBe("served"));
    isOver = true;
    await Promise.all(clients);
    expect([...seen.keys()]).toEqual(["served"]);
    expect(await podman("rm", "-f", "-t", "0", "late")).toBe(true);
    await eventually(async () => expect(await text("late.test")).toBe("404"));
  });

  // A container serves once it is known to run: the time from there to its first response is edge's.
  longTest(
    "starts under load are taken up, and of 50,000 requests none is lost while containers stop",
    async () => {
      expect([await run("steady", labels("load")), await run("first", labels("load"))]).toEqual([true, true]);
      await eventually(async () => expect(await text("load.test")).toBe("served"));
      const seen = new Map<string, number>();
      let count = 0;
      let isOver = false;
      const clients = Array.from({ length: 8 }, async () => {
        while (!isOver || count < REQUESTS) {
          const found = await text("load.test");
          seen.set(found, (seen.get(found) ?? 0) + 1);
          count++;
        }
      });
      const times: number[] = [];
      for (let i = 0; i < STARTS; i++) {
        expect(await run(`s${i}`, labels(`s${i}`))).toBe(true);
        const from = performance.now();
        while ((await text(`s${i}.test`)) !== "served") await Bun.sleep(2);
        times.push(performance.now() - from);
        expect(await podman("rm", "-f", "-t", "0", `s${i}`)).toBe(true);
        if (i % 10 === 0) {
          expect(await podman("stop", "-t", "0", "first")).toBe(true);
          expect(await podman("start", "first")).toBe(true);
        }
      }
      isOver = true;
      await Promise.all(clients);
      times.sort((a, b) => a - b);
      const at = (share: number): string => `${Math.round(times[Math.floor(times.length * share)]!)} ms`;
      console.log(`${STARTS} starts: p50 ${at(0.5)}, p99 ${at(0.99)}; ${count} requests`);
      expect([...seen.keys()]).toEqual(["served"]);
    },
    1_200_000,
  );
});
