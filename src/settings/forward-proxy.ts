import { TEXT } from "../config/form.ts";
import { describe, type Kind, list, piece, Wrong, written } from "../config/piece.ts";
import { block, type ConfigOf } from "../config/row.ts";
import { cidr, duration, integer } from "../config/scalars.ts";
import { ipVersion } from "../core/ip-address.ts";
import { NetworkSet } from "../core/network-set.ts";
import { isPublicAddress } from "../core/public-address.ts";
import { basic } from "../features/auth/basic-settings.ts";
import { type HostRule, hostRule, ruleText } from "../features/connect/host-rules.ts";

/** `forward_proxy` of a listener. docs/forward-proxy.md */
export const forwardProxy = block(
  {
    allow: {
      type: list(hostPattern(), "hosts"),
      required: "the hosts that clients may reach, such as allow: ['*.example.com:443']",
      example: ["*.example.com:443", "deb.debian.org"],
      doc: "hosts that clients may reach, as host, host:port or host:*; *.example.com is every name below it, * every host; without a port 80 and 443",
    },
    allow_networks: {
      type: list(cidr(), "networks"),
      example: ["10.1.0.0/16"],
      doc: "private networks that clients may reach all the same",
    },
    basic: { type: basic, absent: null, doc: "who may use the proxy, by Proxy-Authorization; every client by default" },
    max_tunnels: {
      type: integer(1, 1_000_000),
      default: 1000,
      doc: "most tunnels at once, in all workers and listeners",
    },
    max_tunnels_per_client: { type: integer(1, 1_000_000), default: 100, doc: "most tunnels at once of one address" },
    idle_timeout: { type: duration(1000), default: "10m", doc: "edge closes a tunnel without a byte for this time" },
  },
  {
    shorthand: "allow",
    check({ allow, allow_networks: networks }, { log, path }) {
      const opened = new NetworkSet(networks);
      allow.forEach(({ host }, i) => {
        if (ipVersion(host) !== 0 && !isPublicAddress(host) && !opened.has(host))
          log.warn(
            [...path, "allow", i],
            `${host} is no address of the Internet, so that clients get 403: add it to allow_networks`,
          );
      });
      const found = INSIDE.find(([address]) => opened.has(address));
      if (found !== undefined)
        log.warn([...path, "allow_networks"], `holds ${found[0]}, ${found[1]}: name the networks that clients need`);
    },
  },
);

/** Addresses behind which the secrets of a machine are. */
const INSIDE: readonly (readonly [address: string, what: string])[] = [
  ["169.254.169.254", "where clouds give out credentials of this machine"],
  ["127.0.0.1", "the services of this machine"],
  ["::1", "the services of this machine"],
];

export type ForwardProxyConfig = ConfigOf<typeof forwardProxy>;

function hostPattern(): Kind<HostRule> {
  const kind = piece<HostRule>((value) => {
    const rule = typeof value === "string" ? hostRule(value) : null;
    return rule ?? new Wrong(`expected a host such as example.com, *.example.com:443 or *, found ${describe(value)}`);
  }, TEXT);
  return written(kind, ruleText);
}
