import { createHash } from "node:crypto";
import { join } from "node:path";
import type { RouteFile } from "../../../loading/route-folder.ts";

/** A route that an operator has put. */
export interface ApiRoute {
  readonly name: string;
  /** Its keys, as YAML or JSON. */
  readonly text: string;
  /** Whether a known operator has put it: it may name files, variables and secrets. */
  readonly isTrusted: boolean;
}

/** All of them, with what tells the set of a fleet from others. */
export interface ApiSet {
  readonly routes: readonly ApiRoute[];
  /** Of the set that the fleet has in common; "" for a gateway without a fleet. */
  readonly id: string;
  /** How often the fleet has changed it. */
  readonly revision: number;
}

/** Where they outlive the process. */
interface KeptParts {
  read<T>(part: string): T | null;
  write(part: string, value: object): boolean;
  remove(part: string): void;
}

/** The routes of the API, in the order of their names. docs/providers.md#api */
export class ApiRoutes {
  private readonly state: KeptParts;
  private readonly folder: string;
  private set: ApiSet;

  /** @param folder from which paths in routes count */
  constructor(state: KeptParts, folder: string) {
    this.state = state;
    this.folder = folder;
    const { routes, id, revision } = state.read<Partial<ApiSet>>(PART) ?? {};
    this.set = {
      routes: Array.isArray(routes) ? routes.filter(isRoute) : [],
      id: typeof id === "string" ? id : "",
      revision: typeof revision === "number" ? revision : 0,
    };
  }

  get all(): ApiSet {
    return this.set;
  }

  private get routes(): readonly ApiRoute[] {
    return this.set.routes;
  }

  find(name: string): ApiRoute | null {
    return this.routes.find((route) => route.name === name) ?? null;
  }

  /** All of them with one changed. @param text null removes it */
  changed(name: string, text: string | null, isTrusted: boolean): readonly ApiRoute[] {
    const others = this.routes.filter((route) => route.name !== name);
    const all = text === null ? others : [...others, { name, text, isTrusted }];
    return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Takes these from now on; `keep` writes them down. */
  use(set: ApiSet): void {
    this.set = set;
  }

  /** @returns whether they outlive the process */
  keep(): boolean {
    if (this.routes.length > 0 || this.set.revision > 0) return this.state.write(PART, this.set);
    this.state.remove(PART);
    return true;
  }

  /** The same as lists of routes. A faulty one is left out alone. */
  files(routes: readonly ApiRoute[] = this.routes): readonly RouteFile[] {
    return routes.map(({ name, text, isTrusted }) => ({
      source: "api",
      // No file of a folder of routes has this path.
      file: { name, path: join(this.folder, `api:${name}:${isTrusted ? "" : "confined"}`), bytes: Buffer.from(text) },
      hosts: null,
      isLeftOut: true,
      isConfined: !isTrusted,
    }));
  }
}

/** The value of ETag of a route. */
export function etagOf({ text }: ApiRoute): string {
  return `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;
}

function isRoute(one: unknown): one is ApiRoute {
  const { name, text, isTrusted } = (one ?? {}) as Partial<ApiRoute>;
  return typeof name === "string" && typeof text === "string" && typeof isTrusted === "boolean";
}

/** The part of the state folder. */
const PART = "api-routes";
/** So many routes the API takes, and so many characters of them. */
export const MAX_API_ROUTES = 10_000;
export const MAX_API_CHARS = 33_554_432;
