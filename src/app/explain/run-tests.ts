import type { ConfigFault } from "../../config/config-fault.ts";
import type { RouteTest } from "../../config/route-tests.ts";
import type { RuntimeConfig } from "../../config/runtime-config.ts";
import { DryRun } from "./dry-run.ts";
import { type Explanation, outcomeOf } from "./explanation.ts";
import { requestOf } from "./typed-request.ts";

type Outcome = Omit<Explanation, "lost">;

/** Sends the requests of `tests` down a dry run; gives those of which something else became than they expect. docs/explain.md#tests */
export function failedTests(config: RuntimeConfig, tests: readonly RouteTest[]): ConfigFault[] {
  const dry = new DryRun(config);
  return tests.flatMap((test, i) => {
    const why = reasonOf(config, dry, test);
    return why === "" ? [] : [{ ...test.position, path: `tests[${i}]`, message: `${test.request}: ${why}` }];
  });
}

/** "" where all is as expected. */
function reasonOf(config: RuntimeConfig, dry: DryRun, test: RouteTest): string {
  const headers = test.headers.map(([name, value]) => `${name}: ${value}`);
  const request = requestOf({ request: test.request, headers, body: test.body, clientIp: test.clientIp }, config);
  if (typeof request === "string") return request;
  const { said } = outcomeOf(config, dry, request);
  const { route, status, location, target, header } = test.expect;
  const faults = [
    route === null ? "" : differs("route", route, routeOf(said)),
    status === null ? "" : statusFault(status, said),
    location === null ? "" : differs("location", location, fieldsOf(said, "location")[0] ?? "none"),
    target === null ? "" : targetFault(target, said),
    ...header.map(([name, value]) => fieldFault(name, value, said)),
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

function fieldFault(name: string, value: string | boolean, said: Outcome): string {
  const found = fieldsOf(said, name.toLowerCase());
  if (typeof value === "string")
    return found.includes(value) ? "" : differs(`header ${name}`, value, found.join(", ") || "none");
  if (found.length > 0 === value) return "";
  return value ? `expected a header ${name}, came none` : `expected no header ${name}, came ${found.join(", ")}`;
}

function fieldsOf({ response }: Outcome, name: string): string[] {
  return response.headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
}

function differs(what: string, expected: string, came: string): string {
  return expected === came ? "" : `expected ${what} ${expected}, came ${came}`;
}
