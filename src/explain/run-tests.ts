import type { ConfigFault } from "../config/config-fault.ts";
import { MASK } from "../core/secret-name.ts";
import { valuesOf } from "../message/extra-fields.ts";
import type { RouteTest } from "../routes/route-tests.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { DryRun } from "./dry-run.ts";
import { type Explanation, outcomeOf } from "./explanation.ts";
import { requestOf } from "./typed-request.ts";

type Outcome = Omit<Explanation, "lost">;

/** Fields of a response by their real values, which are compared, and by what is shown of them. */
interface Fields {
  readonly real: readonly (readonly [string, string])[];
  readonly shown: readonly (readonly [string, string])[];
}

/** Sends the requests of `tests` down a dry run; gives those of which something else became than they expect. docs/explain.md#tests */
export function failedTests(config: RuntimeConfig, tests: readonly RouteTest[]): ConfigFault[] {
  const dry = new DryRun(config);
  return tests.flatMap((test, i) => {
    const why = reasonOf(config, dry, test);
    return why === "" ? [] : [{ ...test.position, path: `tests[${i}]`, message: `${test.request}: ${why}` }];
  });
}

/** "" if all is as expected. */
function reasonOf(config: RuntimeConfig, dry: DryRun, test: RouteTest): string {
  const headers = test.headers.map(([name, value]) => `${name}: ${value}`);
  const request = requestOf({ request: test.request, headers, body: test.body, clientIp: test.clientIp }, config);
  if (typeof request === "string") return request;
  const { said, fields: real } = outcomeOf(config, dry, request);
  const fields: Fields = { real, shown: said.response.headers };
  const { route, status, location, target, header } = test.expect;
  const faults = [
    route === null ? "" : differs("route", route, routeOf(said)),
    status === null ? "" : statusFault(status, said),
    location === null ? "" : fieldFault("location", "location", location, fields),
    target === null ? "" : targetFault(target, said),
    ...header.map(([name, value]) => fieldFault(`header ${name}`, name, value, fields)),
  ].filter((fault) => fault !== "");
  const ended = said.phases.findLast(({ verdict, name }) => verdict === "ended" && name !== "dispatch");
  const where = ended === undefined ? "" : ` (the phase ${ended.name} ends it: ${ended.note})`;
  return faults.length === 0 ? "" : `${faults.join("; ")}${where}`;
}

function routeOf({ route }: Outcome): string {
  return route?.reached === true ? route.route : "none";
}

function statusFault(status: number, { response }: Outcome): string {
  if (response.status !== null) return differs("status", String(status), String(response.status));
  const whose = {
    gateway: "a phase that takes its time",
    origin: "an origin",
    file: "the file",
    control: "the running gateway",
    grpc: "a gRPC method",
    auth: "an authentication service",
  } as const;
  return `expected status ${status}, but ${whose[response.by]} answers: its status is not known here`;
}

/** One of the route's targets; or an origin with the path as it is asked for. */
function targetFault(target: string, { upstream }: Outcome): string {
  if (upstream === null) return `expected target ${target}, but nothing is sent to an origin`;
  const urls = upstream.targets.map(({ url }) => url);
  const asked = `${upstream.origin}${upstream.path}`;
  // Whichever of them has its turn, the path below its own is the same.
  const chosen = urls.filter((url) => asked.startsWith(url)).sort((a, b) => b.length - a.length)[0] ?? "";
  const below = asked.slice(chosen.length);
  if (urls.some((url) => target.replace(/\/$/, "") === url || target === url + below)) return "";
  return `expected target ${target}, came ${urls.join(", ")} (asked for ${asked})`;
}

/** @param what the field is called in a fault, which shows no value that is masked elsewhere */
function fieldFault(what: string, name: string, value: string | boolean, { real, shown }: Fields): string {
  const found = valuesOf(real, name);
  const told = valuesOf(shown, name);
  if (typeof value !== "string") {
    if (found.length > 0 === value) return "";
    return value ? `expected a ${what}, came none` : `expected no ${what}, came ${told.join(", ")}`;
  }
  if (found.includes(value)) return "";
  const came = told.includes(MASK) ? "another value, which is not shown" : told.join(", ") || "none";
  return `expected ${what} ${value}, came ${came}`;
}

function differs(what: string, expected: string, came: string): string {
  return expected === came ? "" : `expected ${what} ${expected}, came ${came}`;
}
