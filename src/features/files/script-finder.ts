import { closeSync } from "node:fs";
import type { ScriptCall } from "../../message/script-call.ts";
import { encodedParams } from "../../proto/fastcgi/params.ts";
import { slashedPath } from "../../proto/target/canonical-path.ts";
import { ContainedRoot, FileLookup } from "./contained-root.ts";
import type { RelativePath } from "./relative-path.ts";

/** The settings of a folder with scripts. docs/php.md */
export interface ScriptMount {
  /** The folder as this machine has it, or as the origin has it where files are not looked for: an absolute path. */
  readonly dir: string;
  /** As FileMount has it. */
  readonly prefix: string;
  /** The script of a folder, such as `index.php`. */
  readonly index: string;
  /** How the names of scripts end, such as `.php`. */
  readonly splitPath: readonly string[];
  /** Whether paths that lead to no file go to the script of the root. */
  readonly frontController: boolean;
  /** Whether edge looks for files; if not, every path goes to the script of the root. */
  readonly checkFiles: boolean;
  /** Paths below `dir`, without slashes at their ends, below which no script runs; "" is `dir` itself. */
  readonly noScripts: readonly string[];
  /** Further parameters of every script. */
  readonly env: readonly (readonly [name: string, value: string])[];
}

/** What a path leads to. */
export const enum ScriptLookup {
  Script = 0,
  /** A file that is no script. */
  File,
  /** A folder whose path has no slash at its end. */
  Folder,
  /** Neither a file nor a script, nor a script that takes such paths. */
  Nothing,
  /** Refused, as `refusal` says. */
  Refused,
}

/** What a path leads to, with what is needed to answer for it. */
export interface FoundScript {
  readonly what: ScriptLookup;
  /** For Script. */
  readonly call: ScriptCall | null;
  /** For Refused. */
  readonly refusal: FileLookup;
}

/**
 * Finds out what the paths below a folder lead to, as front controllers of PHP expect it. A script is a regular file that is
 * really within the folder, whose name and whose real name both end as scripts' do; it is found before anything is split off its
 * path, so that `/uploads/picture.jpg/x.php` never becomes the script `picture.jpg`. docs/php.md#which-script-runs
 */
export class ScriptFinder {
  private readonly mount: ScriptMount;
  private readonly prefix: string;
  private readonly root: ContainedRoot;
  /** Segments that some reader takes for a script's: never another script's to answer. */
  private readonly scriptLike: RegExp;
  /** The script that was found last: the front controller, as a rule. */
  private last: { readonly key: string; readonly call: ScriptCall } | null = null;

  /** @param prefix of the mount, canonical, without a slash at its end */
  constructor(mount: ScriptMount, prefix: string) {
    this.mount = mount;
    this.prefix = prefix;
    this.root = new ContainedRoot(mount.dir);
    this.scriptLike = new RegExp(`(?:${mount.splitPath.map(RegExp.escape).join("|")})[. ]*(?:/|$)`, "i");
  }

  /** What `relative` leads to, which is neither hidden nor leads out of the folder. */
  find(relative: RelativePath): FoundScript {
    const { text } = relative;
    if (!this.mount.checkFiles) return this.frontController(text, relative.isDirectory);
    for (let end = endOfSegment(text, 0); end > 0; end = end === text.length ? -1 : endOfSegment(text, end + 1)) {
      if (!this.isScriptName(text.slice(0, end))) continue;
      const found = this.look(text.slice(0, end));
      if (found === FileLookup.Directory) continue;
      // As the route was chosen by it: some readers take a backslash for a slash.
      const rest = slashedPath(text.slice(end) + (relative.isDirectory ? "/" : ""));
      return found === FileLookup.File ? this.script(text.slice(0, end), rest) : notFound(found);
    }
    // What is spelled otherwise (`x.PHP`, `x.php.`) and what is not there is for no script, nor is it ever a file.
    if (this.scriptLike.test(text)) return NOTHING;
    return this.findFile(relative);
  }

  private findFile(relative: RelativePath): FoundScript {
    const { text, isDirectory } = relative;
    const found = text === "" ? FileLookup.Directory : this.look(text);
    if (found === FileLookup.File && !isDirectory) return FILE;
    if (found === FileLookup.Directory) {
      const folder = text === "" ? "" : `${text}/`;
      if (this.look(folder + this.mount.index) === FileLookup.File)
        return isDirectory ? this.script(folder + this.mount.index, "") : FOLDER;
      if (this.look(folder + INDEX_FILE) === FileLookup.File) return FILE;
    } else if (found !== FileLookup.File && found !== FileLookup.Missing) return notFound(found);
    const { index, frontController } = this.mount;
    if (!frontController) return NOTHING;
    const front = this.look(index);
    return front === FileLookup.File ? this.script(index, "") : notFound(front);
  }

  /** Opens what lies at a path, to judge it by what it really is. */
  private look(text: string): FileLookup {
    const found = this.root.open(text);
    if (found === FileLookup.File) closeSync(this.root.fd);
    return found;
  }

  /** The script that the finder looked at last. @param pathInfo what of the path comes after it */
  private script(text: string, pathInfo: string): FoundScript {
    const { realPath, rootPath } = this.root;
    const below = realPath.slice(rootPath.length + (rootPath === "/" ? 0 : 1));
    if (!this.isScriptName(realPath) || this.isBarred(text) || this.isBarred(below)) return NOTHING;
    return found(this.callOf(realPath, rootPath, text, pathInfo));
  }

  /** Where the origin alone has the files, only one script is ever run: whether another is there cannot be seen. */
  private frontController(text: string, isDirectory: boolean): FoundScript {
    const { dir, index } = this.mount;
    const path = text + (isDirectory && text !== "" ? "/" : "");
    const folder = Buffer.from(dir, "utf8").latin1Slice();
    const rest = path === index || path.startsWith(`${index}/`) ? slashedPath(path.slice(index.length)) : "";
    return found(this.callOf(`${folder === "/" ? "" : folder}/${index}`, folder, index, rest));
  }

  /** @param pathInfo what of the path comes after the script, decoded */
  private callOf(file: string, documentRoot: string, text: string, pathInfo: string): ScriptCall {
    const scriptName = `${this.prefix}/${text}`;
    const { last } = this;
    const key = `${file}\0${documentRoot}\0${scriptName}\0${pathInfo}`;
    if (last?.key === key) return last.call;
    const params = encodedParams([
      ["GATEWAY_INTERFACE", "CGI/1.1"],
      ["SERVER_SOFTWARE", "edge"],
      // Without it, PHP that was built to be called by a redirect refuses to run.
      ["REDIRECT_STATUS", "200"],
      ["DOCUMENT_ROOT", documentRoot],
      ["SCRIPT_FILENAME", file],
      ["SCRIPT_NAME", scriptName],
      ["DOCUMENT_URI", scriptName],
      ["PATH_INFO", pathInfo],
      // RFC 3875 §4.1.6; as nginx and Caddy make it.
      ...(pathInfo === "" ? [] : [["PATH_TRANSLATED", documentRoot + pathInfo] as const]),
      ...this.mount.env.map(([name, value]) => [name, Buffer.from(value, "utf8").latin1Slice()] as const),
    ]);
    const call = { params, scriptName };
    this.last = { key, call };
    return call;
  }

  private isScriptName(text: string): boolean {
    return this.mount.splitPath.some((end) => text.endsWith(end));
  }

  private isBarred(text: string): boolean {
    return this.mount.noScripts.some((folder) => folder === "" || text === folder || text.startsWith(`${folder}/`));
  }
}

/**
 * The files of a folder with scripts that no client gets, by their real path, in any spelling: scripts and their leftovers
 * (`x.PHP`, `wp-config.php.bak`, `.x.php.swp`), and what PHP is kept in under other names.
 */
export function withheldFiles(splitPath: readonly string[]): RegExp {
  const ends = splitPath.map(RegExp.escape).join("|");
  return new RegExp(`${ends}|\\.(?:php\\d?|phps|phtml|phar|pht|inc)(?![a-z0-9])`, "i");
}

function endOfSegment(text: string, from: number): number {
  const slash = text.indexOf("/", from);
  return slash < 0 ? text.length : slash;
}

function found(call: ScriptCall): FoundScript {
  return { what: ScriptLookup.Script, call, refusal: FileLookup.File };
}

function notFound(lookup: FileLookup): FoundScript {
  if (lookup === FileLookup.Missing || lookup === FileLookup.Directory) return NOTHING;
  return { what: ScriptLookup.Refused, call: null, refusal: lookup };
}

const NOTHING: FoundScript = { what: ScriptLookup.Nothing, call: null, refusal: FileLookup.File };
const FILE: FoundScript = { ...NOTHING, what: ScriptLookup.File };
const FOLDER: FoundScript = { ...NOTHING, what: ScriptLookup.Folder };
const INDEX_FILE = "index.html";
