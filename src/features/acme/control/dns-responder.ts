import { Resolver } from "node:dns/promises";
import { messageOf } from "../../../core/error-text.ts";
import { AcmeFailure, type Challenge, type ChallengeResponder } from "./certificate-authority.ts";

/** Puts TXT records into a zone and takes them out. Both end within DNS_STEP_MS, or fail. */
export interface DnsRecords {
  /** @param name without a final dot @throws Error that says why it cannot */
  present(name: string, value: string): Promise<void>;
  /** @throws Error that says why it cannot */
  cleanup(name: string, value: string): Promise<void>;
}

/** How long a program, a module or a name server may take for one record. */
export const DNS_STEP_MS = 60_000;

/** How edge looks for a record. */
interface DnsLook {
  /** Addresses of resolvers; none asks those of the system. */
  readonly resolvers: readonly string[];
  /** Milliseconds that a record may take to be seen; 0 does not look. */
  readonly timeoutMs: number;
}

/** Answers dns-01 challenges: a record for each, there before the authority is told, gone when the order is over. RFC 8555 §8.4 */
export class DnsResponder implements ChallengeResponder {
  private readonly records: DnsRecords;
  private readonly look: DnsLook;
  private readonly onLeftOver: (name: string, error: string) => void;
  private held: readonly TextRecord[] = [];

  /** @param onLeftOver learns of a record that could not be removed */
  constructor(records: DnsRecords, look: DnsLook, onLeftOver: (name: string, error: string) => void) {
    this.records = records;
    this.look = look;
    this.onLeftOver = onLeftOver;
  }

  async answer(challenges: readonly Challenge[]): Promise<void> {
    const wanted = challenges.map(({ name, keyAuthorization }) => ({
      name: `_acme-challenge.${name}`,
      value: keyAuthorization,
    }));
    const before = this.held;
    this.held = wanted;
    for (const { name, value } of before) {
      await this.records.cleanup(name, value).catch((error: unknown) => this.onLeftOver(name, messageOf(error)));
    }
    for (const { name, value } of wanted) {
      try {
        await this.records.present(name, value);
      } catch (error) {
        throw new AcmeFailure("dns", `the record of ${name} could not be made: ${messageOf(error)}`);
      }
    }
    if (this.look.timeoutMs > 0) await Promise.all(wanted.map((record) => this.seen(record)));
  }

  /** Resolves when the record can be seen. @throws AcmeFailure */
  private async seen({ name, value }: TextRecord): Promise<void> {
    const resolver = new Resolver({ timeout: LOOK_TIMEOUT_MS, tries: 2 });
    if (this.look.resolvers.length > 0) resolver.setServers([...this.look.resolvers]);
    const endMs = performance.now() + this.look.timeoutMs;
    for (;;) {
      const found = await resolver.resolveTxt(name).catch(() => []);
      if (found.some((chunks) => chunks.join("") === value)) return;
      if (performance.now() > endMs) break;
      await Bun.sleep(LOOK_EVERY_MS);
    }
    const seconds = Math.round(this.look.timeoutMs / 1000);
    throw new AcmeFailure("dns", `the record of ${name} could not be seen within ${seconds} s`);
  }
}

interface TextRecord {
  readonly name: string;
  readonly value: string;
}

const LOOK_TIMEOUT_MS = 5000;
const LOOK_EVERY_MS = 2000;
