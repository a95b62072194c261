import type { Clock } from "../../core/clock.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { directoryLocation, FILE_RECHECK_MS, lookedUpPath, mountPrefix, refuse, refusesPath } from "./file-handler.ts";
import { movedPermanently, NOT_FOUND } from "./file-responses.ts";
import { PathVerdict, RelativePath } from "./relative-path.ts";
import { type FoundScript, ScriptFinder, ScriptLookup, type ScriptMount } from "./script-finder.ts";

/** Paths of a FastCGI route whose files are remembered for FILE_RECHECK_MS, per worker. */
const MAX_REMEMBERED_SCRIPTS = 1024;

/** Who answers for what a path leads to. */
interface ScriptHandlers {
  /** Runs `ex.script`. */
  readonly scripts: Handler;
  /** Sends a file. */
  readonly files: Handler;
}

/** What was found at a path, and when. */
interface Remembered {
  readonly found: FoundScript;
  readonly relative: RelativePath;
  readonly checkedMs: number;
}

/**
 * Serves a folder with scripts of a FastCGI origin: scripts are run, files beside them are sent, and what is neither goes to the
 * front controller. What the disk has said of a path is believed for FILE_RECHECK_MS. docs/php.md#which-script-runs
 */
export class ScriptHandler implements Handler {
  readonly name = "scripts";
  private readonly handlers: ScriptHandlers;
  private readonly prefix: string;
  private readonly isRewritten: boolean;
  private readonly clock: Pick<Clock, "nowMs">;
  private readonly finder: ScriptFinder;
  private readonly remembered: Map<string, Remembered> = new Map();

  /** @param isRewritten whether what is looked up is another path than the client's, which redirects must not name */
  constructor(mount: ScriptMount, handlers: ScriptHandlers, clock: Pick<Clock, "nowMs">, isRewritten: boolean) {
    this.handlers = handlers;
    this.prefix = mountPrefix(mount.prefix);
    this.isRewritten = isRewritten;
    this.clock = clock;
    this.finder = new ScriptFinder(mount, this.prefix);
  }

  handle(ex: Exchange): Verdict {
    const path = lookedUpPath(ex);
    if (path === null) return Verdict.Done;
    const known = this.recall(path);
    const relative = known === null ? new RelativePath(path, this.prefix) : known.relative;
    if (known === null && refusesPath(ex, relative)) return Verdict.Done;
    if (relative.verdict === PathVerdict.Hidden) {
      ex.sink.fixed(ex, NOT_FOUND);
      return Verdict.Done;
    }
    return this.answer(ex, relative, known === null ? this.find(path, relative) : known.found);
  }

  private answer(ex: Exchange, relative: RelativePath, { what, call, refusal }: FoundScript): Verdict {
    switch (what) {
      case ScriptLookup.Script:
        ex.script = call;
        return this.handlers.scripts.handle(ex);
      case ScriptLookup.File:
        return this.handlers.files.handle(ex);
      case ScriptLookup.Folder:
        ex.sink.fixed(ex, movedPermanently(directoryLocation(ex, this.isRewritten ? null : this.prefix, relative)));
        break;
      case ScriptLookup.Nothing:
        ex.sink.fixed(ex, NOT_FOUND);
        break;
      case ScriptLookup.Refused:
        refuse(ex, refusal);
    }
    return Verdict.Done;
  }

  private recall(path: string): Remembered | null {
    const known = this.remembered.get(path);
    if (known === undefined) return null;
    const ageMs = this.clock.nowMs - known.checkedMs;
    // A clock that was set back counts as too long ago.
    return ageMs >= 0 && ageMs < FILE_RECHECK_MS ? known : null;
  }

  private find(path: string, relative: RelativePath): FoundScript {
    const found = this.finder.find(relative);
    // What lasts so short needs no order of use.
    if (this.remembered.size >= MAX_REMEMBERED_SCRIPTS) this.remembered.clear();
    this.remembered.set(path, { found, relative, checkedMs: this.clock.nowMs });
    return found;
  }
}
