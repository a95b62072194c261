import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { readKeySet } from "../jwt/key-set.ts";

/** A key by which an agent signs, as plain data. */
export interface AgentKey {
  /** Names by which signatures may call it: its thumbprint (RFC 7638, RFC 8037), and the name in its set. */
  readonly ids: readonly string[];
  /** In base64: the SubjectPublicKeyInfo in DER. */
  readonly key: string;
  /** The agent, as the member `agent` says; "" for none. */
  readonly agent: string;
}

/** A reading of a set of them. */
export interface AgentKeyReading {
  readonly keys: readonly AgentKey[];
  /** Why others were passed over, a line each. */
  readonly notes: readonly string[];
}

/** The path of the directory of an origin. */
const DIRECTORY_PATH = "/.well-known/http-message-signatures-directory";
/** Keys of one directory. */
const MAX_AGENT_KEYS = 64;

/**
 * Reads a directory of keys, which is a JWK set: those of Ed25519 that count now.
 * @param nowMs since the epoch: keys have a time (`nbf`, `exp`)
 * @returns why it is none, as an Error
 */
export function readAgentKeys(text: string, nowMs: number): AgentKeyReading | Error {
  const checked = readKeySet(text, []);
  if (checked instanceof Error) return checked;
  const { keys: entries } = JSON.parse(text) as { readonly keys: readonly unknown[] };
  const keys: AgentKey[] = [];
  const notes: string[] = [];
  for (const [i, entry] of entries.slice(0, MAX_AGENT_KEYS).entries()) {
    const found = readOne(entry, nowMs);
    if (typeof found === "string") notes.push(`key ${i + 1} is passed over: ${found}`);
    else keys.push(found);
  }
  if (entries.length > MAX_AGENT_KEYS)
    notes.push(`${entries.length - MAX_AGENT_KEYS} keys after the first are passed over`);
  return { keys, notes };
}

function readOne(entry: unknown, nowMs: number): AgentKey | string {
  const read = readKeySet(JSON.stringify({ keys: [entry] }), ["EdDSA", "Ed25519"]);
  if (read instanceof Error) return read.message;
  const [key] = read.keys;
  if (key === undefined) return read.notes[0]?.replace(/^.* is passed over: /, "") ?? "it is not for signatures";
  const { agent = "", nbf, exp } = entry as Readonly<Record<string, unknown>>;
  if (typeof agent !== "string" || (agent !== "" && !AGENT_NAME.test(agent))) return "its agent is no name";
  if (typeof nbf === "number" && milliseconds(nbf) > nowMs) return "it does not count yet";
  if (typeof exp === "number" && milliseconds(exp) <= nowMs) return "it has expired";
  const id = thumbprintOf(spkiKey(key.key));
  return { ids: key.kid === "" || key.kid === id ? [id] : [id, key.kid], key: key.key, agent: agent.toLowerCase() };
}

/** Directories have seconds, as tokens do, or milliseconds. */
function milliseconds(time: number): number {
  return time < 1e11 ? time * 1000 : time;
}

/** The thumbprint of a key of Ed25519. RFC 8037 §2, RFC 7638 §3 */
export function thumbprintOf(key: KeyObject): string {
  const { crv, kty, x } = key.export({ format: "jwk" });
  return createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
}

/** A key from its text. @param text base64 of its SubjectPublicKeyInfo */
export function spkiKey(text: string): KeyObject {
  return createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
}

/** The URL of the directory of an origin, or of the directory itself; "" for other texts. */
export function directoryUrl(text: string): string {
  if (text.length > MAX_URL_CHARS || !URL.canParse(text)) return "";
  const url = new URL(text);
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.password !== "") return "";
  url.hash = "";
  return url.pathname === "/" && url.search === "" ? `${url.origin}${DIRECTORY_PATH}` : url.href;
}

const MAX_URL_CHARS = 2048;
const AGENT_NAME = /^[\w.-]{1,253}$/;
