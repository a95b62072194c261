import { describe, list, type Spot, written } from "../../config/piece.ts";
import { block, type ConfigOf, OFF, type Rows, type Values } from "../../config/row.ts";
import { cidr, decimal, duration, fileName, flag, integer, secret, text, word } from "../../config/scalars.ts";
import { withoutCredentials } from "../../core/secret-name.ts";

/** Lists that a gateway reads. */
const MAX_FEEDS = 32;

const feedRows = {
  file: {
    type: fileName(),
    default: "",
    example: "./blocked.netset",
    doc: "a list in a file; edge reloads it if you replace it",
  },
  url: {
    type: written(text("an address such as https://example.com/list.netset", true), withoutCredentials),
    default: "",
    example: "https://lists.example.com/level1.netset",
    doc: "or a list over HTTP",
  },
  format: {
    type: word("plain", "netset", "crowdsec"),
    default: "plain",
    doc: "plain and netset: an address, network or range a line; crowdsec: decisions in JSON",
  },
  poll: { type: duration(1000), default: "5m", doc: "how often edge reads the list again" },
  key: {
    type: secret("the key"),
    default: "",
    example: "${CROWDSEC_KEY}",
    doc: "the key that edge sends as X-Api-Key, which CrowdSec needs",
  },
} as const satisfies Rows;

const feed = block(feedRows, {
  check: checkFeed,
  finish: ({ file }, _, { path, files }) => ({ file: files.file([...path, "file"], file) }),
});

const after = block({
  blocks: {
    type: integer(1, 10_000),
    default: 5,
    doc: "this many refusals by the firewall, a rate limit or the path guard",
  },
  window: { type: duration(1000, 86_400_000), default: "1m", doc: "within this time" },
});

const rows = {
  enabled: { type: flag(), default: true, doc: "false: edge bans no client" },
  after: { type: after, doc: "when edge bans a client" },
  for: { type: duration(1000), default: "1h", doc: "length of the first ban; each further one is twice as long" },
  max: { type: duration(1000), default: "24h", doc: "the longest ban" },
  scope: {
    type: word("node", "cluster"),
    field: "reach",
    default: "node",
    doc: "cluster: all gateways of the fleet ban the client",
  },
  feeds: { type: list(feed, "feeds"), doc: "block lists of addresses" },
  allow: { type: list(cidr(), "networks"), example: ["192.0.2.0/24"], doc: "networks that edge never bans" },
  max_share: {
    type: decimal(0, 1),
    default: 0.1,
    doc: "edge refuses a feed with more than this share of all addresses",
  },
} as const satisfies Rows;

/** `server.bans`. docs/bans.md */
export const bans = block(rows, {
  absent: OFF,
  check({ feeds: all, for: forMs, max }, { path, log }) {
    if (all.length > MAX_FEEDS)
      log.fault([...path, "feeds"], `expected at most ${MAX_FEEDS} feeds, found ${all.length}`);
    if (max < forMs) log.fault([...path, "max"], "is shorter than for: expected the longest ban");
  },
});

/** One list. */
export type FeedConfig = ConfigOf<typeof feed>;
export type BansConfig = ConfigOf<typeof bans>;

function checkFeed({ file, url }: Values<typeof feedRows>, { path, log }: Spot): void {
  if ((file === "") === (url === "")) log.fault(path, "expected either file or url", true);
  const parsed = url === "" ? null : URL.parse(url);
  if (url !== "" && (parsed === null || !["http:", "https:"].includes(parsed.protocol)))
    log.fault(
      [...path, "url"],
      `expected an address that begins with https:// or http://, found ${describe(withoutCredentials(url))}`,
    );
}
