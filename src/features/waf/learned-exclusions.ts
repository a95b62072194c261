/** A line of the log or an incident, as far as learning reads it. */
export interface LearnedLine {
  readonly event?: unknown;
  readonly request_id?: unknown;
  readonly client_ip?: unknown;
  readonly path?: unknown;
  readonly rule_id?: unknown;
  readonly location?: unknown;
  readonly status?: unknown;
  readonly route?: unknown;
  readonly triggered_rules?: unknown;
}

/** What is learnt of. */
interface LearningLimits {
  /** Clients that must have had the same find in the same place. */
  readonly minClients: number;
  /** Rules of so many families, or so many rules, make a client a scanner: nothing is learnt of it. */
  readonly scannerFamilies: number;
}

/** An exclusion, and why. */
export interface LearnedExclusion {
  readonly rule: string;
  /** "" for everywhere. */
  readonly path: string;
  /** "" for every parameter. */
  readonly param: string;
  readonly requests: number;
  readonly clients: number;
}

/** What was read, and what follows. */
export interface Learned {
  readonly exclusions: readonly LearnedExclusion[];
  readonly hits: number;
  readonly clients: number;
  readonly scanners: number;
  /** Hits whose requests the application itself refused. */
  readonly refused: number;
  /** Places with fewer clients than are asked for. */
  readonly rare: number;
}

interface Hit {
  readonly rule: string;
  readonly path: string;
  readonly param: string;
  readonly client: string;
}

interface Place {
  readonly rule: string;
  readonly path: string;
  readonly param: string;
  requests: number;
  readonly clients: Set<string>;
}

/**
 * Exclusions for what ordinary clients do, from lines of the log: of a field on a path before a rule on a path. A find is ordinary where
 * several clients have it and none of them looks like a scanner. docs/waf.md#learning
 * @param lines lines of finds (`waf_detect`, `waf_block`, incidents) and of the access log, in any order
 * @param withAccess whether only finds count whose request has a line of the access log with a status below 400
 */
export function learnExclusions(lines: Iterable<LearnedLine>, limits: LearningLimits, withAccess: boolean): Learned {
  const { hits, refused } = hitsOf([...lines], withAccess);
  const scanners = scannersOf(hits, limits);
  const places = placesOf(hits.filter(({ client }) => !scanners.has(client)));
  const common = places.filter(({ clients }) => clients.size >= limits.minClients);
  return {
    exclusions: [...merged(common)].sort(smallestFirst),
    hits: hits.length,
    clients: new Set(hits.map(({ client }) => client)).size,
    scanners: scanners.size,
    refused,
    rare: places.length - common.length,
  };
}

/**
 * The line that silences a rule where it was found, as `server.waf.exclusions` has it; "" for what is no rule of the firewall.
 * docs/waf.md#false-positives
 */
export function exclusionLine(rule: string, path: string, location: string): string {
  if (!IS_RULE.test(rule)) return "";
  const param = paramOf(location);
  const where = `path: ${JSON.stringify(stablePath(path))}${param === "" ? "" : `, param: ${JSON.stringify(param)}`}`;
  return `- {rule: ${rule}, ${where}}`;
}

function hitsOf(lines: readonly LearnedLine[], withAccess: boolean): { hits: Hit[]; refused: number } {
  const statuses = new Map<string, number>();
  for (const { event, request_id: id, status, rule_id: rule } of lines) {
    if (rule === undefined && typeof status === "number" && typeof id === "string" && event !== "waf_block")
      statuses.set(id, status);
  }
  const hits: Hit[] = [];
  let refused = 0;
  for (const line of lines) {
    const found = hitOf(line);
    if (found.length === 0) continue;
    const status = typeof line.request_id === "string" ? statuses.get(line.request_id) : undefined;
    if (withAccess && (status === undefined || status >= FIRST_REFUSAL)) refused++;
    else hits.push(...found);
  }
  return { hits, refused };
}

function hitOf(line: LearnedLine): Hit[] {
  const { client_ip: client, path, rule_id: rule, location } = line;
  if (typeof rule !== "string" || typeof client !== "string" || typeof path !== "string") return [];
  if (!IS_RULE.test(rule)) return [];
  return [{ rule, path: stablePath(path), param: typeof location === "string" ? paramOf(location) : "", client }];
}

/** The parameter of a location; "" if there is none. What was escaped for the log is no name that a file could say. */
function paramOf(location: string): string {
  const [, param = ""] = /^(?:query|header|body) (\S.*)$/.exec(location) ?? [];
  return IS_PARAM.test(param) ? param : "";
}

/** The path up to the first segment that is a number, an id or the like. */
function stablePath(path: string): string {
  const segments = path.split("/").slice(1);
  const end = segments.findIndex((segment) => !IS_NAME.test(segment) || IS_ID.test(segment));
  const kept = end < 0 ? segments : segments.slice(0, end);
  return `/${kept.slice(0, MAX_SEGMENTS).join("/")}`.replace(/(?<=.)\/$/, "");
}

/** Clients that match many rules of several kinds: a person who writes about one thing does not. */
function scannersOf(hits: readonly Hit[], { scannerFamilies }: LearningLimits): Set<string> {
  const families = new Map<string, Set<string>>();
  for (const { rule, client } of hits) {
    const own = families.get(client) ?? new Set();
    families.set(client, own.add(rule.slice(0, rule.indexOf("-"))));
  }
  const scanners = [...families].filter(
    ([, own]) => own.size >= scannerFamilies || own.has("SCANNER") || own.has("FILES"),
  );
  return new Set(scanners.map(([client]) => client));
}

function placesOf(hits: readonly Hit[]): Place[] {
  const places = new Map<string, Place>();
  for (const { rule, path, param, client } of hits) {
    const key = JSON.stringify([rule, path, param]);
    const place = places.get(key) ?? { rule, path, param, requests: 0, clients: new Set<string>() };
    place.requests++;
    place.clients.add(client);
    places.set(key, place);
  }
  return [...places.values()];
}

/** A field that is on many paths is named without a path, and many fields of one path by the path. */
function merged(places: readonly Place[]): LearnedExclusion[] {
  const byField = Map.groupBy(places, ({ rule, param }) => JSON.stringify([rule, param]));
  const fields = [...byField.values()].flatMap((group) =>
    group.length >= MANY && group[0]!.param !== "" ? [together(group, "", group[0]!.param)] : group,
  );
  const byPath = Map.groupBy(fields, ({ rule, path }) => JSON.stringify([rule, path]));
  return [...byPath.values()]
    .flatMap((group) => (group.length >= MANY && group[0]!.path !== "" ? [together(group, group[0]!.path, "")] : group))
    .map(({ rule, path, param, requests, clients }) => ({ rule, path, param, requests, clients: clients.size }));
}

function together(group: readonly Place[], path: string, param: string): Place {
  const requests = group.reduce((sum, place) => sum + place.requests, 0);
  return {
    rule: group[0]!.rule,
    path,
    param,
    requests,
    clients: new Set(group.flatMap((place) => [...place.clients])),
  };
}

/** A field on a path, a field anywhere, a path; of equals that with more requests. */
function smallestFirst(a: LearnedExclusion, b: LearnedExclusion): number {
  return sizeOf(a) - sizeOf(b) || b.requests - a.requests || a.rule.localeCompare(b.rule);
}

function sizeOf({ path, param }: LearnedExclusion): number {
  if (param !== "") return path === "" || path === "/" ? 1 : 0;
  return path === "" || path === "/" ? 3 : 2;
}

const FIRST_REFUSAL = 400;
const IS_RULE = /^[A-Z0-9]+-\d{3}$/;
const IS_PARAM = /^[\w.[\]$@-]{1,128}$/;
const IS_NAME = /^[A-Za-z0-9._~-]*$/;
/** Digits alone, a UUID, a long hexadecimal number, or what holds many digits. */
const IS_ID = /^\d+$|^[0-9a-f-]{16,}$|\d.*\d.*\d.*\d/i;
const MAX_SEGMENTS = 6;
/** Places of one field or of one path that are named together. */
const MANY = 5;
