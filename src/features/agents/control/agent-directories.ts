import { readFileSync } from "node:fs";
import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { fetchKeys } from "../../../net/fetched-keys.ts";
import { type FetchedText, KeySetOwner } from "../../../proto/jwt/key-set-owner.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import { type AgentKey, type AgentKeyReading, readAgentKeys } from "../../../proto/signatures/agent-keys.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { AgentKeysMessage, DirectoryKeys } from "../agent-keyring.ts";
import type { AGENT_EVENTS } from "../events.ts";
import { AGENT_METRICS } from "../metrics.ts";
import { nonceBuffer } from "../nonce-memory.ts";
import { MAX_AGENT_KEY_BYTES } from "../settings.ts";

/** Milliseconds for the response to a request for a directory. */
const DIRECTORY_TIMEOUT_MS = 5000;
const MAX_REASON_CHARS = 300;

/** Ports of the control thread. */
interface DirectoryPorts {
  /** Sends newer keys to every worker. */
  broadcast(message: AgentKeysMessage): void;
  readonly event: EventWriter<typeof AGENT_EVENTS>;
}

interface KeptDirectory {
  readonly caFile: string;
  readonly owner: KeySetOwner<AgentKey>;
}

/** The key directories of agents, in the control thread: fetched once, whatever the number of workers, and never for a request. docs/agents.md#keys */
export class AgentDirectories implements ControlService<RuntimeConfig> {
  private readonly around: DirectoryPorts;
  private readonly kept: Map<string, KeptDirectory> = new Map();
  private readonly nonces: SharedArrayBuffer = nonceBuffer(Date.now());

  constructor(around: DirectoryPorts) {
    this.around = around;
  }

  use({ server: { agents } }: RuntimeConfig): void {
    const urls = new Set(agents.enabled ? agents.directories : []);
    for (const [url, { owner, caFile }] of this.kept) {
      if (urls.has(url) && caFile === agents.caFile) continue;
      owner.stop();
      this.kept.delete(url);
    }
    for (const url of urls) {
      const known = this.kept.get(url);
      if (known === undefined) this.open(url, agents.caFile);
      else known.owner.hurry();
    }
  }

  stop(): void {
    for (const { owner } of this.kept.values()) owner.stop();
    this.kept.clear();
  }

  startFields(): { readonly agentDirectories: readonly DirectoryKeys[]; readonly agentNonces: SharedArrayBuffer } {
    const agentDirectories = [...this.kept].flatMap(
      ([
        url,
        {
          owner: { keys },
        },
      ]) => (keys === null ? [] : [{ url, keys }]),
    );
    return { agentDirectories, agentNonces: this.nonces };
  }

  /** docs/agents.md#keys */
  metrics(): readonly Metric[] {
    return [
      metricOf(AGENT_METRICS, "gateway_agent_directory_fetches_total", () =>
        [...this.kept].flatMap(([url, { owner }]) => [
          { value: owner.fetches, labels: { url, result: "success" } },
          { value: owner.failures, labels: { url, result: "failure" } },
        ]),
      ),
    ];
  }

  private open(url: string, caFile: string): void {
    const { around } = this;
    const owner: KeySetOwner<AgentKey> = new KeySetOwner({
      fetch: () => fetchDirectory(url, caFile),
      read: usableKeys,
      now: () => performance.now(),
      after(ms, act) {
        const timer = setTimeout(act, ms);
        return () => clearTimeout(timer);
      },
      onKeys: (keys, notes) => {
        around.event("agent_directory_fetched", {
          url,
          keys: keys.length,
          ...(notes.length > 0 ? { passed_over: notes } : {}),
        });
        around.broadcast({ kind: "agentKeys", directories: [{ url, keys }] });
      },
      onFailure: (reason, failures, retryInMs) =>
        around.event("agent_directory_failed", {
          url,
          error: reason.slice(0, MAX_REASON_CHARS),
          failures,
          keys_kept: owner.keys?.length ?? 0,
          retry_in_s: Math.round(retryInMs / 1000),
        }),
    });
    this.kept.set(url, { caFile, owner });
    void owner.fetch();
  }
}

/**
 * Fetches a directory, within bounds of time and size. Redirects are not followed: a directory has one place.
 * @throws why it cannot be had
 */
export async function fetchDirectory(url: string, caFile: string): Promise<FetchedText> {
  return fetchKeys({
    url,
    ca: caFile === "" ? "" : readCertificates(readFileSync(caFile)).pem,
    accept: "application/http-message-signatures-directory+json, application/jwk-set+json, application/json",
    timeoutMs: DIRECTORY_TIMEOUT_MS,
    maxBytes: MAX_AGENT_KEY_BYTES,
  });
}

/** The keys of a directory. @returns why there are none, as an Error */
export function usableKeys(text: string): AgentKeyReading | Error {
  const read = readAgentKeys(text, Date.now());
  if (read instanceof Error || read.keys.length > 0) return read;
  return new Error(`the directory has no key of Ed25519 that counts: ${read.notes[0] ?? "it is empty"}`);
}
