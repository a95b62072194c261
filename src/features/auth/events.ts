import { ERROR, numberField, OF_REQUEST, OF_TARGET, optional, ROUTE, textField, texts } from "../../core/event-row.ts";

/** What `auth` writes to the log. docs/authentication.md */
export const AUTH_EVENTS = {
  auth_refused: {
    level: "warn",
    meaning: "A request without good credentials. The name that was tried is not written.",
    advice: "Many from one address are guesses. Many `reason: expired` of all your users: a clock is wrong.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      ...OF_TARGET,
      route: ROUTE,
      auth: textField("the method"),
      status: numberField(
        "the response: 401, 403, a redirect to a sign-in, 429 after too many wrong passwords, or 503 if edge could not decide",
      ),
      reason: optional(textField("in a word, why a token was not taken (docs/authentication.md#refused-tokens)")),
    },
  },
  auth_field_dropped: {
    level: "warn",
    meaning:
      "A method of `auth` let a request in, and the value for `field` has control characters, outer space or more than 8192 bytes: the request, or its response, goes on without that field.",
    advice: "Check the value at your provider or service: your origin does not get the field.",
    perSecond: 1,
    fields: {
      request_id: OF_REQUEST.request_id,
      route: ROUTE,
      auth: textField("the method"),
      field: textField("name of the field"),
    },
  },
  auth_service_failed: {
    level: "error",
    meaning: "An authentication service gave no verdict: requests got 503.",
    advice: "Check your service: while it is down, edge lets no request in.",
    everyMs: 1000,
    fields: { service: textField("its URL"), reason: textField("why") },
  },
  sign_in_failed: {
    level: "warn",
    meaning: "A sign-in with OpenID Connect, the renewal of a session or a sign-out has failed.",
    advice: "Check `step` and `reason`: the provider's address, the client's secret, the return address, the clock.",
    perSecond: 20,
    fields: {
      step: textField("login (the provider does not respond), callback (the way back failed), renewal or logout"),
      ...OF_REQUEST,
      issuer: textField("the provider"),
      reason: textField("why"),
    },
  },
  session_cut: {
    level: "warn",
    meaning: "OpenID Connect: a user has signed in, and the cookies of the session have no room for all claims.",
    advice:
      "You do not need to do anything if only `allow` needs them: it was judged by all claims. If `headers` or `{auth.claim.NAME}` need them, have the provider send fewer groups.",
    perSecond: 5,
    fields: {
      ...OF_REQUEST,
      issuer: textField("the provider"),
      claims: textField("names of cut claims"),
    },
  },
  jwks_fetched: {
    meaning: "The keys of a token issuer are there, or are others than before.",
    advice: "You do not need to do anything. `passed_over` names keys of the issuer that are of no use.",
    fields: {
      url: textField("where they come from"),
      keys: numberField("how many there are"),
      passed_over: optional(texts("unusable keys, and why")),
    },
  },
  jwks_failed: {
    level: "warn",
    meaning: "The keys of a token issuer could not be fetched.",
    advice: "Check the issuer's URL. The keys from before hold until they are replaced there.",
    fields: {
      url: textField("where they come from"),
      error: ERROR,
      failures: numberField("failures in a row"),
      keys_kept: numberField("keys from before, which stay"),
      retry_in_s: numberField("when it is tried again"),
    },
  },
} as const;
