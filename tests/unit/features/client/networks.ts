import { type Cidr, parseCidr } from "../../../../src/config/cidr.ts";
import { NetworkSet } from "../../../../src/core/network-set.ts";

/** Networks as a configuration holds them. */
export function networks(...texts: readonly string[]): Cidr[] {
  return texts.map((text) => {
    const parsed = parseCidr(text);
    if (typeof parsed === "string") throw new Error(parsed);
    return parsed;
  });
}

/** A set of them. */
export function networkSet(...texts: readonly string[]): NetworkSet {
  return new NetworkSet(networks(...texts));
}
