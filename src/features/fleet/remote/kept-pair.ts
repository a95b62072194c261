import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../../config/made-folder.ts";
import { configurationOf, type RemoteConfiguration, type RemoteText, type SignedTimes } from "./remote-pair.ts";

/** The last good configuration, as it was kept. */
export interface KeptConfiguration extends RemoteConfiguration {
  /** Milliseconds since the epoch. */
  readonly takenAtMs: number;
  readonly signed: SignedTimes;
}

type Part = keyof RemoteConfiguration["texts"];

/** The file that says which pair is kept. */
interface Index {
  readonly version: string;
  readonly taken_at: string;
  readonly signed: SignedTimes;
  readonly files: Partial<Record<Part, string>>;
}

/**
 * The last good configuration of one source, in a folder. Its texts are files by themselves, and an index names them: it is renamed into
 * place when they are on the disk, so that whenever the process ends the pair from before or the new one is there, and no mixture.
 * docs/fleet.md#the-state-directory
 */
export class KeptPair {
  private readonly folder: string;
  private readonly id: string;

  /** @param source the addresses, which tell sources in one folder apart */
  constructor(folder: string, source: readonly string[]) {
    this.folder = folder;
    this.id = createHash("sha256").update(JSON.stringify(source)).digest("hex").slice(0, 12);
  }

  /** @returns null if nothing was kept @throws where what was kept cannot be used */
  load(): KeptConfiguration | null {
    let text: string;
    try {
      text = readFileSync(this.indexFile, "utf8");
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return null;
      throw error;
    }
    const { version, taken_at, signed, files } = JSON.parse(text) as Index;
    const read = (part: Part): RemoteText | null => {
      const name = files[part];
      if (name === undefined) return null;
      if (!/^[\w.-]+$/.test(name)) throw new Error(`${this.indexFile}: names a file elsewhere`);
      return { bytes: readFileSync(join(this.folder, name)), tag: "" };
    };
    const config = read("config");
    if (config === null) throw new Error(`${this.indexFile}: names no configuration`);
    const found = configurationOf({
      config,
      routes: read("routes"),
      configSignature: read("configSignature"),
      routesSignature: read("routesSignature"),
    });
    if (found.version !== version) throw new Error(`${this.indexFile}: the files have changed since edge kept them`);
    return { ...found, takenAtMs: Date.parse(taken_at), signed: { config: signed.config, routes: signed.routes } };
  }

  /** Keeps a configuration in place of the kept data. @throws where the folder cannot be written */
  save({ texts, version }: RemoteConfiguration, signed: SignedTimes, nowMs: number): void {
    makeFolder(this.folder, 0o700);
    const files: Partial<Record<Part, string>> = {};
    for (const part of PARTS) {
      const text = texts[part];
      if (text === null) continue;
      const signature = /Signature$/.test(part) ? ".minisig" : "";
      const name = `${part.replace("Signature", "")}-${this.id}-${version}.yaml${signature}`;
      this.write(name, text.bytes);
      files[part] = name;
    }
    const index: Index = { version, taken_at: new Date(nowMs).toISOString(), signed, files };
    this.write(`kept-${this.id}.json`, Buffer.from(`${JSON.stringify(index, null, 2)}\n`));
    const wanted = new Set(Object.values(files));
    const others = new RegExp(`^(config|routes)-${this.id}-.*|^kept-${this.id}\\.json\\..*`);
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name);
      // What is young may be another process's that is about to write its index, as at a change of the binary.
      if (!others.test(name) || wanted.has(name) || nowMs - statSync(path).mtimeMs < YOUNG_MS) continue;
      rmSync(path, { force: true });
    }
  }

  private get indexFile(): string {
    return join(this.folder, `kept-${this.id}.json`);
  }

  private write(name: string, bytes: Uint8Array): void {
    const path = join(this.folder, name);
    const aside = `${path}.${process.pid}`;
    const file = openSync(aside, "w", 0o600);
    try {
      // One that a killed process has left may have another mode.
      chmodSync(aside, 0o600);
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(aside, path);
    const folder = openSync(this.folder, "r");
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  }
}

const YOUNG_MS = 60_000;
const PARTS: readonly Part[] = ["config", "routes", "configSignature", "routesSignature"];
