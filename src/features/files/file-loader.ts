import { closeSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { CODING_COUNT, Coding } from "../../proto/semantics/accept-encoding.ts";
import { type ContainedRoot, FileLookup } from "./contained-root.ts";
import { CODING_SUFFIXES } from "./content-coding.ts";
import { ownCodingOf } from "./content-type.ts";
import { FileEntry } from "./file-cache.ts";
import { FileVariant, type Resource } from "./file-variant.ts";
import type { LoopPass } from "./loop-pass.ts";

/** Makes entries of what lies on the disk. */
export class FileLoader {
  /** The entry, after `load` gave File. */
  entry: FileEntry | null = null;
  private readonly root: ContainedRoot;
  private readonly clock: Clock;
  private readonly pass: LoopPass;

  constructor(root: ContainedRoot, clock: Clock, pass: LoopPass) {
    this.root = root;
    this.clock = clock;
    this.pass = pass;
  }

  /**
   * Asks the disk for a file and its precompressed siblings and leaves what it finds in `entry`.
   * @param target the file below the root
   * @param resource status and fields to send with it
   * @param previous what was known before under the same key: variants that are unchanged are taken over unread
   */
  load(target: string, resource: Resource, previous: FileEntry | null): FileLookup {
    const root = this.root;
    const found = root.open(target);
    if (found !== FileLookup.File) return found;
    const fd = root.fd;
    const identity = root.identity!;
    try {
      const variants: (FileVariant | null)[] = new Array(CODING_COUNT).fill(null);
      let varies = false;
      for (let coding = 1; coding < CODING_COUNT; coding++) {
        variants[coding] = this.sibling(target, resource, coding, previous);
        varies ||= variants[coding] !== null;
      }
      const known = previous?.variants[Coding.Identity] ?? null;
      variants[Coding.Identity] =
        known !== null && known.varies === varies && known.identity.equals(identity)
          ? known
          : new FileVariant(
              resource,
              { coding: Coding.Identity, ownCoding: ownCodingOf(target), varies },
              fd,
              identity,
              this.clock.nowMs,
            );
      this.entry = new FileEntry(resource, target, variants, this.clock.nowMs, this.pass.current);
      return FileLookup.File;
    } catch {
      // A disk that cannot be read: fstat or read failed on an open file.
      return FileLookup.Failed;
    } finally {
      closeSync(fd);
    }
  }

  /** The sibling in a coding. One that cannot be opened, or lies outside the root, is none: the plain file is there. */
  private sibling(target: string, resource: Resource, coding: Coding, previous: FileEntry | null): FileVariant | null {
    const path = target + CODING_SUFFIXES[coding];
    // Most files have none, and a failed open costs three times a stat that finds nothing (2.2 µs against 0.7 µs).
    if (!this.root.mayExist(path) || this.root.open(path) !== FileLookup.File) return null;
    const fd = this.root.fd;
    const identity = this.root.identity!;
    try {
      const known = previous?.variants[coding] ?? null;
      if (known?.identity.equals(identity)) return known;
      const how = { coding, ownCoding: ownCodingOf(target), varies: true };
      return new FileVariant(resource, how, fd, identity, this.clock.nowMs);
    } finally {
      closeSync(fd);
    }
  }
}
