import { type Kind, list, resolved, type Spot } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { text, textLike } from "../../config/scalars.ts";
import { canonicalName } from "./distinguished-name.ts";

const rows = {
  subjects: {
    type: list(subject(), "subjects", true),
    example: ["CN=client,O=Example"],
    doc: 'whole names as RFC 4514 writes them; "*" is every certificate that the listener has verified',
  },
  uris: {
    type: list(textLike(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s*]+\*?$/, "a URI such as spiffe://mesh/ns/shop/*"), "URIs", true),
    example: ["spiffe://mesh/ns/shop/*"],
    doc: "alternative names (URIs); a * at the end stands for any rest",
  },
  fingerprints: {
    type: list(fingerprint(), "fingerprints", true),
    example: ["9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15:a3:bf:4f:1b:2b:0b:82:2c:d1:5d:6c:15:b0:f0:0a:08"],
    doc: "SHA-256 of the certificate, in hex with or without colons",
  },
} as const satisfies Rows;

/** `auth.mtls`: the certificates of clients. docs/authentication.md#client-certificates */
export const mtls = block(rows, {
  check(values: Values<typeof rows>, spot: Spot) {
    const isEmpty = Object.values(values).every(({ length }) => length === 0);
    const isFaulty = Object.keys(rows).some((key) => isFaultyAt(spot, key));
    if (isEmpty && !isFaulty)
      spot.log.fault(spot.path, 'needs subjects, uris or fingerprints; subjects: ["*"] is all', true);
  },
});

function subject(): Kind<string> {
  return resolved(text("a subject such as CN=client,O=Example"), (name, { path, log }) => {
    if (name !== "*" && canonicalName(name) === null)
      log.fault(path, "expected a subject as RFC 4514 writes it, such as CN=client,O=Example");
    return name;
  });
}

/** Resolved, lower-case without colons. */
function fingerprint(): Kind<string> {
  const written = textLike(
    /^([0-9a-fA-F]{64}|([0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2})$/,
    "a SHA-256 fingerprint of 64 hex digits",
  );
  return resolved(written, (digits) => digits.replaceAll(":", "").toLowerCase());
}

/** What must be known of `server.tls`. */
export interface TlsTerms {
  readonly enabled: boolean;
  readonly clientAuth: string;
}

/** Warns of a method that can let in no request, since no listener asks for certificates. */
export function warnOfMtls(tls: TlsTerms, { path, log }: Spot): void {
  if (tls.enabled && tls.clientAuth !== "none") return;
  log.warn(
    [...path, "mtls"],
    tls.enabled
      ? "lets in no request while server.tls.client_auth is none: say request or require, with client_ca_file"
      : "lets in no request: certificates come over server.tls, which is off",
  );
}
