import { quote } from "../../config/config-fault.ts";
import { headerNameKind } from "../../config/http-syntax.ts";
import { list } from "../../config/piece.ts";
import { block, type ConfigOf, type Rows } from "../../config/row.ts";
import { duration, integer, secret, size, textLike, word } from "../../config/scalars.ts";
import { HOP_BY_HOP_NAMES } from "../../message/hop-by-hop.ts";

/** Models of a route: each has counters of its own. */
const MAX_MODELS = 100;
/** A bucket holds twice the limit. */
const MAX_TOKENS = 2 ** 28;
const DAY_MS = 86_400_000;

/** Fields that are about the message, or that the gateway writes. */
const NO_KEY: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_NAMES,
  ...["host", "content-length", "content-type", "content-encoding", "accept-encoding", "expect", "cookie"],
]);

const modelName = () => textLike(/^[\x21-\x7e]{1,128}$/, "the name of a model such as gpt-4o");

const modelRows = {
  name: {
    type: modelName(),
    required: "the name that clients ask for, such as name: gpt-4o",
    example: "gpt-4o",
    doc: "the model that clients name",
  },
  targets: {
    type: list(textLike(/^[\w.-]{1,63}$/, "the name of a target"), "names", true),
    example: ["openai"],
    doc: "names of the route's targets that have it; all by default",
  },
  send: {
    type: modelName(),
    absent: "",
    example: "gpt-4o-2024-11-20",
    doc: "the model's name at the targets, if it is another",
  },
  key: {
    type: secret("the key"),
    absent: "",
    example: "${file:/run/secrets/openai}",
    doc: "your key, which edge sends as Authorization: Bearer in place of the client's",
  },
  key_header: {
    type: headerNameKind(),
    default: "Authorization",
    doc: "another field for your key: x-api-key of Anthropic, api-key of Azure",
  },
} as const satisfies Rows;

const model = block(modelRows, {
  shorthand: "name",
  check({ key, key_header: header }, { log, path }) {
    const at = [...path, "key_header"];
    if (NO_KEY.has(header.toLowerCase())) log.fault(at, `${header} holds no key: x-api-key and api-key do`, true);
    else if (key === "" && header !== "Authorization") log.warn(at, "has no effect without key");
  },
});

const tokens = block(
  {
    limit: {
      type: integer(1, MAX_TOKENS),
      required: "how many tokens, such as limit: 100000",
      example: 100_000,
      doc: "tokens of requests and responses in a window, in all workers",
    },
    window: {
      type: duration(1000, 31 * DAY_MS),
      default: "1d",
      doc: "the time in which spent tokens come back, evenly",
    },
    key: {
      type: word("user", "client_ip", "route"),
      default: "user",
      doc: "what has a limit of its own: user (by address without one), client_ip or route",
    },
  },
  { shorthand: "limit" },
);

/** `ai` at an upstream route. docs/ai.md */
export const ai = block(
  {
    models: {
      type: list(model, "models"),
      example: [{ name: "gpt-4o" }],
      doc: "models that clients may ask for, and where they are",
    },
    tokens: { type: tokens, absent: null, doc: "how many tokens each user may spend" },
    max_body_bytes: { type: size(1024, 8_388_608), default: "1MiB", doc: "largest request; a larger one gets 413" },
  },
  {
    check({ models }, { log, path }) {
      if (models.length === 0) log.fault([...path, "models"], "needs a model, such as models: [{name: gpt-4o}]", true);
      if (models.length > MAX_MODELS) log.fault([...path, "models"], `expected at most ${MAX_MODELS} models`);
      const names = models.map(({ name }) => name);
      names.forEach((name, i) => {
        if (names.indexOf(name) < i) log.fault([...path, "models", i, "name"], `${quote(name)} is there twice`, true);
      });
    },
  },
);

export type AiConfig = ConfigOf<typeof ai>;
