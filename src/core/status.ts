/**
 * Reason phrases of all registered status codes, with 418, which is reserved, and 499, which is counted alone. RFC 9110 §15 and the
 * IANA registry; 413 has the older phrase that the bodies of refusals have. STATUS_CODES of node:http has the older
 * "Unprocessable Entity" for 422 and nothing for 104 and 499, and `core` imports no module of the runtime.
 */
const REASONS: Readonly<Record<number, string>> = {
  100: "Continue",
  101: "Switching Protocols",
  102: "Processing",
  103: "Early Hints",
  104: "Upload Resumption Supported",
  200: "OK",
  201: "Created",
  202: "Accepted",
  203: "Non-Authoritative Information",
  204: "No Content",
  205: "Reset Content",
  206: "Partial Content",
  207: "Multi-Status",
  208: "Already Reported",
  226: "IM Used",
  300: "Multiple Choices",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  305: "Use Proxy",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  411: "Length Required",
  412: "Precondition Failed",
  413: "Payload Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  417: "Expectation Failed",
  418: "I'm a teapot",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  423: "Locked",
  424: "Failed Dependency",
  425: "Too Early",
  426: "Upgrade Required",
  428: "Precondition Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  451: "Unavailable For Legal Reasons",
  499: "Client Closed Request",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
  506: "Variant Also Negotiates",
  507: "Insufficient Storage",
  508: "Loop Detected",
  510: "Not Extended",
  511: "Network Authentication Required",
};

/**
 * The reason phrase of a status.
 * @param status 100 to 999
 * @returns the registered phrase, or "Unknown" (a phrase carries no meaning, RFC 9110 §15)
 */
export function reasonOf(status: number): string {
  return REASONS[status] ?? "Unknown";
}

/** The status in counters if the client was gone before a response; nginx's number for it. */
export const CLIENT_CLOSED_STATUS = 499;

/** The JSON body of an error. docs/wire.md#refusals */
interface ErrorBody {
  /** `404 Not Found`. */
  readonly error: string;
  /** The cause in one sentence. */
  readonly message: string;
}

/** The body of an error. @param status 400 to 599 */
export function errorBody(status: number, message: string): ErrorBody {
  return { error: `${status} ${reasonOf(status)}`, message };
}
