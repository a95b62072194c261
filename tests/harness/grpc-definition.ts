import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";

/** A service of a schema as gRPC's own implementation for Node takes it, with JSON in the place of messages. */
export function grpcDefinition(registry: Registry, name: string): object {
  const serializer = (type: DescMessage) => (json: JsonValue) =>
    Buffer.from(toBinary(type, fromJson(type, json, { registry })));
  const deserializer = (type: DescMessage) => (bytes: Buffer) => toJson(type, fromBinary(type, bytes), { registry });
  return Object.fromEntries(
    registry.getService(name)!.methods.map((method) => [
      method.name,
      {
        path: `/${name}/${method.name}`,
        requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
        responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
        requestSerialize: serializer(method.input),
        requestDeserialize: deserializer(method.input),
        responseSerialize: serializer(method.output),
        responseDeserialize: deserializer(method.output),
      },
    ]),
  );
}
