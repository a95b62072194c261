import type { Rule } from "../plan.ts";
import type { ScriptSite } from "./nginx-rewrites.ts";
import type { Scope } from "./nginx-scope.ts";
import type { ScriptLocation } from "./nginx-scripts.ts";

/** A server of nginx while its locations become rules. */
export interface Site extends ScriptSite {
  readonly scope: Scope;
  /** The block `http`, or the whole file: where upstreams are. */
  readonly http: Scope;
  /** Rules of the site, in the order in which nginx asks them. */
  readonly rules: Rule[];
  /** The location by whose expression scripts are run; null if there is none. */
  scripts?: (ScriptLocation & { readonly path: string }) | null;
  /** Whether the paths that no location has to itself are files. */
  filesAtRoot?: boolean;
}
