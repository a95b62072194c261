import { type BareItem, type InnerList, parseDictionary } from "../semantics/structured-fields.ts";

/** A signature of a message. RFC 9421 §2.3 */
export interface MessageSignature {
  readonly label: string;
  /** The components, with the parameters of the signature. */
  readonly covered: InnerList;
  readonly bytes: Uint8Array;
  /** Seconds since the epoch; -1 if it is not said. */
  readonly created: number;
  readonly expires: number;
  /** "" if it is not said. */
  readonly keyId: string;
  readonly tag: string;
  readonly nonce: string;
  readonly algorithm: string;
}

/**
 * The signatures of two fields, each with its name in both. A name that comes twice, or another form, leaves none.
 * @param input Signature-Input
 * @param signature Signature
 */
export function readSignatures(input: string, signature: string): readonly MessageSignature[] {
  const inputs = parseDictionary(input, true);
  const values = parseDictionary(signature, true);
  if (inputs === null || values === null) return [];
  const written = new Set(signature.split(":"));
  return [...inputs].flatMap(([label, covered]) => {
    const value = values.get(label);
    if (!("items" in covered) || value === undefined || "items" in value || value.item.kind !== "bytes") return [];
    // The last digit has bits that say nothing: of all spellings one counts.
    if (!written.has(Buffer.from(value.item.value).toString("base64"))) return [];
    const { parameters } = covered;
    const known = [...parameters].every(([name, { kind }]) => KINDS.get(name) === kind);
    if (!known || value.parameters.size > 0) return [];
    return [
      {
        label,
        covered,
        bytes: value.item.value,
        created: numberOf(parameters.get("created")),
        expires: numberOf(parameters.get("expires")),
        keyId: textOf(parameters.get("keyid")),
        tag: textOf(parameters.get("tag")),
        nonce: textOf(parameters.get("nonce")),
        algorithm: textOf(parameters.get("alg")),
      },
    ];
  });
}

function numberOf(item: BareItem | undefined): number {
  return item?.kind === "integer" ? item.value : -1;
}

function textOf(item: BareItem | undefined): string {
  return item?.kind === "string" ? item.value : "";
}

/** Parameters, and their kinds. */
const KINDS: ReadonlyMap<string, BareItem["kind"]> = new Map([
  ["created", "integer"],
  ["expires", "integer"],
  ["keyid", "string"],
  ["tag", "string"],
  ["nonce", "string"],
  ["alg", "string"],
]);
