import type { ReferenceRequest, ReferenceRoute } from "./path-reference.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** A request, and what is known of its spelling. */
export interface PathCase extends ReferenceRequest {
  /** The path that it is a spelling of; "" where the spelling may mean several. */
  readonly plain: string;
}

/** A random table: always with a route for everything, now and then with methods and hosts. */
export function makeTable(random: SeededRandom): ReferenceRoute[] {
  const routes: ReferenceRoute[] = [];
  const taken = new Set<string>();
  for (let i = random.integer(3, 10); i > 0; i--) {
    const wantsExact = random.chance(0.4);
    const path = `/${listOf(random, 3, () => random.pick(SEGMENTS)).join("/")}`;
    const methods = random.chance(0.4) ? [random.pick(["GET", "POST", "PUT"])] : [];
    const hosts = random.chance(0.3) ? [random.pick(["a.test", "*.a.test", "b.a.test"])] : [];
    const exact = wantsExact && path !== "/";
    // Of two with the same path, host and method the order decides, which is not what is tried here.
    const key = `${exact} ${path} ${hosts.join()}`;
    if (taken.has(key)) continue;
    taken.add(key);
    routes.push({
      label: `r${i}`,
      path,
      exact: exact && path !== "/",
      methods,
      hosts,
      stripPrefix: random.chance(0.5),
    });
  }
  if (!taken.has("false / ")) {
    routes.push({ label: "all", path: "/", exact: false, methods: [], hosts: [], stripPrefix: true });
  }
  return routes;
}

/** A random request that aims at a route of the table, or somewhere near. */
export function makeCase(random: SeededRandom, routes: readonly ReferenceRoute[]): PathCase {
  const beyond = random.chance(0.4) ? listOf(random, 2, () => random.pick(SEGMENTS)) : [];
  const aim = random
    .pick(routes)
    .path.split("/")
    .filter((segment) => segment !== "");
  const segments = [...aim, ...beyond];
  const spelling = random.pick(SPELLERS)(random, segments);
  return {
    method: random.pick(["GET", "GET", "POST", "PUT", "HEAD"]),
    host: random.pick(HOSTS),
    path: spelling.path,
    query: random.chance(0.2) ? "?q=/../%2e%2e/\\" : "",
    plain: spelling.isCertain ? `/${segments.join("/")}` : "",
  };
}

const SEGMENTS = ["a", "b", "ab", "admin", "x.y"];
const HOSTS = ["gw.test", "gw.test", "a.test", "A.TEST.", "b.a.test:80", "c.b.A.test", "a.test:"];

interface Spelling {
  readonly path: string;
  readonly isCertain: boolean;
}

type Speller = (random: SeededRandom, segments: readonly string[]) => Spelling;

const SPELLERS: readonly Speller[] = [
  (_, segments) => ({ path: `/${segments.join("/")}`, isCertain: true }),
  // Dots, plain and encoded, between plain slashes; letters encoded.
  (random, segments) => ({ path: joined(random, segments, DOTTED), isCertain: segments.length > 0 }),
  // Every kind of slash, but no dots.
  (random, segments) => ({ path: joined(random, segments, SLASHED), isCertain: segments.length > 0 }),
  // All of it at once, which servers understand in more than one way.
  (random, segments) => ({ path: joined(random, segments, [...DOTTED, ...SLASHED, ...MIXED]), isCertain: false }),
  // The same with letters that are encoded twice or three times.
  (random, segments) => ({
    path: joined(random, segments, [...DOTTED, ...SLASHED, ...MIXED], random.pick(["25", "2525"])),
    isCertain: false,
  }),
  // Nothing in particular.
  (random) => ({ path: `/${listOf(random, 10, () => random.pick(SOUP)).join("")}`, isCertain: false }),
];

const DOTTED = [
  "/",
  "/",
  "/./",
  "/%2e/",
  "/x/../",
  "/x/%2E%2e/",
  "/x/.%2e/",
  "/.;/",
  "/x/..;p/",
  "/x/y/../../",
  "/%2e;v/",
];
const SLASHED = ["/", "/", "//", "///", "/%2f", "%2F", "%5c", "\\", "/\\", "%2f%2f"];
const MIXED = [
  "/x%2f..%2f",
  "/x%5c..%5C",
  "\\x\\..\\",
  "/..%2f",
  "/..\\",
  "%2f..;/",
  "/%252e%252e/",
  "/x/%252e%252e/",
  "/%25252e%2525252e/",
  "/..%252f",
  "%252f",
  "%25252f",
  "%255c..%255c",
  "/x/..%3b/",
  "/.//",
];
const SOUP = [
  "/",
  "/",
  "a",
  "b",
  "ab",
  "admin",
  ".",
  "..",
  "/../",
  "%2e",
  "%2f",
  "%5C",
  "\\",
  ";",
  "%3b",
  "%61",
  "%25",
  "%2525",
  "%2561",
  "%252e",
  "//",
  "x.y",
];

/** The segments, each behind one of the separators, with some letters percent-encoded; `again` encodes these once more. */
function joined(random: SeededRandom, segments: readonly string[], separators: readonly string[], again = ""): string {
  const text = segments.map((segment) => random.pick(separators) + escapedLetters(random, segment, again)).join("");
  return text.startsWith("/") ? text : `/${text}`;
}

function escapedLetters(random: SeededRandom, segment: string, again: string): string {
  return [...segment]
    .map((letter) => (random.chance(0.15) ? `%${again}${letter.charCodeAt(0).toString(16)}` : letter))
    .join("");
}

function listOf<T>(random: SeededRandom, most: number, make: () => T): T[] {
  return Array.from({ length: random.integer(0, most) }, make);
}
