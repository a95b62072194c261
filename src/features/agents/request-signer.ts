import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import type { BareItem, InnerList, Item } from "../../proto/semantics/structured-fields.ts";
import { listText } from "../../proto/semantics/structured-text.ts";
import { thumbprintOf } from "../../proto/signatures/agent-keys.ts";
import { signatureBase } from "../../proto/signatures/signature-base.ts";
import { plainAuthority } from "../../proto/target/plain-authority.ts";
import { AGENT_TAG } from "./agent-verifier.ts";
import type { SignConfig } from "./sign-settings.ts";

/** Bytes of the lines that it adds, beside the origin of the directory. */
const LINES_BOUND = 640;

/** Signs the heads of requests that go to the targets of a route. docs/agents.md#signing */
export class RequestSigner {
  private readonly key: KeyObject;
  private readonly keyId: string;
  private readonly agent: string;
  private readonly seconds: number;
  private readonly scheme: "https" | "http";

  /** @param scheme that of the targets */
  constructor({ key, agent, expiresMs }: SignConfig, scheme: "https" | "http") {
    this.key = createPrivateKey({ key: Buffer.from(key, "base64"), format: "der", type: "pkcs8" });
    this.keyId = thumbprintOf(createPublicKey(this.key));
    this.agent = agent;
    this.seconds = Math.ceil(expiresMs / 1000);
    this.scheme = scheme;
  }

  /** Bytes that `apply` may add. */
  get bound(): number {
    return LINES_BOUND + 2 * this.agent.length;
  }

  /** Signs a head of HTTP/1.1 in `[from, to)`: signatures of the client give way. @returns the offset behind it */
  apply(out: Buffer, from: number, to: number): number {
    const [start = "", ...fields] = out.latin1Slice(from, to - END.length).split("\r\n");
    const kept = fields.filter((line) => !OF_SIGNATURES.test(line));
    const [method = "", target = ""] = start.split(" ");
    const host =
      kept
        .find((line) => HOST.test(line))
        ?.slice(HOST_CHARS)
        .trim() ?? "";
    const mark = target.indexOf("?");
    const path = mark < 0 ? target : target.slice(0, mark);
    const covered = this.covered();
    const agent = `"${this.agent}"`;
    const base = signatureBase(covered, {
      method,
      scheme: this.scheme,
      authority: plainAuthority(host, this.scheme),
      path,
      query: mark < 0 ? null : target.slice(mark + 1),
      target,
      linesOf: (name) => (name === "signature-agent" ? [`${LABEL}=${agent}`] : []),
    })!;
    const signature = sign(null, Buffer.from(base, "latin1"), this.key).toString("base64");
    const lines = [
      start,
      ...kept,
      ...(this.agent === "" ? [] : [`Signature-Agent: ${LABEL}=${agent}`]),
      `Signature-Input: ${LABEL}=${listText(covered)}`,
      `Signature: ${LABEL}=:${signature}:`,
    ];
    return from + out.latin1Write(lines.join("\r\n") + END, from);
  }

  private covered(): InnerList {
    const created = Math.floor(Date.now() / 1000);
    const parameters = new Map<string, BareItem>([
      ["created", { kind: "integer", value: created }],
      ["expires", { kind: "integer", value: created + this.seconds }],
      ["keyid", { kind: "string", value: this.keyId }],
      ["alg", { kind: "string", value: "ed25519" }],
      ["nonce", { kind: "string", value: randomBytes(NONCE_BYTES).toString("base64") }],
      ["tag", { kind: "string", value: AGENT_TAG }],
    ]);
    return { items: this.agent === "" ? TARGET : [...TARGET, AGENT_MEMBER], parameters };
  }
}

const END = "\r\n\r\n";
const LABEL = "edge";
const OF_SIGNATURES = /^signature(?:-input|-agent)?[\t ]*:/i;
const HOST = /^host:/i;
const HOST_CHARS = 5;
const NONCE_BYTES = 64;
const TARGET: readonly Item[] = ["@method", "@authority", "@path", "@query"].map((value) => ({
  item: { kind: "string", value },
  parameters: new Map(),
}));
const AGENT_MEMBER: Item = {
  item: { kind: "string", value: "signature-agent" },
  parameters: new Map([["key", { kind: "string", value: LABEL }]]),
};
