import type { KeyObject } from "node:crypto";
import { verify } from "node:crypto";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import { type InnerList, parseDictionary, parseItem } from "../../proto/semantics/structured-fields.ts";
import { directoryUrl } from "../../proto/signatures/agent-keys.ts";
import { signatureBase } from "../../proto/signatures/signature-base.ts";
import { type MessageSignature, readSignatures } from "../../proto/signatures/signature-fields.ts";
import { HeadReading } from "./head-reading.ts";
import type { NonceMemory } from "./nonce-memory.ts";

/** The tag of signatures by which agents show who they are. */
export const AGENT_TAG = "web-bot-auth";

/** A key that is ready to verify, and the agent whose it is. */
export interface AgentKeyEntry {
  readonly agent: string;
  readonly object: KeyObject;
}

/** The keys that count. */
export interface KnownKeys {
  /**
   * @param directory the URL of the directory that the request names; "" for none
   * @returns null for an unknown name
   */
  find(keyId: string, directory: string): AgentKeyEntry | null;
}

/** Why a request counts as an unsigned one although it has a signature. */
export type SignatureFault =
  | "malformed"
  | "too_many"
  | "not_covered"
  | "time"
  | "unknown_key"
  | "nonce"
  | "replay"
  | "wrong";

/** Counters and log. */
export interface SignatureListener {
  onAgentVerified(): void;
  onAgentRefused(ex: Exchange, reason: SignatureFault): void;
}

/** The parts of the verifier. */
interface VerifierPorts {
  readonly keys: KnownKeys;
  /** Null where nonces do not matter. */
  readonly nonces: NonceMemory | null;
  readonly maxAgeMs: number;
  /** Milliseconds since the epoch. */
  readonly clock: NowMs;
  readonly listener: SignatureListener;
}

/** Says which agent has signed a request: asked once a request, when its name matters first. docs/agents.md */
export class AgentVerifier {
  private readonly parts: VerifierPorts;

  constructor(parts: VerifierPorts) {
    this.parts = parts;
  }

  nameOf(ex: Exchange): string {
    const head = new HeadReading(ex);
    const input = head.only(SIGNATURE_INPUT);
    if (input === null) return "";
    const found = this.judge(head, input);
    if (typeof found !== "string") {
      this.parts.listener.onAgentVerified();
      return found.agent;
    }
    this.parts.listener.onAgentRefused(ex, found as SignatureFault);
    return "";
  }

  private judge(head: HeadReading, input: string): AgentKeyEntry | SignatureFault {
    const signature = head.only(SIGNATURE);
    const agent = head.only(SIGNATURE_AGENT);
    const length = input.length + (signature?.length ?? 0) + (agent?.length ?? 0);
    if (signature === null || length > MAX_CHARS) return "malformed";
    const all = readSignatures(input, signature).filter(({ tag }) => tag === AGENT_TAG);
    if (all.length === 0) return "malformed";
    if (all.length > MAX_SIGNATURES) return "too_many";
    let first: SignatureFault | null = null;
    for (const one of all) {
      const found = this.judgeOne(head, one, agent);
      if (typeof found !== "string") return found;
      first ??= found;
    }
    return first!;
  }

  private judgeOne(head: HeadReading, one: MessageSignature, agent: string | null): AgentKeyEntry | SignatureFault {
    const { keys, nonces } = this.parts;
    const isEd25519 = one.algorithm === "" || one.algorithm === "ed25519";
    if (one.keyId === "" || one.bytes.length !== SIGNATURE_BYTES || !isEd25519) return "malformed";
    if (!this.isInTime(one)) return "time";
    if (!coversTarget(one.covered)) return "not_covered";
    let directory = "";
    if (agent !== null) {
      const named = coveredAgent(one, agent);
      if (named === null) return "not_covered";
      directory = directoryUrl(named);
      if (directory === "") return "unknown_key";
    }
    const key = keys.find(one.keyId, directory);
    if (key === null) return "unknown_key";
    if (nonces !== null && (one.nonce === "" || one.nonce.length > MAX_NONCE_CHARS)) return "nonce";
    const base = signatureBase(one.covered, head);
    if (base === null) return "not_covered";
    if (!isSignedBy(key.object, base, one.bytes)) return "wrong";
    if (nonces === null) return key;
    const until = Math.min(one.expires, one.created + Math.ceil(this.parts.maxAgeMs / 1000));
    return nonces.take(`${one.keyId} ${one.nonce}`, until + SKEW_S, this.parts.clock.nowMs) ? key : "replay";
  }

  private isInTime({ created, expires }: MessageSignature): boolean {
    const now = this.parts.clock.nowMs / 1000;
    if (created < 0 || expires <= created) return false;
    return created <= now + SKEW_S && expires > now && now - created <= this.parts.maxAgeMs / 1000;
  }
}

/** A signature that says nothing of whom a request is for could be sent to anyone else. */
function coversTarget({ items }: InnerList): boolean {
  return items.some(
    ({ item, parameters }) => parameters.size === 0 && (item.value === "@authority" || item.value === "@target-uri"),
  );
}

/**
 * What `Signature-Agent` says, if the signature covers it: a string, or the member of a dictionary that is covered, or that has the
 * signature's own name.
 */
function coveredAgent({ covered, label }: MessageSignature, field: string): string | null {
  const component = covered.items.find(({ item }) => item.value === SIGNATURE_AGENT);
  if (component === undefined) return null;
  const key = component.parameters.get("key");
  if (component.parameters.size > (key === undefined ? 0 : 1)) return null;
  const whole = key === undefined ? parseItem(field) : null;
  if (whole?.item.kind === "string") return whole.item.value;
  const member = parseDictionary(field, true)?.get(key?.kind === "string" ? key.value : label);
  return member !== undefined && "item" in member && member.item.kind === "string" ? member.item.value : null;
}

function isSignedBy(key: KeyObject, base: string, signature: Uint8Array): boolean {
  try {
    return verify(null, Buffer.from(base, "latin1"), key, signature);
  } catch {
    return false;
  }
}

const SIGNATURE_INPUT = "signature-input";
const SIGNATURE = "signature";
const SIGNATURE_AGENT = "signature-agent";
/** Of the three fields together. */
const MAX_CHARS = 16_384;
/** Of agents, on one request. */
const MAX_SIGNATURES = 3;
const SIGNATURE_BYTES = 64;
const MAX_NONCE_CHARS = 256;
/** By how much the clock of an agent may be fast. */
const SKEW_S = 5;
