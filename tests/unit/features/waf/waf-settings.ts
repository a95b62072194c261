import type { AddressSet, WafSettings } from "../../../../src/features/waf/waf-scorer.ts";

/** The settings that a WAF has when its section says nothing but `enabled`. */
export const ENFORCE: WafSettings = {
  mode: "enforce",
  level: 1,
  profile: [],
  anomalyThreshold: 5,
  maxInspectBodyBytes: 65536,
  overLimit: "inspect",
  disabledRules: [],
  exclusions: [],
  revealRules: true,
};

/** No client at all. */
export const DETACHED: AddressSet = { has: () => false };
