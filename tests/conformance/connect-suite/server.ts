// The server that Connect's conformance runner starts for each group of cases: the suite's own server, behind a gateway. EDGE_CONNECT_ORIGIN is
// its program; with EDGE_CONNECT_BRIDGE=1 it speaks gRPC alone, and clients speak gRPC-Web.
import { freePort, type Gateway, startGateway, upstream } from "../../harness/gateway.ts";

/** What the runner asks for: connectrpc.conformance.v1.ServerCompatRequest. */
interface Asked {
  readonly version: number;
  readonly isTls: boolean;
  readonly clientCertificate: string;
  readonly receiveLimit: number;
  readonly cert: string;
  readonly key: string;
}

const PROTOCOLS = ["", "PROTOCOL_CONNECT", "PROTOCOL_GRPC", "PROTOCOL_GRPC_WEB"];
const isBridge = process.env.EDGE_CONNECT_BRIDGE === "1";

const fields = fieldsOf(await firstMessage());
const creds = fieldsOf(bytesOf(fields, 7));
const asked: Asked = {
  version: numberOf(fields, 2),
  isTls: numberOf(fields, 4) === 1,
  clientCertificate: bytesOf(fields, 5).toString(),
  receiveLimit: numberOf(fields, 6),
  cert: bytesOf(creds, 1).toString(),
  key: bytesOf(creds, 2).toString(),
};
const origin = await startOrigin();
const [gateway, port] = await startFront(origin.port);
process.on("SIGTERM", () => void stop());
// A runner that was killed says nothing.
const runner = process.ppid;
setInterval(() => process.ppid !== runner && void stop(), 1000);
const response = message([
  bytesField(1, Buffer.from("127.0.0.1")),
  varintField(2, port),
  bytesField(3, asked.isTls ? Buffer.from(asked.cert) : Buffer.alloc(0)),
]);
const head = Buffer.alloc(4);
head.writeUInt32BE(response.length);
process.stdout.write(Buffer.concat([head, response]));

async function stop(): Promise<void> {
  await gateway.stop();
  origin.child.kill();
  process.exit(0);
}

/** The suite's own server, in clear text. Over HTTP/3 a gateway's origin speaks HTTP/2. */
async function startOrigin(): Promise<{
  readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly port: number;
}> {
  const child = Bun.spawn([process.env.EDGE_CONNECT_ORIGIN!, "-json", "-port", "0"], {
    ...{ stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  });
  const protocol = isBridge ? "PROTOCOL_GRPC" : PROTOCOLS[numberOf(fields, 1)];
  const httpVersion = asked.version === 1 && !isBridge ? "HTTP_VERSION_1" : "HTTP_VERSION_2";
  child.stdin.write(`${JSON.stringify({ protocol, httpVersion, messageReceiveLimit: asked.receiveLimit })}\n`);
  await child.stdin.flush();
  // The stream is not given up: the program would end.
  const reader = child.stdout.getReader();
  let said = "";
  while (!said.trim().endsWith("}")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the suite's server ended");
    said += Buffer.from(value).toString();
  }
  return { child, port: (JSON.parse(said) as { port: number }).port };
}

async function startFront(origin: number): Promise<[Gateway, number]> {
  const scheme = asked.version === 1 && !isBridge ? "http" : "h2c";
  const secure = freePort();
  const { clientCertificate } = asked;
  const started = await startGateway({
    config: {
      server: {
        access_log: { enabled: false },
        ...(asked.isTls
          ? {
              tls: {
                ...{ port: secure, cert_file: "server.pem", key_file: "server.key" },
                ...(clientCertificate === "" ? {} : { client_auth: "require", client_ca_file: "client.pem" }),
              },
              ...(asked.version === 3 ? { http3: { enabled: true } } : {}),
            }
          : {}),
      },
    },
    routes: [
      upstream(
        "/",
        { url: `${scheme}://127.0.0.1:${origin}` },
        isBridge ? { grpc_web: true } : { inbound_chunked_mode: "passthrough" },
      ),
    ],
    files: { "server.pem": asked.cert, "server.key": asked.key, "client.pem": clientCertificate },
  });
  return [started, asked.isTls ? secure : started.port];
}

/** The first message of the input: its length in four bytes, then its bytes. */
async function firstMessage(): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const part of Bun.stdin.stream()) {
    bytes = Buffer.concat([bytes, part]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) break;
  }
  return bytes.subarray(4, 4 + bytes.readUInt32BE(0));
}

/** Fields of a message of Protocol Buffers by number: numbers, and bytes. */
function fieldsOf(bytes: Buffer): Map<number, number | Buffer> {
  const found = new Map<number, number | Buffer>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const length = varint();
    if ((key & 7) === 2) {
      found.set(key >> 3, bytes.subarray(at, at + length));
      at += length;
    } else found.set(key >> 3, length);
  }
  return found;
}

function numberOf(all: ReadonlyMap<number, number | Buffer>, field: number): number {
  const value = all.get(field);
  return typeof value === "number" ? value : 0;
}

function bytesOf(all: ReadonlyMap<number, number | Buffer>, field: number): Buffer {
  const value = all.get(field);
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

function message(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function varintField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function bytesField(field: number, value: Buffer): Buffer {
  return value.length === 0 ? value : Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
}
