import { type ConfigFault, formatFault } from "../config/config-fault.ts";
import { messageOf } from "../core/error-text.ts";
import { jsonObject } from "../core/json-object.ts";
import type { EndpointResponses } from "../features/admin/built-in-endpoints.ts";
import { type ControlResponse, jsonResponse, refusalResponse } from "../features/admin/control-rpc.ts";
import type { Operator } from "../features/admin/operator.ts";
import { type RouteCall, readsRoute } from "../features/admin/route-call-handler.ts";
import {
  type ApiRoute,
  type ApiRoutes,
  etagOf,
  MAX_API_CHARS,
  MAX_API_ROUTES,
} from "../features/providers/control/api-routes.ts";
import { textFault } from "../features/providers/control/route-text.ts";
import { routeAsJson, withWeights } from "../features/providers/control/route-weights.ts";
import { followed, type RouteStore } from "../features/providers/control/shared-routes.ts";
import { behaviourDifference } from "../loading/behaviour-difference.ts";
import type { BesideFiles, ConfigResult } from "../loading/load-config.ts";
import type { RouteFile } from "../loading/route-folder.ts";
import { labelOf } from "../routes/route-base.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ReloadOutcome } from "./reload.ts";

/** The gateway, as calls for routes use it. */
interface RouteCallPorts {
  readonly routes: ApiRoutes;
  /** Reads all sources with these lists in the place of the API's; null with a remote source. */
  readonly candidate: ((files: readonly RouteFile[]) => ConfigResult) | null;
  beside(): BesideFiles;
  /** The store of the fleet, which has routes for all its gateways; null without a fleet. */
  shared(): RouteStore | "away" | null;
  /** Takes up the routes. */
  take(): Promise<ReloadOutcome>;
  /** The configuration in use, as the files said it. */
  fileConfig(): RuntimeConfig;
  audit(action: string, operator: Operator, about: object): void;
}

/** A change as an operator wants it. */
interface Change {
  readonly action: "route_put" | "route_delete" | "route_weights";
  readonly name: string;
  /** Null removes the route. */
  readonly text: string | null;
  readonly isDry: boolean;
  readonly isTrusted: boolean;
  readonly operator: Operator;
  readonly store: RouteStore | null;
}

/** Another gateway has changed the routes of the fleet meanwhile. */
class Overtaken extends Error {}

/** The routes of the API: operators read and change them, one change after another. docs/providers.md#api */
export class RouteCalls {
  private readonly port: RouteCallPorts;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(port: RouteCallPorts) {
    this.port = port;
  }

  /** The store of the fleet is there: takes what other gateways have put. */
  follow(store: RouteStore): Promise<void> {
    if (this.port.candidate === null) return Promise.resolve();
    const done = this.turn.then(() => this.catchUp(store));
    this.turn = done.catch(() => {});
    return done;
  }

  /** Who answers the questions about routes and their sources. */
  answers(): Pick<EndpointResponses, "config-routes" | "config-route"> {
    return {
      "config-routes": (body) => jsonResponse(200, this.list(this.port.candidate !== null && body === "operator")),
      "config-route": (body) => {
        const call = JSON.parse(body) as RouteCall;
        if (readsRoute(call)) return this.show(call);
        const done = this.turn.then(() => this.changed(call));
        this.turn = done.catch(() => {});
        return done;
      },
    };
  }

  private list(isEditable: boolean): object {
    const { routes } = this.port.fileConfig();
    const { left, shadowed } = this.port.beside();
    return {
      total: routes.length,
      editable: isEditable,
      routes: routes.map((route) => ({
        source: route.source ?? "file",
        name: route.position.file,
        type: route.type,
        route: labelOf(route),
        host: route.hosts,
        methods: route.methods,
      })),
      shadowed: shadowed.map(({ source, name, route, hosts, by }) => ({ source, name, route, host: hosts, by })),
      invalid: left.map(({ source, name, faults, isKept }) => ({
        source,
        name,
        faults: faults.map(formatFault),
        kept: isKept,
      })),
    };
  }

  private show({ name, wantsYaml, operator }: RouteCall): ControlResponse {
    const found = this.port.routes.find(name);
    if (found === null) return missing(name);
    // There may be secrets in it, which any user of this machine could read.
    if (found.isTrusted && operator.by === "")
      return refusalResponse(
        403,
        "a known operator has put this route: show internal_api.token, or use internal_api.socket",
      );
    const etag = etagOf(found);
    if (wantsYaml) return { status: 200, contentType: "application/yaml", body: found.text, etag };
    return { ...jsonResponse(200, routeAsJson(found.text) ?? {}), etag };
  }

  private async catchUp(store: RouteStore): Promise<void> {
    const { routes } = this.port;
    const before = routes.all;
    const next = await followed(store, before);
    if (next === null) return;
    routes.use(next);
    const isSame = Bun.deepEquals(before.routes, next.routes);
    const outcome = isSame ? null : await this.port.take();
    if (outcome?.ok === false) routes.use(before);
    else routes.keep();
  }

  /** Makes a change of the set that the fleet has now. */
  private async changed(call: RouteCall): Promise<ControlResponse> {
    const { port } = this;
    if (port.candidate === null)
      return refusalResponse(409, "the configuration comes from a URL: publish the route there");
    const store = port.shared();
    if (store === "away") return refusalResponse(503, AWAY);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      try {
        if (store !== null) await this.catchUp(store);
        return await this.change(call, store);
      } catch (error) {
        if (store === null) throw error;
        if (!(error instanceof Overtaken)) return refusalResponse(503, `${AWAY}: ${messageOf(error)}`);
      }
    }
    return refusalResponse(503, "other gateways of the fleet change routes all the time: try again");
  }

  private async change(call: RouteCall, store: RouteStore | null): Promise<ControlResponse> {
    const { name, method, operator, query, text } = call;
    const { port } = this;
    const asked = new URLSearchParams(query);
    const dry = asked.get("dry_run") ?? "0";
    if ([...asked.keys()].some((key) => key !== "dry_run") || !/^(?:0|1|true|false)$/.test(dry))
      return refusalResponse(400, "the query may have dry_run=1 alone");
    const before = port.routes.find(name);
    if (!mayChange(call, before))
      return refusalResponse(412, `the route ${name} is another one by now: read it again, then decide`);
    if (before === null && method !== "PUT") return missing(name);
    // What others than this gateway can write to may name no files.
    const isTrusted = store === null && (method === "PATCH" ? before!.isTrusted : operator.by !== "");
    const about = { name, store, isTrusted, isDry: dry === "1" || dry === "true", operator };
    if (method === "DELETE") return this.apply({ ...about, action: "route_delete", text: null });
    if (method === "PUT") return this.apply({ ...about, action: "route_put", text });
    const weights = jsonObject(text);
    if (weights === null || Object.keys(weights).length === 0)
      return refusalResponse(400, '{"URL": weight} is needed, such as {"http://10.0.0.5:8000": 0}');
    const weighted = withWeights(before!.text, weights);
    const change: Change = { ...about, action: "route_weights", text: null };
    if (typeof weighted === "string") return this.refused(change, [weighted]);
    return this.apply({ ...change, text: weighted.text });
  }

  private async apply(change: Change): Promise<ControlResponse> {
    const { name, text, isDry, isTrusted, action, operator, store } = change;
    const { port } = this;
    const unreadable = text === null ? "" : textFault(text);
    if (unreadable !== "") return this.refused(change, [unreadable]);
    const before = port.routes.all;
    const next = port.routes.changed(name, text, isTrusted);
    const share = async (revision: number, shared: string | null): Promise<number> => {
      if (store === null) return 0;
      const now = await store.change(revision, name, shared);
      if (now === 0) throw new Overtaken();
      return now;
    };
    const chars = next.reduce((sum, route) => sum + route.text.length, 0);
    if (next.length > MAX_API_ROUTES || chars > MAX_API_CHARS)
      return this.refused(change, [`the API takes ${MAX_API_ROUTES} routes of ${MAX_API_CHARS} characters together`]);
    const result = port.candidate!(port.routes.files(next));
    const faults = result.ok ? this.newFaults(result.beside, text === null ? "" : name) : result.faults;
    if (!result.ok || faults.length > 0) return this.refused(change, faults.map(formatFault));
    const shadows = result.beside.shadowed.filter((one) => one.source === "api" && one.name === name);
    const said = {
      ok: true,
      name,
      faults: [],
      ...(shadows.length > 0 ? { shadowed_by: shadows.map(({ by }) => by) } : {}),
    };
    if (isDry)
      return jsonResponse(200, {
        ...said,
        dry_run: true,
        changes: behaviourDifference(port.fileConfig(), result.config),
      });
    const revision = await share(before.revision, text);
    port.routes.use(store === null ? { ...before, routes: next } : { ...before, revision, routes: next });
    const outcome = await port.take();
    if (!outcome.ok) {
      port.routes.use(before);
      const earlier = before.routes.find((route) => route.name === name);
      await share(revision, earlier === undefined || earlier.isTrusted ? null : earlier.text);
      return this.refused(change, outcome.faults);
    }
    const kept = port.routes.keep();
    port.audit(action, operator, { ok: true, name, generation: outcome.generation });
    const now = port.routes.find(name);
    const etag = now === null ? null : etagOf(now);
    const response = jsonResponse(200, { ...said, etag, generation: outcome.generation, kept });
    return etag === null ? response : { ...response, etag };
  }

  /** Faults that the lists have not had before; of this route all of them. */
  private newFaults({ left }: BesideFiles, name: string): readonly ConfigFault[] {
    const known = new Set(this.port.beside().left.map((one) => JSON.stringify([one.source, one.name, one.faults])));
    const isNew = (one: BesideFiles["left"][number]): boolean =>
      (one.source === "api" && one.name === name) || !known.has(JSON.stringify([one.source, one.name, one.faults]));
    return left.filter(isNew).flatMap(({ faults }) => faults);
  }

  private refused({ name, isDry, action, operator }: Change, faults: readonly string[]): ControlResponse {
    if (!isDry) this.port.audit(action, operator, { ok: false, name, faults: faults.slice(0, MAX_FAULTS) });
    return jsonResponse(422, { ok: false, name, faults, ...(isDry ? { dry_run: true } : {}) });
  }
}

/** Whether the conditions of the call hold. RFC 9110 §13.1 */
function mayChange({ ifMatch, ifNoneMatch }: RouteCall, before: ApiRoute | null): boolean {
  if (ifMatch !== "" && !names(ifMatch, before)) return false;
  return ifNoneMatch === "" || !names(ifNoneMatch, before);
}

/** Whether a list of entity tags has that of the route; `*` is that of any. */
function names(list: string, route: ApiRoute | null): boolean {
  if (route === null) return false;
  return list.trim() === "*" || list.split(",").some((tag) => tag.trim() === etagOf(route));
}

function missing(name: string): ControlResponse {
  return refusalResponse(404, `the API has no route ${name}`);
}

const AWAY = "the store of the fleet is away, and routes of the API are the same at all gateways: nothing is changed";
/** So often edge tries a change again, since other gateways have changed the set. */
const MAX_TRIES = 10;
/** So many faults the log shows. */
const MAX_FAULTS = 10;
