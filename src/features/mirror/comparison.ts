/** Bytes of a body that are compared with the mirror's; the mirror's own is not read any further. */
export const MAX_COMPARED_BYTES = 1_048_576;

/** The record of a response: its status, and a hash of its body's first MAX_COMPARED_BYTES, taken as they pass. */
export class ResponseDigest {
  status = 0;
  private readonly hash = new Bun.CryptoHasher("sha256");
  private bytes = 0;
  private text = "";

  /** Takes a piece of the body. */
  add(bytes: Uint8Array, from: number, to: number): void {
    const end = Math.min(to, from + MAX_COMPARED_BYTES - this.bytes);
    if (end <= from) return;
    this.bytes += end - from;
    this.hash.update(bytes.subarray(from, end));
  }

  /** The hash of what has been added; no more may be after the first call. */
  body(): string {
    if (this.text === "") this.text = this.hash.digest("hex");
    return this.text;
  }
}

/** How the mirror's response differs. */
export interface MirrorDifference {
  readonly status: number;
  readonly mirrorStatus: number;
  readonly isBodySame: boolean;
}

/** Compares two responses once both are complete, whichever comes first; one that fails is compared with nothing. */
export class Comparison {
  private first: { readonly digest: ResponseDigest; readonly isMirrors: boolean } | null = null;
  private readonly differs: (difference: MirrorDifference) => void;

  /** @param differs gets the difference, if there is one */
  constructor(differs: (difference: MirrorDifference) => void) {
    this.differs = differs;
  }

  /** One of them is complete. */
  complete(digest: ResponseDigest, isMirrors: boolean): void {
    const { first } = this;
    this.first = { digest, isMirrors };
    if (first === null || first.isMirrors === isMirrors) return;
    const [real, mirrors] = isMirrors ? [first.digest, digest] : [digest, first.digest];
    const isBodySame = real.body() === mirrors.body();
    if (real.status === mirrors.status && isBodySame) return;
    this.differs({ status: real.status, mirrorStatus: mirrors.status, isBodySame });
  }
}
