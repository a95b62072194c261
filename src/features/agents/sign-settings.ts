import { createPrivateKey, type KeyObject } from "node:crypto";
import type { Spot } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { duration, fileName, textLike } from "../../config/scalars.ts";

const MAX_KEY_FILE_BYTES = 65_536;
const SIGNED_AGENT = /^https:\/\/[^\s/?#@"\\]+(?:\/[^\s"\\]*)?$/;

/** `sign` of a route. docs/agents.md#signing */
export const sign = block(
  {
    key_file: {
      type: fileName(),
      required: "the file with the private key of Ed25519, in PEM form or as a JWK",
      field: "",
      example: "./agent-key.pem",
      doc: "your private Ed25519 key, in PEM or as a JWK; edge reads it again on reload",
    },
    agent: {
      type: textLike(SIGNED_AGENT, "the origin of your key directory, such as https://bot.example"),
      absent: "",
      example: "https://bot.example",
      doc: "the origin of your key directory, which edge sends as Signature-Agent and signs",
    },
    expires: { type: duration(1000, 86_400_000), default: "1m", doc: "how long a signature is valid" },
  },
  {
    finish: (_, { key_file }, spot) => ({
      keyFile: spot.files.file([...spot.path, "key_file"], key_file),
      // In base64: PKCS #8 in DER.
      key: privateKey(key_file, spot),
    }),
    list: ({ keyFile }, lines) => ({ key_file: keyFile, ...lines }),
  },
);

/** The section of a route. */
export type SignConfig = ConfigOf<typeof sign>;

function privateKey(file: string, { path, log, files }: Spot): string {
  const at = [...path, "key_file"];
  const text = log.isFaulty(at) ? "" : files.contents(at, file, MAX_KEY_FILE_BYTES, "a key has some hundred bytes");
  if (log.isFaulty(at)) return "";
  let key: KeyObject | null = null;
  try {
    key = text.trimStart().startsWith("{")
      ? createPrivateKey({ key: JSON.parse(text), format: "jwk" })
      : createPrivateKey(text);
  } catch {
    // The fault below says enough: details of a key are not for a log.
  }
  if (key?.asymmetricKeyType === "ed25519") return key.export({ type: "pkcs8", format: "der" }).toString("base64");
  log.fault(at, "expected a private key of Ed25519 without a password: openssl genpkey -algorithm ed25519");
  return "";
}
