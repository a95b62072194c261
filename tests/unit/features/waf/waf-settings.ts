import type { WafRule } from "../../../../src/features/waf/rule.ts";
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

/** Settings with which a rule counts. */
export function settingsFor({ level, needs }: Pick<WafRule, "level" | "needs">): WafSettings {
  return { ...ENFORCE, mode: "detection", level: level ?? 1, protocol: needs === "protocol" ? PROTOCOL : null };
}

const PROTOCOL: WafSettings["protocol"] = {
  enabled: true,
  methods: ["GET", "POST"],
  contentTypes: ["application/x-www-form-urlencoded", "*+json"],
  restrictedFiles: ["phpinfo.php"],
  restrictedExtensions: [".bak", "log"],
  headers: ["Proxy"],
};
