import { createHash } from "node:crypto";
import { type SignedNote, type SigningKey, verifySignature } from "./minisign.ts";

/** A text as its source gave it. */
export interface RemoteText {
  readonly bytes: Uint8Array;
  /** By what the source tells whether it is still the same, such as an ETag; "" if it has nothing of the kind. */
  readonly tag: string;
}

/** One document of a source. */
export interface RemoteDocument {
  /** Its address without credentials, for people. */
  readonly label: string;
  /**
   * Reads it.
   * @param tag of what is known of it; "" for nothing
   * @returns "same" if that is what it still is, null if there is no such document
   * @throws why it cannot be had
   */
  read(tag: string): Promise<RemoteText | "same" | null>;
}

/** The documents of a configuration. */
interface PairDocuments {
  readonly config: RemoteDocument;
  readonly routes: RemoteDocument;
  /** Both are there where signatures are asked for. */
  readonly configSignature: RemoteDocument | null;
  readonly routesSignature: RemoteDocument | null;
}

type Part = keyof PairDocuments;

/** Both texts of a configuration, as they were at one moment. */
interface RemoteTexts extends Readonly<Record<Part, RemoteText | null>> {
  readonly config: RemoteText;
}

/** The same with what follows from them. */
export interface RemoteConfiguration {
  readonly texts: RemoteTexts;
  /** Twelve hexadecimal digits of a SHA-256 over both texts: the same on every gateway that reads them. */
  readonly version: string;
}

/** Reads configuration and routes as one pair: what changes while it is read is read again. docs/fleet.md#configuration-from-afar */
export class RemotePair {
  private readonly documents: PairDocuments;
  private readonly pause: (ms: number) => Promise<unknown>;

  constructor(documents: PairDocuments, pause: (ms: number) => Promise<unknown> = Bun.sleep) {
    this.documents = documents;
    this.pause = pause;
  }

  /** The names of both for people. */
  get labels(): { readonly config: string; readonly routes: string } {
    return { config: this.documents.config.label, routes: this.documents.routes.label };
  }

  /**
   * Reads the pair.
   * @param known what it was before: given back as it is if nothing has changed
   * @param settleMs how long it must have stayed the same before it is taken, so that who writes one file after the other is waited for
   * @throws why it cannot be had
   */
  async read(known: RemoteConfiguration | null, settleMs: number): Promise<RemoteConfiguration> {
    let last = await this.readAll(known?.texts ?? null);
    if (known !== null && isSamePair(last, known.texts)) return { ...known, texts: last };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await this.pause(settleMs);
      const next = await this.readAll(last);
      if (isSamePair(next, last)) return configurationOf(next);
      last = next;
    }
    throw new Error(`${this.labels.config}: changes while it is read`);
  }

  private async readAll(known: RemoteTexts | null): Promise<RemoteTexts> {
    const read = async (part: Part): Promise<RemoteText | null> => {
      const document = this.documents[part];
      if (document === null) return null;
      const before = known?.[part] ?? null;
      const found = await document.read(before?.tag ?? "");
      return found === "same" ? before : found;
    };
    // One after the other: with a pause of none the second look at the first comes after the last was read.
    const config = await read("config");
    if (config === null) throw new Error(`${this.labels.config}: there is no such document`);
    const routes = await read("routes");
    const configSignature = await read("configSignature");
    const routesSignature = routes === null ? null : await read("routesSignature");
    return { config, routes, configSignature, routesSignature };
  }
}

/** When each text was signed, in seconds since the epoch; 0 if that is not said. */
export interface SignedTimes {
  readonly config: number;
  readonly routes: number;
}

/**
 * Verifies the signatures of both texts. docs/fleet.md#signatures
 * @param newest what was taken before: a text that was signed earlier is refused
 * @returns the fault, by document; none if all is well
 */
export function checkSignatures(
  texts: RemoteTexts,
  keys: readonly SigningKey[],
  newest: SignedTimes,
): {
  readonly faults: readonly { readonly part: "config" | "routes"; readonly message: string }[];
  readonly times: SignedTimes;
} {
  const faults: { part: "config" | "routes"; message: string }[] = [];
  const times = { ...newest };
  for (const part of ["config", "routes"] as const) {
    const text = texts[part];
    if (text === null) continue;
    try {
      const signature = texts[`${part}Signature`];
      if (signature === null) throw new Error("is not signed: there is no .minisig beside it");
      times[part] = timeOf(
        verifySignature(text.bytes, Buffer.from(signature.bytes).toString("utf8"), keys),
        newest[part],
      );
    } catch (error) {
      faults.push({ part, message: (error as Error).message });
    }
  }
  return { faults, times };
}

function timeOf({ signedAtS }: SignedNote, newestS: number): number {
  if (signedAtS >= newestS) return signedAtS;
  const before = new Date(newestS * 1000).toISOString();
  throw new Error(
    signedAtS === 0
      ? `the trusted comment has no timestamp:, and that of the configuration before says ${before}`
      : `signed ${new Date(signedAtS * 1000).toISOString()}, before the last one in use (${before}): to go back, sign the older text anew`,
  );
}

/** Makes the version of texts. */
export function configurationOf(texts: RemoteTexts): RemoteConfiguration {
  const hash = createHash("sha256");
  for (const text of [texts.config, texts.routes])
    hash.update(`${text === null ? "-" : text.bytes.length}\n`).update(text?.bytes ?? "");
  return { texts, version: hash.digest("hex").slice(0, VERSION_DIGITS) };
}

/** Whether both are the same, whatever their tags. */
export function isSamePair(one: RemoteTexts, other: RemoteTexts): boolean {
  return PARTS.every((part) => {
    const [a, b] = [one[part], other[part]];
    return a === b || (a !== null && b !== null && Buffer.compare(a.bytes, b.bytes) === 0);
  });
}

const PARTS: readonly Part[] = ["config", "routes", "configSignature", "routesSignature"];
const MAX_ROUNDS = 5;
const VERSION_DIGITS = 12;
