import { credentials } from "./feed.ts";
import { type FormRoute, formRoute } from "./route-text.ts";

/** A route of the API as the table shows it. */
export interface ApiRouteRow {
  readonly name: string;
  readonly type: string;
  readonly route: string;
  readonly host: readonly string[];
  /** `serves`, `shadowed` or `faulty`. */
  readonly state: string;
  /** The route that serves in its place, or its first fault. */
  readonly why: string;
}

/** A route as the gateway has it now. */
export interface StoredRoute {
  readonly name: string;
  readonly etag: string;
  readonly text: string;
  /** Null if the form does not know all of its keys. */
  readonly form: FormRoute | null;
  readonly targets: readonly { readonly url: string; readonly weight: number }[];
}

/** A change as the editor wants it. */
interface Change {
  readonly method: "PUT" | "DELETE" | "PATCH";
  readonly name: string;
  /** Of the route that the page has read; null for a new route. */
  readonly etag: string | null;
  readonly text: string;
  readonly isDry: boolean;
}

/** The result of a change. */
export interface RouteResult {
  readonly status: number;
  readonly message: string;
  readonly faults: readonly string[];
  readonly changes: readonly string[];
  readonly shadowedBy: string;
}

type Body = Readonly<Record<string, unknown>>;
interface Listed {
  readonly source: string;
  readonly name: string;
  readonly type?: string;
  readonly route?: string;
  readonly host?: readonly string[];
  readonly by?: { readonly source: string; readonly name: string };
  readonly faults?: readonly string[];
}

const PATH = "api/config/routes";

/** The routes of the API, and whether this visitor may change them. @throws Error if the list cannot be had */
export async function apiRoutes(): Promise<{ readonly isEditable: boolean; readonly routes: readonly ApiRouteRow[] }> {
  const response = await fetch(PATH, { headers: credentials(), cache: "no-store" });
  if (!response.ok) throw new Error(String(response.status));
  const { editable, routes, shadowed, invalid } = (await response.json()) as Body & Record<string, readonly Listed[]>;
  const own = (all: readonly Listed[] | undefined) => (all ?? []).filter(({ source }) => source === "api");
  const row = ({ name, type = "", route = "", host = [] }: Listed, state: string, why: string): ApiRouteRow => ({
    ...{ name, type, route, host },
    ...{ state, why },
  });
  const all = [
    ...own(routes).map((one) => row(one, "serves", "")),
    ...own(shadowed).map((one) => row(one, "shadowed", `${one.by?.source} ${one.by?.name} serves`)),
    ...own(invalid).map((one) => row(one, "faulty", one.faults?.[0] ?? "")),
  ];
  const byName = new Map(all.map((one) => [one.name, one]));
  return {
    isEditable: (editable as unknown) === true,
    routes: [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** @throws Error that says why the route cannot be read */
export async function readRoute(name: string): Promise<StoredRoute> {
  const [written, parsed] = await Promise.all(
    ["application/yaml", "application/json"].map((type) =>
      fetch(`${PATH}/${name}`, { headers: { ...credentials(), Accept: type }, cache: "no-store" }),
    ),
  );
  if (!written!.ok) throw new Error(messageIn((await written!.json().catch(() => ({}))) as Body, written!));
  const etag = written!.headers.get("ETag") ?? "";
  const text = await written!.text();
  const route = parsed!.ok && parsed!.headers.get("ETag") === etag ? ((await parsed!.json()) as Body) : {};
  return { name, etag, text, form: formRoute(route), targets: targetsOf(route) };
}

function targetsOf({ target, targets }: Body): StoredRoute["targets"] {
  const all = Array.isArray(targets) ? (targets as unknown[]) : target === undefined ? [] : [target];
  return all.map((one) => {
    if (typeof one === "string") return { url: one, weight: 1 };
    const { url, weight = 1 } = (one ?? {}) as { readonly url?: unknown; readonly weight?: unknown };
    return { url: String(url), weight: Number(weight) };
  });
}

/** Changes a route, or tries it. @throws Error without a connection */
export async function changeRoute({ method, name, etag, text, isDry }: Change): Promise<RouteResult> {
  const response = await fetch(`${PATH}/${name}${method === "PATCH" ? "/weights" : ""}${isDry ? "?dry_run=1" : ""}`, {
    method,
    headers: {
      ...credentials(),
      ...(etag === null ? { "If-None-Match": "*" } : { "If-Match": etag }),
      ...(method === "DELETE" ? {} : { "Content-Type": method === "PUT" ? "application/yaml" : "application/json" }),
    },
    ...(method === "DELETE" ? {} : { body: text }),
  });
  const body = (await response.json().catch(() => ({}))) as Body;
  const faults = Array.isArray(body.faults) ? body.faults.map(String) : [];
  const message = messageIn(body, response);
  const { routes = [] } = (body.changes ?? {}) as { readonly routes?: readonly { change: string; name: string }[] };
  const [by] = (body.shadowed_by ?? []) as readonly { source: string; name: string }[];
  return {
    status: response.status,
    message,
    faults: response.ok || response.status === 412 || faults.length > 0 ? faults : [message],
    changes: routes.map(({ change, name: of }) => `${change}: ${of}`),
    shadowedBy: by === undefined ? "" : `${by.source} ${by.name}`,
  };
}

function messageIn({ message }: Body, { status, statusText }: Response): string {
  return typeof message === "string" ? message : `${status} ${statusText}`;
}
