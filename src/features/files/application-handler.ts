import { Fault } from "../../core/fault.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import type { ScriptCall } from "../../message/script-call.ts";
import { encodedParams } from "../../proto/fastcgi/params.ts";
import { lookedUpPath, mountPrefix } from "./file-handler.ts";

/** The settings of a route with an application of uWSGI or SCGI. docs/uwsgi.md */
interface ApplicationMount {
  /** What of the path is SCRIPT_NAME: the prefix, or "" if all of it is PATH_INFO. */
  readonly prefix: string;
  /** Further parameters. */
  readonly env: readonly (readonly [name: string, value: string])[];
  /** modifier1 and modifier2 of uWSGI. */
  readonly modifiers: readonly [number, number];
}

/** Splits the path of a request for an application, which gets SCRIPT_NAME and PATH_INFO of it. docs/uwsgi.md#what-applications-see */
export class ApplicationHandler implements Handler {
  readonly name = "application";
  private readonly prefix: string;
  private readonly modifiers: readonly [number, number];
  private readonly inner: Handler;
  private readonly fixed: Buffer;

  constructor({ prefix, env, modifiers }: ApplicationMount, inner: Handler) {
    this.prefix = mountPrefix(prefix);
    this.modifiers = modifiers;
    this.inner = inner;
    this.fixed = encodedParams([
      ["GATEWAY_INTERFACE", "CGI/1.1"],
      ["SERVER_SOFTWARE", "edge"],
      ["SCRIPT_NAME", this.prefix],
      ...env.map(([name, value]) => [name, Buffer.from(value, "utf8").latin1Slice()] as const),
    ]);
  }

  handle(ex: Exchange): Verdict {
    const path = lookedUpPath(ex);
    if (path === null) return Verdict.Done;
    const call = path.includes("\0") ? null : this.callOf(path);
    if (call === null) {
      ex.sink.abort(ex, Fault.BadTarget);
      return Verdict.Done;
    }
    ex.script = call;
    return this.inner.handle(ex);
  }

  /** Null if the path does not lie below the prefix, which routing has seen to. */
  private callOf(path: string): ScriptCall | null {
    const { prefix } = this;
    const rest = path.slice(prefix.length);
    if (!path.startsWith(prefix) || (rest !== "" && !rest.startsWith("/"))) return null;
    const own = encodedParams([
      ["PATH_INFO", rest === "" ? "/" : rest],
      ["DOCUMENT_URI", path],
    ]);
    return { params: Buffer.concat([this.fixed, own]), scriptName: prefix, modifiers: this.modifiers };
  }
}
