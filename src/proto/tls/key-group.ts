import type { ClientHello } from "./client-hello.ts";

/** Groups of key exchanges by their numbers in TLS, in the order in which a listener without `curves` prefers them. */
const GROUPS: ReadonlyMap<string, number> = new Map([
  ["X25519MLKEM768", 0x11ec],
  ["X25519", 29],
  ["P-256", 23],
  ["P-384", 24],
  ["P-521", 25],
]);

/** Names of all groups, as `curves` takes them. */
export const KEY_GROUPS: readonly string[] = [...GROUPS.keys()];

/** The library does not offer P-521 unless asked to. */
const USUAL_GROUPS: readonly string[] = KEY_GROUPS.slice(0, 4);

/**
 * The group by which keys are exchanged: the first of the listener's that the client offers. The library does not say which it has
 * chosen, and chooses so.
 * @param curves of the listener, the preferred one first; none for the usual ones
 * @returns "" if both have none in common
 */
export function keyGroup(hello: Pick<ClientHello, "groups" | "isTls13">, curves: readonly string[]): string {
  for (const name of curves.length > 0 ? curves : USUAL_GROUPS) {
    const group = GROUPS.get(name)!;
    // RFC 8446 and draft-ietf-tls-ecdhe-mlkem: a hybrid is for TLS 1.3 alone.
    if (hello.groups.includes(group) && (hello.isTls13 || group < 0x100)) return name;
  }
  return "";
}
