import { describe, list, type Spot, written } from "../../config/piece.ts";
import { block, type ConfigOf, OFF, orWritten, type Rows, type Values } from "../../config/row.ts";
import { duration, fileName, flag, integer, percent, secret, text, textLike } from "../../config/scalars.ts";
import { MASK, withoutCredentials } from "../../core/secret-name.ts";

const canaryRows = {
  enabled: { type: flag(), default: true, doc: "false: all gateways take a new configuration at once" },
  share: { type: percent(), default: "10%", doc: "share of your gateways that go first, at least one" },
  for: { type: duration(1000), default: "5m", doc: "how long they run it before the others take it" },
  max_error_rate: {
    type: percent(),
    default: "1%",
    doc: "edge rolls back if their share of 5xx is above the others' by more than this",
  },
  min_requests: {
    type: integer(1, 1_000_000_000),
    default: 100,
    doc: "with fewer requests edge does not judge errors",
  },
} as const satisfies Rows;

const rows = {
  enabled: { type: flag(), default: true, doc: "false: this gateway shares nothing" },
  store: {
    type: written(list(text("the address of a store", true), "addresses", true), (all) =>
      all.map((one) => withoutCredentials(one)),
    ),
    example: "redis://:${REDIS_PASSWORD}@10.0.0.9:6379/0",
    doc: "your Redis or Valkey; rediss:// for TLS; in a list, each may be a sentinel or a cluster node",
  },
  master: { type: text("a name"), default: "", example: "mymaster", doc: "the name by which sentinels know the store" },
  prefix: {
    type: textLike(/^[A-Za-z0-9._:-]{1,64}$/, "letters, digits and . _ : -, such as edge"),
    default: "edge",
    doc: "the prefix of all keys: gateways with the same one are a fleet",
  },
  node: {
    type: text("a name"),
    default: "",
    example: "edge-1",
    doc: "this gateway's name; its host name and process by default",
  },
  password: {
    type: secret("the password"),
    default: "",
    example: "${REDIS_PASSWORD}",
    doc: "the store's password, if the sentinels have another",
  },
  timeout: { type: duration(1, 10_000), default: "200ms", doc: "most time that a request waits for the store" },
  ca_file: {
    type: fileName(),
    default: "",
    example: "./ca.pem",
    doc: "roots that edge trusts for rediss://; the system's by default",
  },
  health: {
    type: flag(),
    default: false,
    doc: "gateways tell each other which targets are down, so that these are tried with care",
  },
  canary: {
    type: orWritten(
      block(canaryRows, { absent: OFF, shorthand: "share" }),
      percent().form,
      (value) => (typeof value === "string" || typeof value === "number" ? { share: value } : value),
      OFF,
    ),
    doc: "some of your gateways try a new configuration of edge serve --config URL first",
  },
} as const satisfies Rows;

/** `cluster`: what several gateways share. docs/fleet.md */
export const cluster = block(rows, {
  absent: OFF,
  shorthand: "store",
  check: checkCluster,
  finish: ({ caFile }, _, { path, files }) => ({ caFile: files.bundle([...path, "ca_file"], caFile) }),
});

/** The resolved section. */
export type ClusterConfig = ConfigOf<typeof cluster>;

/** How a new configuration is tried. docs/fleet.md#canaries */
export type CanaryConfig = ClusterConfig["canary"];

/** Notes a limit of the fleet if there is none. @param at where the limit is */
export function checkReach(
  { enabled, reach }: { readonly enabled: boolean; readonly reach: "node" | "cluster" },
  cluster: Pick<ClusterConfig, "enabled">,
  { path, log }: Pick<Spot, "path" | "log">,
): void {
  if (enabled && reach === "cluster" && !cluster.enabled)
    log.fault(
      [...path, "scope"],
      "cluster needs a section cluster in config.yaml, with the store that the gateways share",
    );
}

function checkCluster({ enabled, store }: Values<typeof rows>, { log, path }: Spot): void {
  const at = [...path, "store"];
  if (!enabled || log.isFaulty(at)) return;
  if (store.length === 0) log.fault(path, "needs store, the address of Redis, such as redis://127.0.0.1:6379");
  for (const one of store) {
    const url = URL.parse(one);
    const isStore = url !== null && ["redis:", "rediss:"].includes(url.protocol) && url.hostname !== "";
    if (!isStore)
      log.fault(at, `expected redis://host:6379 or rediss://host:6379, found ${describe(withoutCredentials(one))}`);
    else if (!/^(\/\d{0,2})?$/.test(url.pathname) || url.search !== "" || url.hash !== "")
      log.fault(at, `expected an address with at most the number of a database behind it, found ${describe(MASK)}`);
  }
}
