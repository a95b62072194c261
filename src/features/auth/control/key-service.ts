import { readFileSync } from "node:fs";
import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { withoutCredentials } from "../../../core/secret-name.ts";
import { fetchKeys } from "../../../net/fetched-keys.ts";
import {
  ALGORITHM_NAMES,
  ALGORITHMS,
  MAX_JWKS_BYTES,
  readKeySet,
  type VerificationKey,
} from "../../../proto/jwt/key-set.ts";
import { type FetchedText, KeySetOwner } from "../../../proto/jwt/key-set-owner.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { AUTH_EVENTS } from "../events.ts";
import { type FetchedKeySet, type KeysMessage, keySourceId } from "../jwt/key-ring.ts";
import { AUTH_METRICS } from "../metrics.ts";
import type { AuthConfig } from "../settings.ts";

/** Milliseconds for the response to a request for keys. */
const JWKS_TIMEOUT_MS = 5000;

/** What the fetched keys of issuers need of the control thread. */
interface KeyPorts {
  /** Sends newer keys to every worker. */
  broadcast(message: KeysMessage): void;
  readonly event: EventWriter<typeof AUTH_EVENTS>;
}

/** A source of keys, as configured. */
interface KeySource {
  readonly id: string;
  readonly url: string;
  /** "" trusts the system's roots. */
  readonly caFile: string;
}

interface Kept {
  readonly source: KeySource;
  readonly owner: KeySetOwner<VerificationKey>;
}

/** The `jwks_url` of all routes, in the control thread: fetched once, whatever the number of workers. docs/authentication.md#keys */
export class KeyService implements ControlService<RuntimeConfig> {
  private readonly around: KeyPorts;
  private readonly kept: Map<string, Kept> = new Map();

  constructor(around: KeyPorts) {
    this.around = around;
  }

  /** Begins with the sources of a configuration, goes on with those that were there, and ends the others. */
  use(config: RuntimeConfig): void {
    const sources = new Map(keySources(config).map((source) => [source.id, source]));
    for (const [id, { owner }] of this.kept) {
      if (sources.has(id)) continue;
      owner.stop();
      this.kept.delete(id);
    }
    for (const [id, source] of sources) {
      const known = this.kept.get(id);
      if (known === undefined) this.open(source);
      else known.owner.hurry();
    }
  }

  stop(): void {
    for (const { owner } of this.kept.values()) owner.stop();
    this.kept.clear();
  }

  startFields(): { readonly keySets: readonly FetchedKeySet[] } {
    return { keySets: this.sets };
  }

  /** The sets that are there, for a worker that begins. */
  get sets(): readonly FetchedKeySet[] {
    return [...this.kept.values()].flatMap(({ source: { id }, owner: { keys } }) =>
      keys === null ? [] : [{ id, keys }],
    );
  }

  /** A worker asks for newer keys of a source. @returns for how many milliseconds it need not ask again */
  async wanted(id: string): Promise<number> {
    return (await this.kept.get(id)?.owner.wanted()) ?? 0;
  }

  /** docs/authentication.md#keys */
  metrics(): readonly Metric[] {
    const each = <More extends object>(value: (owner: KeySetOwner<VerificationKey>) => number, more: More) =>
      [...this.kept.values()].map(({ source, owner }) => ({
        value: value(owner),
        labels: { ...more, url: withoutCredentials(source.url) },
      }));
    return [
      metricOf(AUTH_METRICS, "gateway_jwks_fetches_total", () => [
        ...each(({ fetches }) => fetches, { result: "success" }),
        ...each(({ failures }) => failures, { result: "failure" }),
      ]),
      metricOf(AUTH_METRICS, "gateway_jwks_keys", () => each(({ keys }) => keys?.length ?? 0, {})),
    ];
  }

  private open(source: KeySource): void {
    const url = withoutCredentials(source.url);
    const { around } = this;
    const owner: KeySetOwner<VerificationKey> = new KeySetOwner({
      fetch: () => fetchKeySet(source),
      read: readTokenKeys,
      now: () => performance.now(),
      after(ms, act) {
        const timer = setTimeout(act, ms);
        return () => clearTimeout(timer);
      },
      onKeys: (keys, notes) => {
        around.event("jwks_fetched", { url, keys: keys.length, ...(notes.length > 0 ? { passed_over: notes } : {}) });
        around.broadcast({ kind: "keys", sets: [{ id: source.id, keys }] });
      },
      onFailure: (reason, failures, retryInMs) =>
        around.event("jwks_failed", {
          url,
          error: reason.slice(0, MAX_REASON_CHARS),
          failures,
          keys_kept: owner.keys?.length ?? 0,
          retry_in_s: Math.round(retryInMs / 1000),
        }),
    });
    this.kept.set(source.id, { source, owner });
    void owner.fetch();
  }
}

/** All sources that a configuration names. */
function keySources({ server, internalApi, routes }: RuntimeConfig): readonly KeySource[] {
  const configs = new Set<AuthConfig>([server.auth, internalApi.auth, ...routes.map(({ auth }) => auth)]);
  return [...configs].flatMap(({ methods }) =>
    methods.flatMap(({ key, config }) => {
      if (key !== "jwt" || config.jwksUrl === "") return [];
      const { jwksUrl: url, caFile } = config;
      return [{ id: keySourceId(url, caFile), url, caFile }];
    }),
  );
}

/** Fetches a JWK set. @throws why it cannot be had */
async function fetchKeySet({ url, caFile }: KeySource): Promise<FetchedText> {
  return fetchKeys({
    url,
    ca: caFile === "" ? "" : readCertificates(readFileSync(caFile)).pem,
    accept: "application/jwk-set+json, application/json",
    timeoutMs: JWKS_TIMEOUT_MS,
    maxBytes: MAX_JWKS_BYTES,
  });
}

/** The keys of a set that tokens can be verified with. @returns why there are none, as an Error */
export function readTokenKeys(text: string): ReturnType<typeof readKeySet> {
  const read = readKeySet(text, PUBLIC);
  if (read instanceof Error || read.keys.length > 0) return read;
  const why = read.notes[0] ?? "it has none for signatures";
  return new Error(`the set has no key that tokens can be verified with: ${why}`);
}

const PUBLIC = ALGORITHM_NAMES.filter((name) => ALGORITHMS[name].family !== "secret");
const MAX_REASON_CHARS = 300;
