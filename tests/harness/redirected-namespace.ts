// A program of its own, run within a network namespace by sidecar-transparent.test.ts: an application whose connections the kernel
// redirects to a sidecar. It prints what was seen as one line of JSON.
import { EchoOrigin } from "./echo-origin.ts";
import { startGateway } from "./gateway.ts";
import { RawClient } from "./raw-client.ts";

/** What the test asserts: for each request its status, and the name of the server that saw it. */
export type RedirectedSights = Readonly<Record<string, string>>;

/** The group whose connections are not redirected: the sidecar's. */
const OWN_GROUP = "1337";
const PORT = 8000;
const EGRESS = 15_001;

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}

/** @param who the gateway's own connections are left out by their group; "" redirects those, too */
function redirect(program: "iptables" | "ip6tables", port: number, ...who: string[]): void {
  const rule = ["-p", "tcp", "--dport", String(port), ...who, "-j", "REDIRECT", "--to-ports", String(EGRESS)];
  run(program, "-t", "nat", "-A", "OUTPUT", ...rule);
}

async function ask(address: string, host: string, port = PORT): Promise<string> {
  const client = await RawClient.connect(port, address);
  const before = origins.map(([, origin]) => origin.requests.length);
  const reply = await client.exchange(`GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  client.close();
  const seen = origins.filter(([, origin], i) => origin.requests.length > before[i]!).map(([name]) => name);
  return [reply.status, ...seen].join(" ");
}

async function sights(outbound: string): Promise<RedirectedSights> {
  const gateway = await startGateway({
    runner: ["setpriv", "--regid", OWN_GROUP, "--clear-groups"],
    config: {
      sidecar: {
        enabled: true,
        mode: "egress",
        egress_host: "::",
        egress_port: EGRESS,
        transparent: true,
        outbound,
        traffic_splits: [{ prefix: "/", host: "split.test", backends: [{ target: "http://10.77.0.3:8000" }] }],
      },
    },
  });
  const seen = {
    first: await ask("10.77.0.1", "any.test"),
    otherName: await ask("10.77.0.1", "10.77.0.2:8000"),
    second: await ask("10.77.0.2", "any.test"),
    ipv6: await ask("fd77::1", "any.test"),
    split: await ask("10.77.0.1", "split.test"),
    away: await ask("10.77.0.9", "any.test"),
    direct: await ask("127.0.0.1", "10.77.0.2:8000", EGRESS),
    own: await ask("127.0.0.1", `127.0.0.1:${EGRESS}`, EGRESS),
    loop: await ask("10.77.0.1", "any.test", 8001),
  };
  await gateway.stop();
  return seen;
}

run("ip", "link", "set", "lo", "up");
for (const address of ["10.77.0.1/32", "10.77.0.2/32", "10.77.0.3/32", "10.77.0.9/32"])
  run("ip", "address", "add", address, "dev", "lo");
run("ip", "-6", "address", "add", "fd77::1/128", "dev", "lo", "nodad");
const origins = (["10.77.0.1", "10.77.0.2", "10.77.0.3", "fd77::1"] as const).map(
  (hostname) => [hostname, EchoOrigin.start({ hostname, port: PORT })] as const,
);
const others = ["-m", "owner", "!", "--gid-owner", OWN_GROUP];
redirect("iptables", PORT, ...others);
redirect("ip6tables", PORT, ...others);
// As someone does who forgets the exception.
redirect("iptables", 8001);
console.log(JSON.stringify({ any: await sights("allow_any"), registry: await sights("registry_only") }));
for (const [, origin] of origins) origin.stop();
process.exit(0);
