import { sliceText, utf8AsLatin1 } from "../../core/bytes.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { type Exchange, type Handler, type Route, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import { canonicalise } from "../../proto/target/canonical-path.ts";
import { hasEndlessSegment, holdsDotSegment, MAX_NAME_BYTES } from "../../proto/target/dot-segments.ts";
import { decodeOnce } from "../../proto/target/percent-decoding.ts";
import { ContainedRoot, FileLookup } from "./contained-root.ts";
import { contentTypeOf } from "./content-type.ts";
import type { FileCache, FileEntry, FileShelf } from "./file-cache.ts";
import { FileLoader } from "./file-loader.ts";
import { FileResponder } from "./file-responder.ts";
import { FILE_UNREADABLE, movedPermanently, NOT_FOUND } from "./file-responses.ts";
import type { Defer } from "./file-stream.ts";
import type { Resource } from "./file-variant.ts";
import { FolderBrowser } from "./listing/folder-browser.ts";
import type { LoopPass } from "./loop-pass.ts";
import { encodedPath, encodedQuery } from "./percent-escape.ts";
import { PathVerdict, RelativePath, requestPath } from "./relative-path.ts";

/** Milliseconds that what is known of a file is believed before the disk is asked again, if no response is stored. */
export const FILE_RECHECK_MS = 100;

/** The settings of a mount. docs/files.md */
export interface FileMount {
  /** The folder that is served: an absolute path. */
  readonly dir: string;
  /** `/static`; `/` or "" for the root and for an exact route, whose whole path is looked up in `dir`. */
  readonly prefix: string;
  /** Whether paths without a file are answered with `fallback` and 200. */
  readonly spa: boolean;
  /** A file below `dir`, or "". */
  readonly fallback: string;
  /** Value of Cache-Control on files, or "". */
  readonly cacheControl: string;
  /** Whether what is looked up is another path than the client's, which redirects must not name. */
  readonly isRewritten?: boolean;
  /** How long an entry is believed before the disk is asked again, in milliseconds; 0 asks once in each pass of the event loop. */
  readonly recheckMs: number;
  /** Files that are as if they were not there; see ContainedRoot. Absent for none. */
  readonly withheld?: RegExp;
  /** Whether files go out as they are, and precompressed ones beside them are not used. */
  readonly isPlain?: boolean;
  /** Whether a folder without an index is answered with a list of its files. */
  readonly browse?: boolean;
}

/** What a mount needs of its worker. */
export interface FilePorts {
  readonly cache: FileCache;
  readonly clock: Clock;
  /** Runs the callback as an event of its own, with what it writes flushed after it. */
  readonly defer: Defer;
  /** The route that takes a canonical path, were it the path of this request; absent if no listing asks. */
  readonly routeAt?: (path: string, head: RequestHead) => Route | null;
}

/** Responses begun for one request, while the file changes between two looks at it. */
const ANSWER_ATTEMPTS = 3;
/** The fallback's key on the shelf; no path is empty. */
const FALLBACK_KEY = "";
const INDEX = "index.html";
/** Below a name with a dot nothing is listed, not even of `.well-known`. */
const DOTTED = /(?:^|\/)\./;

/** Serves the files of one static route. */
export class FileHandler implements Handler {
  readonly name = "files";
  private readonly prefix: string;
  private readonly isRewritten: boolean;
  private readonly spa: boolean;
  private readonly fallback: string;
  private readonly fallbackResource: Resource;
  private readonly cacheControl: string;
  private readonly recheckMs: number;
  private readonly clock: Clock;
  private readonly shelf: FileShelf;
  private readonly root: ContainedRoot;
  private readonly loader: FileLoader;
  private readonly pass: LoopPass;
  private readonly responder: FileResponder;
  /** Null without `browse`. */
  private readonly browser: FolderBrowser | null;

  constructor(mount: FileMount, ports: FilePorts) {
    const fallback = mount.spa && mount.fallback === "" ? INDEX : mount.fallback;
    this.prefix = mountPrefix(mount.prefix);
    this.isRewritten = mount.isRewritten === true;
    this.spa = mount.spa;
    this.fallback = utf8AsLatin1(fallback);
    this.fallbackResource = {
      status: mount.spa ? 200 : 404,
      contentType: contentTypeOf(fallback),
      cacheControl: mount.spa ? "no-cache" : "",
    };
    this.cacheControl = mount.cacheControl;
    this.recheckMs = mount.recheckMs;
    this.clock = ports.clock;
    this.shelf = ports.cache.shelf();
    this.root = new ContainedRoot(mount.dir, undefined, mount.withheld);
    this.pass = ports.cache.pass;
    this.loader = new FileLoader(this.root, ports.clock, this.pass);
    this.responder = new FileResponder(this.root, ports.cache.open, ports.clock, ports.defer, mount.isPlain === true);
    this.browser = mount.browse === true ? new FolderBrowser(this.root, this.prefix, ports) : null;
  }

  /** Answers GET and HEAD; a request body is not read. */
  handle(ex: Exchange): Verdict {
    const path = requestedPath(ex);
    if (path === null) return Verdict.Done;
    const entry = this.seenEntry(path);
    if (entry === null || !this.responder.answer(ex, entry)) this.resolve(ex, path);
    return Verdict.Done;
  }

  /** The entry under `key` where the disk was asked so lately that it need not be asked again, or null. */
  private seenEntry(key: string): FileEntry | null {
    const entry = this.shelf.find(key);
    if (entry === null) return null;
    if (this.recheckMs === 0) return entry.checkedPass === this.pass.current ? entry : null;
    const ageMs = this.clock.nowMs - entry.checkedMs;
    // A clock that was set back counts as too long ago.
    return ageMs >= 0 && ageMs < this.recheckMs ? entry : null;
  }

  private resolve(ex: Exchange, path: string): void {
    const relative = new RelativePath(path, this.prefix);
    if (refusesPath(ex, relative)) return;
    if (relative.verdict === PathVerdict.Hidden) this.answerMissing(ex, relative);
    else this.answerPath(ex, path, relative);
  }

  private answerPath(ex: Exchange, path: string, relative: RelativePath): void {
    const index = indexOf(relative);
    const target = relative.isDirectory ? index : relative.text;
    const resource = { status: 200, contentType: contentTypeOf(target), cacheControl: this.cacheControl };
    let found = this.deliver(ex, path, target, resource);
    if (found === FileLookup.Directory && this.isRewritten && ex.request.path().endsWith("/")) {
      found = this.deliver(ex, `${path}/`, index, { ...resource, contentType: contentTypeOf(index) });
    } else if (found === FileLookup.Directory && !relative.isDirectory) {
      found = this.spa && this.browser === null ? this.loader.load(index, resource, null) : FileLookup.File;
      if (found === FileLookup.File) {
        ex.sink.fixed(ex, movedPermanently(this.withSlash(ex, relative)));
        return;
      }
    }
    if (found === FileLookup.File) return;
    if (found !== FileLookup.Missing && found !== FileLookup.Directory) refuse(ex, found);
    else if (this.browser === null || !relative.isDirectory || DOTTED.test(relative.text))
      this.answerMissing(ex, relative);
    else this.browser.answer(ex, relative.text, () => this.answerMissing(ex, relative));
  }

  /** docs/files.md#fallbacks */
  private answerMissing(ex: Exchange, relative: RelativePath): void {
    const isPage = relative.verdict === PathVerdict.Ok && (!relative.hasExtension() || acceptsHtml(ex.request.headers));
    if (this.fallback === "" || (this.spa && !isPage)) {
      ex.sink.fixed(ex, NOT_FOUND);
      return;
    }
    const entry = this.seenEntry(FALLBACK_KEY);
    if (entry !== null && this.responder.answer(ex, entry)) return;
    const file = new RelativePath(this.fallback, "");
    const found =
      file.verdict === PathVerdict.Escapes
        ? FileLookup.Escapes
        : this.deliver(ex, FALLBACK_KEY, file.text, this.fallbackResource);
    if (found === FileLookup.Missing || found === FileLookup.Directory) ex.sink.fixed(ex, NOT_FOUND);
    else if (found !== FileLookup.File) refuse(ex, found);
  }

  /**
   * Answers with a file, after asking the disk whether it is still the one under `key`.
   * @returns File when the exchange has been answered; otherwise nothing has been written
   */
  private deliver(ex: Exchange, key: string, target: string, resource: Resource): FileLookup {
    for (let attempt = 0; attempt < ANSWER_ATTEMPTS; attempt++) {
      const found = this.loader.load(target, resource, this.shelf.find(key));
      if (found !== FileLookup.File) {
        this.shelf.remove(key);
        return found;
      }
      const entry = this.loader.entry!;
      this.shelf.put(key, entry);
      if (this.responder.answer(ex, entry)) return FileLookup.File;
    }
    return FileLookup.Failed;
  }

  private withSlash(ex: Exchange, relative: RelativePath): string {
    return directoryLocation(ex, this.isRewritten ? null : this.prefix, relative);
  }
}

/**
 * The path of a directory with a slash at its end, and the query as it came.
 * @param prefix of the mount; null where what is looked up is another path than the client's
 */
export function directoryLocation(ex: Exchange, prefix: string | null, relative: RelativePath): string {
  const { bytes, pathTo, queryTo } = ex.request;
  const below = relative.text === "" ? prefix : `${prefix}/${relative.text}`;
  const path = prefix === null ? canonicalise(ex.request.path()).canonical : below;
  // Made of cleaned segments, so that it begins with one slash and not with a host (`//host`, `/\host`).
  const location = encodedPath(`${path}/`).replace(/^\/*/, "/");
  return queryTo > pathTo ? location + encodedQuery(sliceText(bytes, pathTo, queryTo)) : location;
}

/** What a mount does if no file may be opened, as for a request that is explained: it names the file that it would look for. */
export class FileRehearsal implements Handler {
  readonly name = "files";
  private readonly mount: Pick<FileMount, "prefix" | "fallback" | "spa">;
  private readonly note: (file: string) => void;

  /** @param note learns of the file below the folder; of the fallback where the path is hidden, which may be "" */
  constructor(mount: Pick<FileMount, "prefix" | "fallback" | "spa">, note: (file: string) => void) {
    this.mount = mount;
    this.note = note;
  }

  handle(ex: Exchange): Verdict {
    const path = requestedPath(ex);
    if (path === null) return Verdict.Done;
    const relative = new RelativePath(path, mountPrefix(this.mount.prefix));
    if (refusesPath(ex, relative)) return Verdict.Done;
    if (relative.verdict !== PathVerdict.Hidden) {
      this.note(Buffer.from(relative.isDirectory ? indexOf(relative) : relative.text, "latin1").toString());
    } else if (this.mount.fallback === "" || this.mount.spa) ex.sink.fixed(ex, NOT_FOUND);
    else this.note(this.mount.fallback);
    return Verdict.Done;
  }
}

/** The prefix of a mount as paths are compared with it. */
export function mountPrefix(prefix: string): string {
  return canonicalise(utf8AsLatin1(prefix)).canonical.replace(/\/$/, "");
}

function indexOf(folder: RelativePath): string {
  return folder.text === "" ? INDEX : `${folder.text}/${INDEX}`;
}

/** The path that a request asks a mount for; null if the request has been refused. */
function requestedPath(ex: Exchange): string | null {
  const { method } = ex.request;
  if (method === Method.Get || method === Method.Head) return lookedUpPath(ex);
  ex.detail = "GET, HEAD";
  ex.sink.abort(ex, Fault.MethodNotAllowed);
  return null;
}

/** The path that a request of any method asks a mount for; null if the request has been refused. */
export function lookedUpPath(ex: Exchange): string | null {
  const path = requestPath(ex.request, ex.canonicalPath);
  if (path === "") ex.sink.abort(ex, Fault.BadTarget);
  else if (ex.canonicalPath !== "" && leadsThroughNothing(ex.request)) ex.sink.fixed(ex, NOT_FOUND);
  else return path;
  return null;
}

/** Refuses a path that no mount looks up. @returns whether it did */
export function refusesPath(ex: Exchange, { verdict }: RelativePath): boolean {
  if (verdict === PathVerdict.Bad) ex.sink.abort(ex, Fault.BadTarget);
  else if (verdict === PathVerdict.Escapes) ex.sink.abort(ex, Fault.SymlinkEscape);
  else return false;
  return true;
}

/** Whether dot segments lead back out of a name that no file system has: padding against naive resolvers, so no file. */
function leadsThroughNothing(request: RequestHead): boolean {
  if (request.pathTo - request.pathFrom <= MAX_NAME_BYTES) return false;
  const path = decodeOnce(request.path());
  return hasEndlessSegment(path) && holdsDotSegment(path);
}

/** Refuses what lies outside of a mount, or cannot be read. */
export function refuse(ex: Exchange, found: FileLookup): void {
  if (found === FileLookup.Escapes) ex.sink.abort(ex, Fault.SymlinkEscape);
  else if (found === FileLookup.NoDescriptor) ex.sink.abort(ex, Fault.OutOfDescriptors);
  else if (found === FileLookup.Denied) ex.sink.fixed(ex, FILE_UNREADABLE);
  else ex.sink.abort(ex, Fault.InternalError);
}

/** Whether Accept names text/html, and not with a weight of 0. */
function acceptsHtml(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.Accept); i >= 0; i = headers.find(HeaderId.Accept, i + 1)) {
    for (const range of headers.valueText(i).split(",")) {
      if (/^\s*text\/html\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(range)) return true;
    }
  }
  return false;
}
