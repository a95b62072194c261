import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { readHello } from "../unit/proto/tls/read-hello.ts";
import { FuzzFailure, LEAST_OF_A_KIND } from "./fuzz-report.ts";

// The smoke run: the same seed each time, so that it fails for what has changed and for nothing else. FUZZ_SEED has another.
const seed = Number(process.env.FUZZ_SEED ?? 1);
const RUN_MS = 2000;

const HELLOS = readFileSync(join(import.meta.dir, "../vectors/tls/client-hellos.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => Buffer.from((JSON.parse(line) as { bytes: string }).bytes, "hex"));
const certificate = await makeCertificate();
const port = freePort();
const gateway = await startGateway({
  config: { server: { tls: { port, cert_file: "cert.pem", key_file: "cert.key" } } },
  files: { "cert.pem": certificate.cert, "cert.key": certificate.key },
});
afterAll(() => gateway.stop());

/** Changes, repeats, removes and adds a few bytes; lengths are hit by chance, and on purpose by small numbers. */
function damage(hello: Buffer, random: SeededRandom): Buffer {
  let bytes = Buffer.from(hello);
  for (let i = random.integer(1, 4); i > 0; i--) {
    const at = random.integer(0, bytes.length - 1);
    const kind = random.integer(0, 4);
    if (kind === 0) bytes[at] = random.integer(0, 255);
    else if (kind === 1) bytes[at] = bytes[at]! + random.pick([-1, 1]);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.integer(1, 8))]);
    else if (kind === 3)
      bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(random.integer(1, 8)), bytes.subarray(at)]);
    else bytes = bytes.subarray(0, Math.max(1, at));
  }
  return bytes.length === 0 ? Buffer.of(22) : bytes;
}

/** What the gateway says to a ClientHello, as its first bytes in hexadecimal; "" where it only ends the connection. */
async function answerTo(bytes: Buffer, random: SeededRandom): Promise<string> {
  const client = await RawClient.connect(port);
  try {
    const cut = random.integer(0, bytes.length);
    client.send(bytes.subarray(0, cut));
    client.send(bytes.subarray(cut));
    // Whoever waits for more is told that there is none.
    client.finish();
    await client.ended();
    return client.peek().subarray(0, 7).toString("hex");
  } finally {
    client.close();
  }
}

test(`damaged ClientHellos, seed ${seed}`, async () => {
  const random = new SeededRandom(seed);
  const tally: Record<string, number> = {};
  const until = performance.now() + RUN_MS;
  const least = () => Math.min(tally.complete ?? 0, tally.malformed ?? 0);
  for (let round = 0; performance.now() < until || least() <= LEAST_OF_A_KIND; round++) {
    const bytes = damage(random.pick(HELLOS), random);
    const { outcome } = readHello([bytes]);
    const answer = await answerTo(bytes, random);
    tally[outcome] = (tally[outcome] ?? 0) + 1;
    const isFitting =
      outcome === "complete"
        ? /^(16|15|$)/.test(answer)
        : outcome === "needMore"
          ? answer === ""
          : outcome === "notTls" || outcome === "unexpected"
            ? answer === "1503010002020a" || answer.startsWith("48545450")
            : answer === "15030100020232";
    if (!isFitting) throw new FuzzFailure(outcome, seed, round, bytes.toString("latin1"), answer);
  }
  expect(least()).toBeGreaterThan(LEAST_OF_A_KIND);
  expect((await gateway.once(request("GET /health"))).status).toBe(200);
  await eventually(async () => {
    const samples = await gateway.samples();
    expect(sumOf(samples, "gateway_active_tcp_connections")).toBe(1);
  });
  expect(gateway.logs.tail()).not.toContain('"exception"');
});
