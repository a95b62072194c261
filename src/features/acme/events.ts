import { ERROR, flagField, numberField, optional, textField, texts } from "../../core/event-row.ts";

const NAMES = texts("the names of the certificate");
const STORAGE = textField("kind of the storage");
const RETRY = numberField("when the next attempt is made");
const OF_CERTIFICATE = { names: NAMES, not_after: textField("when it expires") } as const;

/** What certificates by ACME write to the log. docs/acme.md#failures */
export const ACME_EVENTS = {
  cert_obtained: {
    meaning: "ACME: the first certificate for these names.",
    advice: "You do not need to do anything.",
    fields: OF_CERTIFICATE,
  },
  cert_renewed: {
    meaning: "ACME: a certificate was renewed.",
    advice: "You do not need to do anything.",
    fields: OF_CERTIFICATE,
  },
  cert_taken: {
    meaning: "ACME: another gateway obtained this certificate, and it is served here now.",
    advice: "You do not need to do anything.",
    fields: OF_CERTIFICATE,
  },
  cert_imported: {
    meaning: "ACME: edge imported a certificate of `cache_dir` into the shared storage.",
    advice:
      "You do not need to do anything. Once all gateways have it from the storage, the files in `cache_dir` can be deleted, whose keys are in the clear.",
    fields: { names: NAMES },
  },
  cert_store_away: {
    level: "error",
    meaning:
      "The storage of certificates that gateways share cannot be reached, and why: what this gateway has seen is served from its copies, and none is ordered.",
    advice: "Check your storage, its credentials and the network between. Renewals wait; they have weeks.",
    perSecond: 1,
    fields: { storage: STORAGE, error: ERROR },
  },
  cert_store_sealed: {
    meaning:
      "With several secrets in `storage_key`, at the start: `documents` of the shared storage were sealed anew with the first one; `left` could not be.",
    advice:
      "Once all gateways have the new secret as the first one, and `left` is 0, remove the old one. If it is not 0, restart a gateway, or see `edge certs`.",
    fields: {
      documents: numberField("documents with the new encryption"),
      left: numberField("documents that edge could not encrypt anew"),
    },
  },
  cert_store_back: {
    meaning: "The storage of certificates that gateways share is there again.",
    advice: "You do not need to do anything.",
    perSecond: 1,
    fields: { storage: STORAGE },
  },
  cert_failed: {
    level: "error",
    meaning: "ACME: an attempt failed.",
    advice:
      "Check `error`: DNS that does not point here, port 80 that cannot be reached, a rate limit of the authority.",
    fields: {
      names: NAMES,
      refused: optional(texts("the names among them that the authority refuses")),
      kind: textField("kind of the failure"),
      error: ERROR,
      failures: optional(numberField("failures in a row")),
      retry_in_s: optional(RETRY),
    },
  },
  cert_waiting: {
    meaning: "ACME: attempts failed before this start.",
    advice: "Fix what failed before; SIGHUP tries at once.",
    fields: { names: NAMES, failures: numberField("failures in a row"), retry_in_s: RETRY },
  },
  cert_refused: {
    level: "warn",
    meaning: "ACME: a name that a client asked for gets no certificate for now.",
    advice: "If the name is yours, let the `ask` URL approve it.",
    perSecond: 20,
    fields: {
      name: textField("the name"),
      reason: textField("why"),
      dropped: optional(flagField("whether it had one, which is shown no more")),
    },
  },
  cert_record_left: {
    level: "warn",
    meaning: "ACME: the record of a dns-01 challenge could not be removed from its zone.",
    advice: "Remove the record from the zone by hand; the next challenge does not need it.",
    fields: { name: textField("name of the record"), error: ERROR },
  },
} as const;
