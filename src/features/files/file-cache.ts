import type { Coding } from "../../proto/semantics/accept-encoding.ts";
import type { FileVariant, Resource } from "./file-variant.ts";
import { LoopPass } from "./loop-pass.ts";
import { OpenFiles } from "./open-file.ts";

/** Bytes of file content that one worker holds. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Files that one worker knows, held or not. */
const DEFAULT_MAX_ENTRIES = 16384;
/** What an entry costs beside the content: paths, tags, prebuilt heads. */
const ENTRY_BYTES = 2048;

/** Facts about one path of a mount: the file, its variants, and when that was last seen to be true. */
export class FileEntry {
  readonly resource: Resource;
  /** The file below the root, without the suffix of a coding. */
  readonly target: string;
  /** One row a Coding; null if there is no such variant. The row of Identity is never null. */
  readonly variants: readonly (FileVariant | null)[];
  /** Bit `1 << coding` for every variant. */
  readonly available: number;
  /** When the disk was last asked, in milliseconds of the worker's clock. */
  readonly checkedMs: number;
  /** In which pass of the event loop that was; 0 for none. */
  readonly checkedPass: number;

  constructor(
    resource: Resource,
    target: string,
    variants: readonly (FileVariant | null)[],
    checkedMs: number,
    checkedPass = 0,
  ) {
    this.resource = resource;
    this.target = target;
    this.variants = variants;
    this.available = variants.reduce((bits, variant, coding) => bits | (variant === null ? 0 : 1 << coding), 0);
    this.checkedMs = checkedMs;
    this.checkedPass = checkedPass;
  }

  /** The variant in a coding that is available. */
  variant(coding: Coding): FileVariant {
    return this.variants[coding]!;
  }

  /** Memory it takes, about. */
  costBytes(): number {
    return this.variants.reduce((sum, variant) => sum + (variant?.held?.body.length ?? 0), ENTRY_BYTES);
  }
}

/** A place in the cache: an entry under a mount's key, and its neighbours in the line of those to go. */
class Place {
  entry: FileEntry;
  readonly shelf: FileShelf;
  readonly key: string;
  /** Whether it was asked for since it last stood at the front of the line. */
  used = false;
  older: Place = this;
  newer: Place = this;

  constructor(shelf: FileShelf, key: string, entry: FileEntry) {
    this.shelf = shelf;
    this.key = key;
    this.entry = entry;
  }
}

/** The files of one mount within the cache of a worker. */
export class FileShelf {
  private readonly cache: FileCache;
  private readonly places: Map<string, Place> = new Map();

  constructor(cache: FileCache) {
    this.cache = cache;
  }

  /** The entry under `key`, or null. */
  find(key: string): FileEntry | null {
    const place = this.places.get(key);
    if (place === undefined) return null;
    place.used = true;
    return place.entry;
  }

  /** Puts an entry in, in place of the one under the same key. */
  put(key: string, entry: FileEntry): void {
    let place = this.places.get(key);
    if (place === undefined) {
      place = new Place(this, key, entry);
      this.places.set(key, place);
      this.cache.admit(place);
    } else {
      this.cache.recount(entry.costBytes() - place.entry.costBytes());
      place.entry = entry;
    }
    this.cache.shrink();
  }

  /** Forgets the entry under `key`, if there is one. */
  remove(key: string): void {
    const place = this.places.get(key);
    if (place !== undefined) this.cache.evict(place);
  }

  /** Takes the place out of the index; the cache calls it. */
  forget(key: string): void {
    this.places.delete(key);
  }
}

/**
 * The small files and the facts about all files that a worker keeps, bounded in bytes and in number.
 *
 * Eviction is second chance: a hit sets one flag, which is cheaper than moving the entry in a list, and files that were
 * asked for once by a crawl leave before those asked for again and again.
 */
export class FileCache {
  readonly pass: LoopPass = new LoopPass();
  readonly open: OpenFiles;
  private readonly maxBytes: number;
  private readonly maxEntries: number;
  /** Ring head: `newer` is the oldest place, `older` the newest. */
  private readonly line: Place;
  private bytes = 0;
  private entries = 0;

  /** @param maxBytes file content plus about 2 KiB an entry */
  constructor(
    maxBytes: number = DEFAULT_MAX_BYTES,
    maxEntries: number = DEFAULT_MAX_ENTRIES,
    open: OpenFiles = new OpenFiles(),
  ) {
    this.open = open;
    this.maxBytes = maxBytes;
    this.maxEntries = maxEntries;
    this.line = new Place(new FileShelf(this), "", new FileEntry(NO_RESOURCE, "", [], 0));
  }

  /** Bytes in use, about. */
  get usedBytes(): number {
    return this.bytes;
  }

  /** Entries held. */
  get size(): number {
    return this.entries;
  }

  /** A shelf for one mount. */
  shelf(): FileShelf {
    return new FileShelf(this);
  }

  /** Counts a new place in, at the end of the line. */
  admit(place: Place): void {
    this.entries++;
    this.bytes += place.entry.costBytes();
    this.append(place);
  }

  /** Counts a changed entry. */
  recount(byBytes: number): void {
    this.bytes += byBytes;
  }

  /** Evicts from the front of the line until the bounds hold. */
  shrink(): void {
    while ((this.bytes > this.maxBytes || this.entries > this.maxEntries) && this.entries > 0) {
      const front = this.line.newer;
      if (front.used) {
        front.used = false;
        unlink(front);
        this.append(front);
      } else {
        this.evict(front);
      }
    }
  }

  /** Takes a place out. */
  evict(place: Place): void {
    unlink(place);
    place.shelf.forget(place.key);
    this.entries--;
    this.bytes -= place.entry.costBytes();
  }

  private append(place: Place): void {
    const line = this.line;
    place.older = line.older;
    place.newer = line;
    line.older.newer = place;
    line.older = place;
  }
}

const NO_RESOURCE: Resource = { status: 0, contentType: "", cacheControl: "" };

function unlink(place: Place): void {
  place.older.newer = place.newer;
  place.newer.older = place.older;
}
