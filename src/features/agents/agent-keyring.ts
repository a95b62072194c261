import type { Takers } from "../../core/message-takers.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import { type AgentKey, spkiKey } from "../../proto/signatures/agent-keys.ts";
import type { AgentKeyEntry, KnownKeys } from "./agent-verifier.ts";
import { NonceMemory, nonceBuffer } from "./nonce-memory.ts";

/** The keys of a directory, as the control thread has fetched them. */
export interface DirectoryKeys {
  readonly url: string;
  readonly keys: readonly AgentKey[];
}

/** From the control thread: keys that are newer. */
export interface AgentKeysMessage {
  readonly kind: "agentKeys";
  readonly directories: readonly DirectoryKeys[];
}

/** Its part of a worker's first message. */
interface StartAgents {
  readonly agentDirectories: readonly DirectoryKeys[];
  readonly agentNonces: SharedArrayBuffer;
}

/** The keys and directories of a configuration. */
interface OwnAgentKeys {
  readonly directories: readonly string[];
  readonly keys: readonly AgentKey[];
}

type KeyTable = ReadonlyMap<string, AgentKeyEntry>;

/** The keys of agents in one worker; it outlives configurations. docs/agents.md#keys */
export class AgentKeyring implements WorkerService<unknown> {
  readonly onMessage: Takers<AgentKeysMessage> = { agentKeys: ({ directories }) => this.take(directories) };
  private readonly fetched: Map<string, KeyTable> = new Map();
  private memory: NonceMemory | null = null;

  begin({ agentDirectories, agentNonces }: StartAgents): void {
    this.memory = new NonceMemory(agentNonces);
    this.take(agentDirectories);
  }

  /** The nonces of all workers. */
  get nonces(): NonceMemory {
    this.memory ??= new NonceMemory(nonceBuffer(0));
    return this.memory;
  }

  /** The keys that count with a configuration. */
  known({ directories, keys }: OwnAgentKeys): KnownKeys {
    const own = tableOf(keys, "");
    return {
      find: (keyId, directory) => {
        const listed = own.get(keyId);
        if (listed !== undefined) return listed;
        const asked = directory === "" ? directories : directories.filter((url) => url === directory);
        for (const url of asked) {
          const found = this.fetched.get(url)?.get(keyId);
          if (found !== undefined) return found;
        }
        return null;
      },
    };
  }

  private take(directories: readonly DirectoryKeys[]): void {
    for (const { url, keys } of directories) this.fetched.set(url, tableOf(keys, new URL(url).hostname));
  }
}

/** @param agent whose they are; "" for keys that say it themselves */
function tableOf(keys: readonly AgentKey[], agent: string): KeyTable {
  const table = new Map<string, AgentKeyEntry>();
  for (const one of keys) {
    const entry = { agent: agent === "" ? one.agent : agent, object: spkiKey(one.key) };
    for (const id of one.ids) if (!table.has(id)) table.set(id, entry);
  }
  return table;
}
