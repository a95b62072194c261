import { list } from "../../config/piece.ts";
import { autonomousSystem, country } from "../../config/place-kinds.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { cidr } from "../../config/scalars.ts";

/** Address rules, of the server or of a route: `deny` is examined first. docs/guards.md#address-rules */
export const ipRules = block({
  allow: {
    type: list(cidr(), "networks"),
    example: ["192.0.2.0/24"],
    doc: "only clients in these networks get in",
  },
  deny: { type: list(cidr(), "networks"), example: ["192.0.2.7"], doc: "clients in these networks get 403" },
  allow_countries: {
    type: list(country(), "countries"),
    example: ["DE", "AT"],
    doc: "countries whose clients get in, beside allow; needs geo.country_db",
  },
  deny_countries: {
    type: list(country(), "countries"),
    example: ["AQ"],
    doc: "countries whose clients get 403, beside deny; needs geo.country_db",
  },
  deny_asns: {
    type: list(autonomousSystem(), "numbers"),
    example: [64500],
    doc: "autonomous systems whose clients get 403, beside deny; needs geo.asn_db",
  },
});

export type IpRules = ConfigOf<typeof ipRules>;
