import { type BigIntStats, fstatSync } from "node:fs";

/** Which file it is and which state of it: what tells that a file has been changed or replaced. */
export class FileIdentity {
  readonly sizeBytes: number;
  readonly mtimeNs: bigint;
  private readonly dev: bigint;
  private readonly ino: bigint;
  private readonly ctimeNs: bigint;

  constructor(stat: BigIntStats) {
    this.sizeBytes = Number(stat.size);
    this.mtimeNs = stat.mtimeNs;
    this.dev = stat.dev;
    this.ino = stat.ino;
    this.ctimeNs = stat.ctimeNs;
  }

  /** The identity of an open file. Throws what fstat throws. */
  static ofOpen(fd: number): FileIdentity {
    return new FileIdentity(fstatSync(fd, { bigint: true }));
  }

  /** Whether it is the same file in the same state, attributes included. */
  equals(other: FileIdentity): boolean {
    return (
      this.hasContentOf(other) && this.dev === other.dev && this.ino === other.ino && this.ctimeNs === other.ctimeNs
    );
  }

  /** Tells this state of this file from all others. */
  get key(): string {
    return `${this.dev}.${this.ino}.${this.sizeBytes}.${this.mtimeNs}.${this.ctimeNs}`;
  }

  /**
   * Whether the content of one open file is unchanged. Not its attributes: a deployment that puts a new file in its
   * place changes the link count, and so the ctime, of the one being served.
   */
  hasContentOf(other: FileIdentity): boolean {
    return this.mtimeNs === other.mtimeNs && this.sizeBytes === other.sizeBytes;
  }

  /**
   * A strong entity tag, quotes included. The inode is part of it, since reproducible builds give every file the same
   * mtime, and a changed file may keep its size. It is hashed, so that inode numbers are not disclosed.
   */
  entityTag(suffix: string): string {
    const hash = Bun.hash(`${this.dev}.${this.ino}.${this.sizeBytes}.${this.mtimeNs}`);
    return `"${hash.toString(16)}${suffix}"`;
  }

  /** Whole seconds since the epoch. RFC 9110 §8.8.2.1: never later than the response. */
  lastModifiedS(nowMs: number): number {
    return Math.min(Number(this.mtimeNs / 1_000_000_000n), Math.floor(nowMs / 1000));
  }
}
