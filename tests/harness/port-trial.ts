import { expect } from "bun:test";
import type { Product } from "../../src/tools/convert/convert.ts";
import { convert } from "./conversions.ts";
import { startGateway } from "./gateway.ts";
import { freePort } from "./ports.ts";
import { SeededRandom } from "./seeded-random.ts";

/** Ports that a generated configuration may have; those with odd numbers are for TLS. */
export const TRIAL_PORTS = 4;
export const TRIAL_HOSTS: readonly string[] = ["a.test", "b.test", "c.test", "x.wild.test", "none.test"];
/** Names of generated sites; "" for one without a name. */
export const TRIAL_NAMES: readonly string[] = ["a.test", "b.test", "c.test", "*.wild.test", ""];

export const isTlsPort = (port: number): boolean => port % 2 === 1;

/** Generated configurations of a program, which has them as well. */
interface PortTrial {
  readonly product: Product;
  /** The name of the file for `edge convert`. */
  readonly file: string;
  readonly count: number;
  /** Writes PORT0 to PORT3 for ports. */
  readonly write: (random: SeededRandom) => string;
  /** Finds the ports in the text; the number is in the first group that matches. */
  readonly ports: RegExp;
  readonly start: (text: string, ports: readonly number[]) => Promise<{ stop(): void }>;
  /** What is given to a name at a port. */
  readonly ask: (port: number, isSecure: boolean, host: string) => Promise<string>;
}

/** Asks each program and the gateway with the converted files for every name at every port: both give the same. */
export async function expectSameAtPorts({ product, file, count, write, ports, start, ask }: PortTrial): Promise<void> {
  for (let seed = 1; seed <= count; seed++) {
    const text = write(new SeededRandom(seed));
    const used = [...new Set([...text.matchAll(ports)].map(([, a, b]) => Number(a ?? b)))];
    const at = (numbers: readonly number[]) =>
      text.replace(/PORT(\d)/g, (_all, port: string) => String(numbers[Number(port)]));
    const some = () => Array.from({ length: TRIAL_PORTS }, freePort);
    const [theirs, ours] = [some(), some()];
    const peer = await start(
      at(theirs),
      used.map((port) => theirs[port]!),
    );
    const { config, routes, loaded } = convert(product, file, at(ours));
    expect({ ok: loaded?.ok, text, config, routes }).toMatchObject({ ok: true });
    const gateway = await startGateway({ port: ours[0]!, files: { "config.yaml": config, "routes.yaml": routes } });
    for (const port of used)
      for (const host of TRIAL_HOSTS) {
        const wanted = await ask(theirs[port]!, isTlsPort(port), host);
        const got = await ask(ours[port]!, isTlsPort(port), host);
        const about = { seed, port, host, text, config, routes };
        if (got !== wanted) expect({ ...about, got }).toEqual({ ...about, got: wanted });
      }
    await gateway.stop();
    peer.stop();
  }
}
