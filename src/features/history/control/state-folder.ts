import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../../../config/atomic-file.ts";
import { makeFolder } from "../../../config/made-folder.ts";
import { messageOf } from "../../../core/error-text.ts";

/** A part of the state could not be read or written; it is tried again at the next change. */
type StateFaulty = (fields: { readonly file: string; readonly error: string }) => void;

/**
 * State that outlives the process, in files that their owner alone can read: each part is a file of JSON, which is replaced whole.
 * docs/operations.md#what-outlives-the-process
 */
export class StateFolder {
  private readonly folder: string;
  private readonly id: string;
  private faulty: StateFaulty = (fields) => void this.untold.push(fields);
  /** Failures from before `tell`. */
  private readonly untold: Parameters<StateFaulty>[0][] = [];
  /** The last failure: a folder that cannot be written is one line of the log. */
  private lastFault = "";
  private isHandedOn = false;

  /**
   * @param folder absolute; "" keeps nothing
   * @param of tells gateways with one folder apart: the absolute path of the configuration
   */
  constructor(folder: string, of: string) {
    this.folder = folder;
    this.id = createHash("sha256").update(of).digest("hex").slice(0, 12);
  }

  /** Reports failures from now on, and earlier ones. */
  tell(faulty: StateFaulty): void {
    this.faulty = faulty;
    for (const fields of this.untold.splice(0)) faulty(fields);
  }

  /** Another process has taken over: from now on the state is its own. */
  handOn(): void {
    this.isHandedOn = true;
  }

  /** The content of a part; null for a missing or unusable one. */
  read<T>(part: string): T | null {
    if (this.folder === "") return null;
    const file = this.fileOf(part);
    try {
      if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
      if (statSync(file).size > MAX_STATE_BYTES) throw new Error(`larger than ${MAX_STATE_BYTES} bytes`);
      return JSON.parse(readFileSync(file, "utf8")) as T;
    } catch (error) {
      this.failed(file, error);
      return null;
    }
  }

  /** Replaces a part. @returns whether it is kept now */
  write(part: string, value: object): boolean {
    if (this.folder === "" || this.isHandedOn) return false;
    const file = this.fileOf(part);
    try {
      const text = JSON.stringify(value);
      if (text.length > MAX_STATE_BYTES) throw new Error(`larger than ${MAX_STATE_BYTES} bytes`);
      makeFolder(this.folder, 0o700);
      writeWhole(file, text);
      this.lastFault = "";
      return true;
    } catch (error) {
      this.failed(file, error);
      return false;
    }
  }

  /** Removes a part, and every part that begins so and is not among these. */
  remove(part: string, but: ReadonlySet<string> = new Set()): void {
    if (this.folder === "" || this.isHandedOn) return;
    const kept = new Set([...but].map((one) => this.nameOf(one)));
    const prefix = `${this.id}-${part}`;
    try {
      for (const name of readdirSync(this.folder))
        if (name.startsWith(prefix) && !kept.has(name)) rmSync(join(this.folder, name), { force: true });
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") this.failed(this.folder, error);
    }
  }

  private failed(file: string, error: unknown): void {
    const fault = messageOf(error);
    if (fault === this.lastFault) return;
    this.lastFault = fault;
    this.faulty({ file, error: fault });
  }

  private fileOf(part: string): string {
    return join(this.folder, this.nameOf(part));
  }

  private nameOf(part: string): string {
    return `${this.id}-${part}.json`;
  }
}

/** Both files may have 16 MiB, and what JSON adds to them. */
const MAX_STATE_BYTES = 67_108_864;
