import { readFileSync } from "node:fs";
import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { fetchKeys } from "../../../net/fetched-keys.ts";
import { KeptKeySets, type KeySetSource } from "../../../proto/jwt/kept-key-sets.ts";
import {
  ALGORITHM_NAMES,
  ALGORITHMS,
  MAX_JWKS_BYTES,
  readKeySet,
  type VerificationKey,
} from "../../../proto/jwt/key-set.ts";
import type { FetchedText } from "../../../proto/jwt/key-set-owner.ts";
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

/** The `jwks_url` of all routes, in the control thread: fetched once, whatever the number of workers. docs/authentication.md#keys */
export class KeyService implements ControlService<RuntimeConfig> {
  private readonly sets: KeptKeySets<VerificationKey>;

  constructor({ broadcast, event }: KeyPorts) {
    this.sets = new KeptKeySets({
      fetch: fetchKeySet,
      read: readTokenKeys,
      onKeys({ source: { id }, keys }, fields) {
        event("jwks_fetched", fields);
        broadcast({ kind: "keys", sets: [{ id, keys }] });
      },
      onFailure: (fields) => event("jwks_failed", fields),
    });
  }

  use(config: RuntimeConfig): void {
    this.sets.use(keySources(config));
  }

  stop(): void {
    this.sets.stop();
  }

  startFields(): { readonly keySets: readonly FetchedKeySet[] } {
    return { keySets: this.sets.sets.map(({ source: { id }, keys }) => ({ id, keys })) };
  }

  /** A worker asks for newer keys of a source. @returns for how many milliseconds it need not ask again */
  wanted(id: string): Promise<number> {
    return this.sets.wanted(id);
  }

  /** docs/authentication.md#keys */
  metrics(): readonly Metric[] {
    return [
      metricOf(AUTH_METRICS, "gateway_jwks_fetches_total", () => this.sets.fetchCounts),
      metricOf(AUTH_METRICS, "gateway_jwks_keys", () => this.sets.each(({ keys }) => keys?.length ?? 0, {})),
    ];
  }
}

/** All sources that a configuration names. */
function keySources({ server, internalApi, routes }: RuntimeConfig): readonly KeySetSource[] {
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
async function fetchKeySet({ url, caFile }: KeySetSource): Promise<FetchedText> {
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
