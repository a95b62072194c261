import { quote } from "../../config/config-fault.ts";
import { AGENT_PATTERN } from "../../config/match-settings.ts";
import { list, type Spot, Wrong } from "../../config/piece.ts";
import { block, type ConfigOf, OFF, orWritten } from "../../config/row.ts";
import { duration, fileName, flag, integer, RATE, textLike, word } from "../../config/scalars.ts";
import { type AgentKey, directoryUrl, readAgentKeys } from "../../proto/signatures/agent-keys.ts";

/** Directories, each of which is fetched and kept. */
const MAX_DIRECTORIES = 256;
/** Bytes of a directory, or of a file of keys. */
export const MAX_AGENT_KEY_BYTES = 262_144;

/** By https, or by http on this machine, as for other keys. */
const DIRECTORY = /^(https:\/\/[^\s/?#@]+|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?)([/?][^\s#]*)?$/;
/** How often an agent may come. */
const agentRateBlock = block(
  {
    enabled: { type: flag(), default: true, doc: "false: the agents have no limit" },
    requests: { type: integer(1), absent: 0, example: 100, doc: "how many requests a window allows each agent" },
    window: { type: duration(1), default: "1s", doc: "the time in which these requests are allowed" },
    burst: {
      type: integer(1),
      absent: 0,
      example: 200,
      doc: "how many requests may come at once; requests by default",
    },
  },
  { absent: OFF },
);

const agentRate: typeof agentRateBlock = orWritten(
  agentRateBlock,
  { is: "text", pattern: RATE },
  (value) => {
    if (typeof value !== "string") return value;
    const [, requests, unit] = RATE.exec(value.trim()) ?? [];
    if (unit !== undefined) return { requests: Number(requests), window: `1${unit}` };
    return new Wrong(`expected a rate such as 10r/s or 300r/m, found ${quote(value)}`);
  },
  OFF,
);

const rule = block({
  agent: {
    type: textLike(AGENT_PATTERN, "the name of an agent, such as bot.example, *.example or *"),
    required: "the agent that the rule is for, such as bot.example or *.example",
    example: "*.example",
    doc: "the name of an agent; *.example for all names below, * for every agent",
  },
  action: {
    type: word("allow", "challenge", "block", "payment"),
    default: "allow",
    doc: "allow: no challenge; challenge: as in bots; block: 403; payment: 402",
  },
  rate_limit: { type: agentRate, doc: "how often each of these agents may come: these keys, or 10r/s" },
});

/** `server.agents`. docs/agents.md */
export const agents = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge ignores signatures" },
    directories: {
      type: list(textLike(DIRECTORY, "the origin of an agent by https, such as https://bot.example"), "origins"),
      example: ["https://bot.example"],
      doc: "origins of agents, or URLs of their key directories, which edge fetches and refreshes",
    },
    keys_file: {
      type: fileName(),
      absent: "",
      field: "",
      example: "./agents.jwks.json",
      doc: "a JWK set, each key with a member agent; edge reads it again on reload",
    },
    ca_file: {
      type: fileName(),
      absent: "",
      field: "",
      example: "./private-ca.pem",
      doc: "roots that edge trusts for directories; the system's by default",
    },
    max_age: { type: duration(1000, 86_400_000), default: "5m", doc: "the oldest signature that you accept" },
    nonce: {
      type: word("optional", "required"),
      default: "optional",
      doc: "required: each signature needs a nonce, which edge accepts once",
    },
    rules: { type: list(rule, "rules"), doc: "rules by agent: the first that fits counts" },
    unsigned: {
      type: word("pass", "challenge", "block"),
      default: "pass",
      guard: ["block", "challenge"],
      doc: "requests without a valid signature: challenge: as in bots; block: 403",
    },
  },
  {
    absent: OFF,
    check({ enabled, directories, keys_file }, { log, path }) {
      if (!enabled) return;
      if (directories.length > MAX_DIRECTORIES)
        log.fault([...path, "directories"], `expected at most ${MAX_DIRECTORIES} directories`);
      if (directories.length === 0 && keys_file === "")
        log.warn(path, "no agent is known without directories or keys_file: every request is an unsigned one");
    },
    finish({ directories }, { keys_file, ca_file }, spot) {
      const { files, path } = spot;
      return {
        directories: directories.map(directoryUrl),
        keysFile: files.absolute(keys_file),
        caFile: files.bundle([...path, "ca_file"], ca_file),
        keys: keys_file === "" ? [] : ownKeys(keys_file, spot),
      };
    },
    list({ enabled, keysFile, caFile }, { enabled: _, ...lines }) {
      if (!enabled) return { enabled };
      return {
        ...lines,
        ...(keysFile === "" ? {} : { keys_file: keysFile }),
        ...(caFile === "" ? {} : { ca_file: caFile }),
      };
    },
  },
);

function ownKeys(file: string, { path, log, files }: Spot): readonly AgentKey[] {
  const at = [...path, "keys_file"];
  const held = files.contents(at, file, MAX_AGENT_KEY_BYTES, "a set of keys is a few kilobytes");
  if (log.isFaulty(at)) return [];
  const read = readAgentKeys(Buffer.from(held, "latin1").toString("utf8"), Date.now());
  if (read instanceof Error) {
    log.fault(at, read.message);
    return [];
  }
  for (const note of read.notes) log.warn(at, note);
  if (read.keys.length === 0) log.fault(at, "holds no key of Ed25519 for signatures");
  const nameless = read.keys.findIndex(({ agent }) => agent === "");
  if (nameless >= 0) log.fault(at, `key ${read.keys[nameless]!.ids[0]} has no member "agent", which names its agent`);
  return read.keys;
}

/** The section `server.agents`. */
export type AgentsConfig = ConfigOf<typeof agents>;
