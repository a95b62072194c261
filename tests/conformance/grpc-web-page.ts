import { createFileRegistry, fromBinary, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";

// The script of a page that calls a gRPC server by connect-web, and methods that take streams by WebSockets.

/** What a call came to. */
interface Outcome {
  readonly messages: readonly JsonValue[];
  readonly code: number;
  readonly text: string;
}

interface PageGlobals {
  readonly schema: string;
  call(base: string, path: string, request: JsonValue, most?: number): Promise<Outcome>;
  talk(url: string, texts: readonly string[]): Promise<{ texts: string[]; code: number; reason: string }>;
}

const page = globalThis as unknown as PageGlobals;
const bytes = Uint8Array.from(atob(page.schema), (character) => character.charCodeAt(0));
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));

/** Calls a method and gathers what comes. @param most messages after which the page leaves */
page.call = async (base, path, request, most = Number.POSITIVE_INFINITY) => {
  const [, service, name] = path.split("/");
  const method = registry.getService(service!)!.methods.find((one) => one.name === name)!;
  const messages: JsonValue[] = [];
  const leave = new AbortController();
  try {
    const transport = createGrpcWebTransport({ baseUrl: base });
    const message = fromJson(method.input, request);
    const note = (one: Message): unknown => messages.push(toJson(method.output, one, { registry }));
    const header = { "x-token": "t" };
    if (method.methodKind === "unary") {
      const reply = await transport.unary(method as never, leave.signal, 10_000, header, message as never);
      note(reply.message as Message);
    } else {
      const input = (async function* () {
        yield message;
      })();
      const reply = await transport.stream(method as never, leave.signal, 10_000, header, input as never);
      for await (const one of reply.message as AsyncIterable<Message>) {
        note(one);
        if (messages.length === most) leave.abort();
      }
    }
    return { messages, code: 0, text: "" };
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return { messages, code, text: rawMessage };
  }
};

/** Says texts over a WebSocket, each after the reply to the one before; the last is the empty one that ends them. */
page.talk = (url, texts) =>
  new Promise((resolve) => {
    const socket = new WebSocket(url);
    const got: string[] = [];
    const next = (): void => socket.send(got.length < texts.length ? JSON.stringify({ text: texts[got.length] }) : "");
    socket.onopen = next;
    socket.onmessage = ({ data }) => {
      got.push(String(data));
      next();
    };
    socket.onclose = ({ code, reason }) => resolve({ texts: got, code, reason });
  });
