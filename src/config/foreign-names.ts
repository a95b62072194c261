// Words that people bring along from nginx, HAProxy, Caddy, Traefik and Envoy, and their equivalents here. A cure for
// what edge does not have says so, rather than leave it to be searched for.

/** What stands at an unknown key in the place of a guess. */
export interface ForeignKeys {
  readonly names: readonly string[];
  /** The keys here that do it, as paths below the same section; a test looks that they are there. None if there is none. */
  readonly keys: readonly string[];
  readonly advice: string;
}

/** The advice by name, as a block takes it. */
export function foreignAdvice(all: readonly ForeignKeys[]): readonly (readonly [string, string])[] {
  return all.flatMap(({ names, advice }) => names.map((name) => [name, advice] as const));
}

/** Says how a key is called here. @param how to write it, if the names of the keys do not say so */
export function means(names: string, keys: readonly string[], how: string = keys.join(" or ")): ForeignKeys {
  return { names: names.split(" "), keys, advice: `unknown key: here it is called ${how}` };
}

/** The same in free words: `advice` says what to do in place of it. */
export function says(names: string, advice: string, keys: readonly string[] = []): ForeignKeys {
  return { names: names.split(" "), keys, advice: `unknown key: ${advice}` };
}
