import type { StreamSyntax } from "../route-syntax.ts";
import type { StreamType } from "./stream-config.ts";
import { passthroughKeys, tcpKeys, udpKeys } from "./stream-keys.ts";

/** THE types of streams, by the word at `type` in routes.yaml. docs/streams.md */
export const STREAM_TYPES: Readonly<Record<StreamType, StreamSyntax>> = {
  tcp: {
    what: "TCP connections",
    sentence: 'a tcp stream forwards connections to "target" as they are',
    foreignWords: ["stream", "layer4"],
    marks: ["listen"],
    keys: tcpKeys,
    doc: "TCP connections at an address of their own, whatever they speak",
  },
  udp: {
    what: "UDP datagrams",
    sentence: 'a udp stream forwards datagrams to "target" as they are',
    foreignWords: ["datagram"],
    marks: [],
    keys: udpKeys,
    doc: "UDP datagrams at an address of their own, whatever is in them",
  },
  tls_passthrough: {
    what: "TLS connections, unopened, by their name",
    sentence: 'a pass-through forwards TLS connections for "hosts" as they are',
    foreignWords: ["passthrough", "sni", "ssl_passthrough", "tls"],
    marks: [],
    keys: passthroughKeys,
    doc: "TLS connections for a name go to a server that ends TLS itself",
  },
};
