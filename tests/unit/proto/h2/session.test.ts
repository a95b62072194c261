import { describe, expect, test } from "bun:test";
import { expectedLog, sessionBytes, sessionLog, sessionVectors } from "./session-log.ts";

describe("HTTP/2 session", () => {
  test.each(sessionVectors().map((vector) => [vector.name, vector] as const))("%s", (_name, vector) => {
    expect(sessionLog([sessionBytes(vector)])).toEqual(expectedLog(vector));
  });

  test("another preface ends the session", () => {
    expect(sessionLog([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r")])).toEqual(["fault 1"]);
  });

  test("another frame than SETTINGS at the beginning ends the session", () => {
    const ping = Buffer.from("0000080600000000000000000000000000", "hex");
    expect(sessionLog([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ping])).toEqual(["fault 1"]);
  });
});
