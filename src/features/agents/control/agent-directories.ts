import { readFileSync } from "node:fs";
import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { fetchKeys } from "../../../net/fetched-keys.ts";
import { KeptKeySets } from "../../../proto/jwt/kept-key-sets.ts";
import type { FetchedText } from "../../../proto/jwt/key-set-owner.ts";
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

/** Ports of the control thread. */
interface DirectoryPorts {
  /** Sends newer keys to every worker. */
  broadcast(message: AgentKeysMessage): void;
  readonly event: EventWriter<typeof AGENT_EVENTS>;
}

/** The key directories of agents, in the control thread: fetched once, whatever the number of workers, and never for a request. docs/agents.md#keys */
export class AgentDirectories implements ControlService<RuntimeConfig> {
  private readonly directories: KeptKeySets<AgentKey>;
  private readonly nonces: SharedArrayBuffer = nonceBuffer(Date.now());

  constructor({ broadcast, event }: DirectoryPorts) {
    this.directories = new KeptKeySets({
      fetch: ({ url, caFile }) => fetchDirectory(url, caFile),
      read: usableKeys,
      onKeys({ source: { url }, keys }, fields) {
        event("agent_directory_fetched", fields);
        broadcast({ kind: "agentKeys", directories: [{ url, keys }] });
      },
      onFailure: (fields) => event("agent_directory_failed", fields),
    });
  }

  use({ server: { agents } }: RuntimeConfig): void {
    const urls = agents.enabled ? agents.directories : [];
    this.directories.use(urls.map((url) => ({ id: `${agents.caFile}\n${url}`, url, caFile: agents.caFile })));
  }

  stop(): void {
    this.directories.stop();
  }

  startFields(): { readonly agentDirectories: readonly DirectoryKeys[]; readonly agentNonces: SharedArrayBuffer } {
    const agentDirectories = this.directories.sets.map(({ source: { url }, keys }) => ({ url, keys }));
    return { agentDirectories, agentNonces: this.nonces };
  }

  /** docs/agents.md#keys */
  metrics(): readonly Metric[] {
    return [metricOf(AGENT_METRICS, "gateway_agent_directory_fetches_total", () => this.directories.fetchCounts)];
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
