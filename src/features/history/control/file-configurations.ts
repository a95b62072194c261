import { createHash } from "node:crypto";
import { formatFault } from "../../../config/config-fault.ts";
import { exactly } from "../../../core/number-text.ts";
import type { ConfigResult, ConfigSources, GivenFiles } from "../../../loading/load-config.ts";
import type { RepeatedLoad } from "../../../loading/repeated-load.ts";
import type { RouteFile } from "../../../loading/route-folder.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { StateFolder } from "./state-folder.ts";

/** Which configuration serves, and how far one can go back, as `/internal/api/status` shows it. */
export interface ConfigurationState {
  /** When the serving configuration first served. */
  readonly taken_at: string;
  /** Whether a rollback has put it in the place of the files'. */
  readonly rolled_back: boolean;
  /** The time of the rollback, or null. */
  readonly since: string | null;
  /** Earlier configurations that `edge rollback` can go back to. */
  readonly earlier: number;
}

/** A file as it was. */
interface KeptFile {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** Both files as they were; null for a missing one. */
interface KeptTexts {
  readonly config: KeptFile | null;
  readonly routes: KeptFile | null;
}

/** A configuration that has served. */
interface Kept {
  readonly id: string;
  readonly takenAt: string;
  /** Null if the state folder has them. */
  readonly texts: KeptTexts | null;
}

/** The same in the index of the state folder. */
interface Index {
  readonly kept: readonly { readonly id: string; readonly takenAt: string }[];
  /** The serving one. */
  readonly serving: string;
  readonly back: Back | null;
}

/** A rollback that holds. */
interface Back {
  readonly since: string;
  /** Of the files as they were then: it ends when they are read again, or were changed before a start. */
  readonly digest: string;
}

/** The result of reading for a reload. */
type FileResult =
  | {
      readonly ok: true;
      readonly config: RuntimeConfig;
      readonly fields: { readonly rolled_back_to?: string };
      /** Called when it is in use everywhere, or why it is not. @param faults none if it is */
      readonly settled: (faults: readonly string[]) => void;
    }
  | { readonly ok: false; readonly faults: readonly string[] };

type Loaded = Extract<ConfigResult, { readonly ok: true }>;

/**
 * The configurations that files have given, the last of them kept for `edge rollback`. docs/operations.md#rollback
 */
export class FileConfigurations {
  private readonly files: RepeatedLoad;
  private readonly state: StateFolder;
  private readonly placed: (config: RuntimeConfig) => RuntimeConfig;
  /** In the order in which they have served, each once. */
  private kept: Kept[] = [];
  private serving: string = "";
  private back: Back | null = null;
  /** The configuration of the start, until it serves. */
  private first: Kept | null = null;

  /** @param placed what this process makes of a configuration */
  constructor(files: RepeatedLoad, state: StateFolder, placed: (config: RuntimeConfig) => RuntimeConfig) {
    this.files = files;
    this.state = state;
    this.placed = placed;
  }

  /** Reads the files, or a rolled-back configuration if the files are as they were at the rollback. */
  start(): { readonly result: ConfigResult; readonly notes: readonly string[] } {
    const index = this.state.read<Index>(INDEX);
    if (index !== null && isIndex(index)) this.kept = index.kept.map((one) => ({ ...one, texts: null }));
    const { back = null, serving = "" } = index ?? {};
    if (this.kept.some(({ id }) => id === serving)) this.serving = serving;
    if (back !== null && back.digest === this.files.digest()) {
      const kept = this.kept.find(({ id }) => id === serving);
      const texts = kept === undefined ? null : this.textsOf(kept);
      const result = texts === null ? null : this.files.earlier(givenOf(texts));
      if (result?.ok) {
        this.back = back;
        return {
          result,
          notes: [
            `the configuration of ${kept!.takenAt} serves, by a rollback of ${back.since}: the files are not in use until they are changed or reloaded`,
          ],
        };
      }
    }
    const result = this.files.load();
    if (result.ok) this.first = keptOf(result.sources);
    return { result, notes: [] };
  }

  /** The gateway serves what `start` has given. */
  begun(): void {
    if (this.first !== null) this.took(this.first, null);
    this.first = null;
  }

  /** Reads the files for a reload; if it succeeds, a rollback is over. */
  read(): FileResult {
    const result = this.files.load();
    if (!result.ok) return faulty(result);
    return this.next(result, keptOf(result.sources), null);
  }

  /** Reads the lists of routes beside routes.yaml: both files stay as they serve, whatever they are by now. */
  again(): FileResult {
    const given = this.given();
    const result = given === null ? this.files.load() : this.files.again(given);
    return result.ok ? { ok: true, config: this.placed(result.config), fields: {}, settled: () => {} } : faulty(result);
  }

  /** The same with other lists of routes that are not in files, which are not taken. */
  candidate(others: readonly RouteFile[]): ConfigResult {
    const given = this.given();
    return given === null ? this.files.tried() : this.files.candidate(given, others);
  }

  /** Reads as a reload would, and remembers nothing. */
  tried(): FileResult {
    const result = this.files.tried();
    return result.ok ? { ok: true, config: this.placed(result.config), fields: {}, settled: () => {} } : faulty(result);
  }

  /**
   * The configuration so many steps before the serving one.
   * @returns why there is none
   */
  earlier(steps: number): { readonly read: () => FileResult; readonly takenAt: string } | string {
    const at = this.kept.findIndex(({ id }) => id === this.serving) - steps;
    const kept = this.kept[at];
    if (kept === undefined) {
      const count = this.earlierCount();
      return count === 0
        ? "no configuration is kept from before the serving one"
        : `only ${exactly(count, "configuration")} from before the serving one ${count === 1 ? "is" : "are"} kept`;
    }
    const { takenAt } = kept;
    const read = (): FileResult => {
      const texts = this.textsOf(kept);
      if (texts === null)
        return { ok: false, faults: [`the configuration of ${takenAt} cannot be read from the state folder any more`] };
      const result = this.files.earlier(givenOf(texts));
      if (!result.ok) return faulty(result);
      return this.next(result, kept, { since: new Date().toISOString(), digest: this.files.digest() });
    };
    return { read, takenAt };
  }

  /** Which configuration serves. */
  serves(): ConfigurationState {
    const kept = this.kept.find(({ id }) => id === this.serving) ?? this.first;
    const { back } = this;
    return {
      taken_at: kept?.takenAt ?? "",
      rolled_back: back !== null,
      since: back?.since ?? null,
      earlier: this.earlierCount(),
    };
  }

  /** Both files as they serve; null if they cannot be had any more. */
  private given(): GivenFiles | null {
    const kept = this.kept.find(({ id }) => id === this.serving) ?? this.first;
    const texts = kept === null || kept === undefined ? null : this.textsOf(kept);
    return texts === null ? null : givenOf(texts);
  }

  private earlierCount(): number {
    return Math.max(
      0,
      this.kept.findIndex(({ id }) => id === this.serving),
    );
  }

  private next(result: Loaded, kept: Kept, back: Back | null): FileResult {
    const settled = (faults: readonly string[]): void => {
      if (faults.length === 0) this.took(kept, back);
    };
    const fields = back === null ? {} : { rolled_back_to: kept.takenAt };
    return { ok: true, config: this.placed(result.config), fields, settled };
  }

  /** A configuration serves. @param back of a rollback, or null */
  private took(kept: Kept, back: Back | null): void {
    this.back = back;
    if (back === null && kept.id !== this.serving) {
      // The configuration that served until now comes right before it, whatever a rollback has passed over.
      const until = this.kept.filter(({ id }) => id === this.serving);
      const others = this.kept.filter(({ id }) => id !== this.serving && id !== kept.id);
      const isKept = kept.texts === null || this.state.write(textsPart(kept.id), kept.texts);
      this.kept = [...others, ...until, isKept ? { ...kept, texts: null } : kept].slice(-MAX_KEPT);
    }
    this.serving = kept.id;
    const index: Index = { kept: this.kept.map(({ id, takenAt }) => ({ id, takenAt })), serving: kept.id, back };
    this.state.write(INDEX, index);
    this.state.remove(TEXTS, new Set(this.kept.map(({ id }) => textsPart(id))));
  }

  private textsOf({ id, texts }: Kept): KeptTexts | null {
    const found = texts ?? this.state.read<KeptTexts>(textsPart(id));
    // A file that was written to since is none that has served.
    return found !== null && idOf(found) === id ? found : null;
  }
}

const INDEX = "configurations";
const TEXTS = "configuration-";
/** With the serving one. */
const MAX_KEPT = 10;

function textsPart(id: string): string {
  return `${TEXTS}${id}`;
}

function keptOf({ config, routes, names, texts }: ConfigSources): Kept {
  const file = (name: string | null, path: string, text: string | null): KeptFile | null =>
    name === null || text === null ? null : { name, path, text };
  const all = { config: file(names.config, config, texts.config), routes: file(names.routes, routes, texts.routes) };
  return { id: idOf(all), takenAt: new Date().toISOString(), texts: all };
}

function idOf({ config, routes }: KeptTexts): string {
  const texts = [config, routes].map((file) => (file === null ? null : [file.path, file.text]));
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
}

function givenOf({ config, routes }: KeptTexts): GivenFiles {
  const file = (kept: KeptFile | null) =>
    kept === null ? null : { name: kept.name, path: kept.path, bytes: Buffer.from(kept.text) };
  return { config: file(config), routes: file(routes) };
}

/** Whether the state folder holds what this version writes. */
function isIndex({ kept, serving }: Partial<Index>): boolean {
  const isEntry = (one: unknown): boolean =>
    typeof (one as Kept | null)?.id === "string" && /^[0-9a-f]{16}$/.test((one as Kept).id);
  return Array.isArray(kept) && kept.length <= MAX_KEPT && kept.every(isEntry) && typeof serving === "string";
}

function faulty({ faults }: Extract<ConfigResult, { readonly ok: false }>): FileResult {
  return { ok: false, faults: faults.map((fault) => formatFault(fault)) };
}
