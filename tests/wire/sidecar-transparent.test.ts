// docs/sidecar.md#transparent-egress, with the kernel's own redirection, in a network namespace.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { RedirectedSights } from "../harness/redirected-namespace.ts";

const NAMESPACE = `edge-${process.pid}`;

/** Whether the kernel lets a namespace be made in which connections are redirected. */
function canRedirect(): boolean {
  const tools = ["ip", "iptables", "ip6tables", "setpriv"];
  if (tools.some((tool) => Bun.which(tool, { PATH }) === null)) return false;
  if (Bun.spawnSync(["ip", "netns", "add", NAMESPACE], { env: { PATH } }).exitCode !== 0) return false;
  const probe = ["-t", "nat", "-A", "OUTPUT", "-p", "tcp", "--dport", "9", "-m", "owner", "--gid-owner", "1"];
  return ["iptables", "ip6tables"].every(
    (tool) => inNamespace(tool, ...probe, "-j", "REDIRECT", "--to-ports", "9").exitCode === 0,
  );
}

function inNamespace(...command: string[]) {
  return Bun.spawnSync(["ip", "netns", "exec", NAMESPACE, ...command], { env: { ...process.env, PATH } });
}

const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
const isPossible = canRedirect();
if (!isPossible) console.log("skipped: redirected connections need root, network namespaces and iptables");
afterAll(() => {
  Bun.spawnSync(["ip", "netns", "del", NAMESPACE], { env: { PATH } });
});

describe.skipIf(!isPossible)("connections that the kernel redirects", () => {
  let any: RedirectedSights;
  let registry: RedirectedSights;

  beforeAll(() => {
    const program = join(import.meta.dir, "..", "harness", "redirected-namespace.ts");
    const { stdout, stderr } = inNamespace(process.execPath, program);
    const text = stdout.toString();
    if (!text.startsWith("{")) throw new Error(stderr.toString() + text);
    ({ any, registry } = JSON.parse(text) as Record<"any" | "registry", RedirectedSights>);
  }, 60_000);

  test("go to where they were going, whatever the request says", () => {
    expect([any.first, any.otherName, any.second]).toEqual(["200 10.77.0.1", "200 10.77.0.1", "200 10.77.0.2"]);
    expect(any.away).toBe("502");
  });

  test("over IPv6, too", () => {
    expect(any.ipv6).toBe("200 fd77::1");
  });

  test("go by a split where one takes them", () => {
    expect([any.split, registry.split]).toEqual(["200 10.77.0.3", "200 10.77.0.3"]);
  });

  test("that were not redirected go where the request says", () => {
    expect(any.direct).toBe("200 10.77.0.2");
  });

  test("of the gateway's own end: no listener of its own is reached, and a circle is cut", () => {
    expect([any.own, any.loop]).toEqual(["508", "508"]);
  });

  test("with registry_only nothing but splits is reached", () => {
    const { split: _, ...others } = registry;
    expect(new Set(Object.values(others))).toEqual(new Set(["403"]));
  });
});
