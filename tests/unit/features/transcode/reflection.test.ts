// docs/transcoder.md#schema
import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Fault } from "../../../../src/core/fault.ts";
import {
  type Reflected,
  Reflection,
  type ReflectionListener,
  type ReflectionPorts,
} from "../../../../src/features/transcode/reflection.ts";
import type { ReflectionQuestion } from "../../../../src/proto/grpc/reflection-messages.ts";

/** A server that a test plays. */
class PlayedServer implements ReflectionPorts {
  readonly asked: [version: number, question: ReflectionQuestion][] = [];
  readonly results: Reflected[] = [];
  listener: ReflectionListener | null = null;
  givenUp = 0;
  late: () => void = () => {};
  isTimeKept = false;

  ask(version: number, question: ReflectionQuestion, listener: ReflectionListener): () => void {
    this.asked.push([version, question]);
    this.listener = listener;
    return () => {
      this.givenUp++;
    };
  }

  after(_ms: number, act: () => void): () => void {
    this.late = act;
    return () => {
      this.isTimeKept = true;
    };
  }

  begin(services: string | ((name: string) => boolean) = () => true): ReflectionListener {
    new Reflection(this, { services, timeoutMs: 1000 }, (result) => this.results.push(result)).start();
    return this.listener!;
  }
}

const shop = create(FileDescriptorProtoSchema, { name: "shop.proto", package: "shop", service: [{ name: "Shop" }] });
const list = (services: readonly string[]) => ({ services, files: [], bytes: 0 });

describe("reflection", () => {
  test("lists the services, asks for each file, and keeps its time", () => {
    const server = new PlayedServer();
    const listener = server.begin();
    listener.onAnswer(list(["shop.Shop"]));
    listener.onEnd(0, "");
    listener.onAnswer({ services: [], files: [shop], bytes: 100 });
    listener.onEnd(0, "");
    expect(server.asked.map(([, question]) => question)).toEqual([
      { listServices: "*" },
      { fileContainingSymbol: "shop.Shop" },
    ]);
    expect([server.results.length, server.results[0]!.kind, server.isTimeKept]).toEqual([1, "schema", true]);
  });

  test("asks by the older version if the newer is not known, and not for ever", () => {
    const server = new PlayedServer();
    server.begin().onEnd(12, "");
    server.listener!.onEnd(12, "");
    expect(server.asked.map(([version]) => version)).toEqual([0, 1]);
    expect(server.results).toEqual([{ kind: "none", lasting: true, why: "the upstream has no reflection" }]);
  });

  test("gives up a stream of answers that does not end at its bound, or at its time, once", () => {
    const server = new PlayedServer();
    const listener = server.begin("shop.Shop");
    for (let i = 0; i < 40; i++) listener.onAnswer({ services: [], files: [shop], bytes: 1 << 20 });
    expect(server.results).toEqual([{ kind: "none", lasting: false, why: "more than 16777216 bytes of descriptors" }]);
    server.late();
    listener.onFailure(Fault.UpstreamUnavailable);
    expect([server.results.length, server.givenUp > 0]).toEqual([1, true]);
    const slow = new PlayedServer();
    slow.begin();
    slow.late();
    expect(slow.results).toEqual([{ kind: "none", lasting: true, why: "reflection takes too long" }]);
    expect(slow.givenUp).toBe(1);
  });

  test("a server that cannot be reached is a fault", () => {
    const server = new PlayedServer();
    server.begin().onFailure(Fault.UpstreamUnavailable);
    expect(server.results).toEqual([{ kind: "fault", fault: Fault.UpstreamUnavailable }]);
  });
});
