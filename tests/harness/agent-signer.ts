// Signs requests as agents do (RFC 9421 with Ed25519), by text alone: independent of the gateway's own.
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** An agent's key. */
export interface AgentIdentity {
  readonly privateKey: KeyObject;
  /** Its JWK, for directories and files. */
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly keyId: string;
}

/** A new key. @param more members of its JWK */
export function agentIdentity(more: object = {}): AgentIdentity {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { kty, crv, x } = publicKey.export({ format: "jwk" });
  const keyId = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
  return { privateKey, keyId, jwk: { kty, crv, x, use: "sig", ...more } };
}

/** Components and parameters; all of it may be wrong. */
export interface Signing {
  readonly host: string;
  /** Components as they are named, with their values. */
  readonly components?: readonly (readonly [name: string, value: string])[];
  /** Parameters as they are written, in place of the usual ones; `null` leaves one out. */
  readonly parameters?: Readonly<Record<string, string | null>>;
  /** Lines of Signature-Agent. */
  readonly agent?: string;
  readonly label?: string;
}

/** The header lines of a signed request. */
export function signedLines({ privateKey, keyId }: AgentIdentity, signing: Signing): string[] {
  const { host, agent, label = "sig1" } = signing;
  const now = Math.floor(Date.now() / 1000);
  const isDictionary = agent !== undefined && !agent.startsWith('"');
  const own: readonly (readonly [string, string])[] = [
    ['"@authority"', host],
    ...(agent === undefined
      ? []
      : isDictionary
        ? [[`"signature-agent";key="${label}"`, agent.slice(agent.indexOf("=") + 1)] as const]
        : [['"signature-agent"', agent] as const]),
  ];
  const components = signing.components ?? own;
  const parameters = {
    created: String(now),
    expires: String(now + 60),
    keyid: `"${keyId}"`,
    tag: '"web-bot-auth"',
    ...signing.parameters,
  };
  const text = Object.entries(parameters)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `;${name}=${value}`)
    .join("");
  const covered = `(${components.map(([name]) => name).join(" ")})${text}`;
  const base = [...components.map(([name, value]) => `${name}: ${value}`), `"@signature-params": ${covered}`].join(
    "\n",
  );
  const signature = sign(null, Buffer.from(base, "latin1"), privateKey).toString("base64");
  return [
    `Signature-Input: ${label}=${covered}`,
    `Signature: ${label}=:${signature}:`,
    ...(agent === undefined ? [] : [`Signature-Agent: ${agent}`]),
  ];
}
