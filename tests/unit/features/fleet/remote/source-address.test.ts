import { describe, expect, test } from "bun:test";
import {
  besideSource,
  readSourceAddress,
  sourceWithSuffix,
} from "../../../../../src/features/fleet/remote/source-address.ts";

describe("the URL of a configuration", () => {
  test.each([
    ["https://host/a/config.yaml", { kind: "http" }],
    ["http://localhost:8080/config.yaml", { kind: "http" }],
    ["http://127.1.2.3/config.yaml", { kind: "http" }],
    ["http://[::1]/config.yaml", { kind: "http" }],
    ["s3://bucket/a/config.yaml", { kind: "s3", bucket: "bucket", key: "a/config.yaml" }],
    ["redis://host:6380/config.yaml", { kind: "redis", server: "redis://host:6380/", key: "config.yaml" }],
    ["rediss://u:p@host/2/edge/config.yaml", { kind: "redis", server: "rediss://u:p@host/2", key: "edge/config.yaml" }],
    ["redis://host/12", { kind: "redis", server: "redis://host/", key: "12" }],
    ["redis://host/edge%3Aconfig", { kind: "redis", key: "edge:config" }],
  ])("%s", (text, address) => {
    expect(readSourceAddress(text)).toMatchObject(address as never);
  });

  test.each([
    "http://host/config.yaml",
    "http://127.0.0.1.example.com/config.yaml",
    "ftp://host/config.yaml",
    "https://host/#x",
    "s3://bucket",
    "s3://bucket/folder/",
    "redis://host:6379/",
    "redis://host:6379/0/",
    "redis://host/%zz",
  ])("%s is none", (text) => {
    expect(() => readSourceAddress(text)).toThrow(/^expected /);
  });

  test("is shown without what is secret in it", () => {
    expect(readSourceAddress("https://u:secret@host/c?token=secret").label).not.toContain("secret");
    expect(() => readSourceAddress("http://u:secret@host/c?token=secret")).toThrow(/^(?!.*secret)/);
  });

  test("others are beside it, with its query", () => {
    expect(besideSource("https://host/a/config.yaml?ref=1", "routes.yaml")).toBe("https://host/a/routes.yaml?ref=1");
    expect(besideSource("redis://host/0/edge/config", "routes.yaml")).toBe("redis://host/0/edge/routes.yaml");
    expect(sourceWithSuffix("s3://bucket/config.yaml", ".minisig")).toBe("s3://bucket/config.yaml.minisig");
    expect(sourceWithSuffix("https://host/c?x=1", ".minisig")).toBe("https://host/c.minisig?x=1");
  });
});
