import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([
  { type: "dns", value: "usual.test" },
  { type: "dns", value: "bank.test" },
]);
const port = freePort();
const gateway = await startGateway({
  config: {
    server: {
      access_log: { fields: ["path", "tls_version", "tls_group"], outputs: [{ file: "./lines.log" }] },
      tls: {
        port,
        cert_file: "a.pem",
        key_file: "a.key",
        hosts: [{ names: ["bank.test"], curves: ["P-384", "X25519MLKEM768", "P-256"] }],
      },
    },
  },
  routes: [{ type: "respond", prefix: "/", status: 200, body: "ok" }],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway));

/** Asks for a path. @returns the group by which the client says that keys were exchanged; the runtime has no name for a hybrid */
async function ask(
  path: string,
  servername: string,
  ecdhCurve: string,
  maxVersion: "TLSv1.2" | "TLSv1.3",
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(
    { host: "127.0.0.1", port, servername, ecdhCurve, maxVersion, rejectUnauthorized: false },
    () => {
      const info = socket.getEphemeralKeyInfo() as { name?: string };
      socket.once("data", () => {
        socket.end();
        resolve({ prime256v1: "P-256", secp384r1: "P-384", X25519: "X25519" }[info.name ?? ""] ?? "X25519MLKEM768");
      });
      socket.write(request(`GET ${path}`));
    },
  );
  socket.on("error", reject);
  return promise;
}

const TLS13 = "TLSv1.3";
const TLS12 = "TLSv1.2";

test.each([
  ["usual.test", "X25519MLKEM768:X25519", TLS13, "X25519MLKEM768"],
  ["usual.test", "X25519:X25519MLKEM768", TLS13, "X25519MLKEM768"],
  ["usual.test", "P-384:P-256:X25519", TLS13, "X25519"],
  ["usual.test", "P-384:P-256", TLS13, "P-256"],
  ["usual.test", "P-384", TLS13, "P-384"],
  ["usual.test", "X25519MLKEM768:P-256", TLS12, "P-256"],
  ["bank.test", "X25519:X25519MLKEM768:P-256", TLS13, "X25519MLKEM768"],
  ["bank.test", "X25519MLKEM768:P-256:P-384", TLS13, "P-384"],
  ["bank.test", "X25519:P-256", TLS12, "P-256"],
] as const)(
  "%s and a client of %s over %s exchange keys by %s, as log and metric say",
  async (host, curves, version, group) => {
    const counted = () =>
      gateway.metric("gateway_tls_key_exchanges_total", { group: group === "P-384" ? "other" : group });
    const before = await counted();
    const path = `/${host}/${curves}/${version}`;
    expect(await ask(path, host, curves, version)).toBe(group);
    await eventually(async () => expect(await counted()).toBe(before + 1));
    await eventually(() => {
      const line = readFileSync(join(gateway.folder, "lines.log"), "utf8")
        .split("\n")
        .find((text) => text.includes(path));
      expect(JSON.parse(line ?? "{}")).toEqual({ path, tls_version: version, tls_group: group });
    });
  },
);
