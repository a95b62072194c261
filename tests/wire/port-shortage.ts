/**
 * Holds more requests at an origin than there are local ports, and prints what came of it as JSON: for a network namespace
 * of its own, see port-shortage.test.ts.
 */
import { writeFileSync } from "node:fs";
import { crowdFrom } from "../harness/crowd.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";

const origin = EchoOrigin.start();
const release: (() => void)[] = [];
origin.on("/hang", (call) =>
  new Promise<void>((resolve) => release.push(resolve)).then(() => call.reply("200 OK", [], "ok")),
);
const gateway = await startGateway({
  routes: [
    { type: "upstream", prefix: "/node", target: origin.url, circuit_breaker: { failure_threshold: 1 } },
    // With a breaker of its own, and retries: it counts as little.
    { type: "upstream", prefix: "/many", target: origin.url, retries: { attempts: 3 } },
  ],
});
// The clients come from addresses of their own, each with its own ports.
writeFileSync("/proc/sys/net/ipv4/ip_local_port_range", "50000 50003");
const hang = request("GET /node/hang");
const crowd = [
  ...(await crowdFrom("127.0.0.2", gateway.port, 3, hang)),
  ...(await crowdFrom("127.0.0.3", gateway.port, 3, hang)),
];
const statuses = () => crowd.flatMap((one) => one.statuses);
await eventually(() => {
  if (statuses().length < 2) throw new Error("no shortage yet");
});
const [many] = await crowdFrom("127.0.0.4", gateway.port, 1, request("GET /many/hang"));
const refused = [...new Set([...statuses(), await many!.status()])];
const line = await gateway.log("the refusal", ({ event }) => event === "limit_reject");
const failed = await gateway.log("the reason", ({ event }) => event === "upstream_failed");
const routes = json<{ routes: { targets: { status: string }[] }[] }>(
  await gateway.once(request("GET /internal/api/routes")),
);
const states = routes.routes.map(({ targets }) => targets[0]!.status);
for (const resolve of release) resolve();
console.log(JSON.stringify({ refused, reason: line.reason, status: line.status, why: failed.reason, states }));
for (const one of [...crowd, many!]) one.close();
await gateway.stop();
process.exit(0);
