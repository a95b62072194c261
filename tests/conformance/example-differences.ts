/** Why some requests are answered otherwise than by grpc-gateway; docs/transcoder.md#beside-grpc-gateway has the same rows. */
export interface KnownDifference {
  /** As the table of the page names it. */
  readonly what: string;
  /** The requests, each by a part of its line and body. */
  readonly rows: readonly RegExp[];
  /** The status of grpc-gateway and of the transcoder. */
  readonly statuses: readonly (readonly [theirs: number, ours: number])[];
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    what: "a slash that is encoded in a path",
    rows: [/%2F/],
    statuses: [
      [501, 200],
      [404, 200],
    ],
  },
  {
    what: "whole numbers in paths and queries",
    rows: [/\/1\.0[/ ]/, /int64_value=1e3/, /2\.5\/0x10\//],
    statuses: [
      [400, 200],
      [200, 400],
    ],
  },
  { what: "numbers of enums without a name in a path", rows: [/camelCase\/7\//], statuses: [[400, 200]] },
  { what: "bytes in a path or query without padding", rows: [/bytes_value=-_8/], statuses: [[400, 200]] },
  {
    what: "a method that the path has not",
    rows: [/^GET \S+echo\/myid $/, /:unknown/, /^POST \S+checkStatus/],
    statuses: [[501, 405]],
  },
  { what: "TRACE", rows: [/^TRACE/], statuses: [[200, 405]] },
  { what: "a form that is sent to a GET", rows: [/string_value=hello&repeated/], statuses: [[200, 405]] },
  {
    what: "paths that nothing takes",
    rows: [/true\/other\/foo/, /^POST \/ /, /example\/unknown/],
    statuses: [[404, 404]],
  },
  { what: "a malformed escape", rows: [/\/%%\//], statuses: [[400, 400]] },
  {
    what: "an empty segment",
    rows: [/\/10\/ $/, /echo\/\/10/],
    statuses: [
      [200, 404],
      [200, 405],
    ],
  },
  {
    what: "bytes after the JSON",
    rows: [/trailing$/, /\{\}\. /],
    statuses: [
      [200, 400],
      [504, 400],
    ],
  },
  { what: "media types that are not JSON", rows: [/overwriterequestcontenttype/], statuses: [[200, 415]] },
  { what: "a PATCH without a field", rows: [/echo_patch \{\}$/], statuses: [[500, 200]] },
  { what: "a required field that is not there", rows: [/^GET \/v2\/example\/echo $/], statuses: [[500, 400]] },
  { what: "an enum of a oneof as the body", rows: [/oneofenum "/], statuses: [[400, 200]] },
  { what: "a stream of bodies", rows: [/example\/download/], statuses: [[200, 200]] },
  {
    what: "a stream without a message",
    rows: [/everything\/echo {2}Content-Type: application\/x-ndjson/],
    statuses: [[200, 200]],
  },
];
