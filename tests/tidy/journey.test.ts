// A reader who follows a request through the code opens this many files, and not more.
import { afterAll, expect, test } from "bun:test";
import { TracedGateway } from "./journey.ts";

const MAX_FILES = 24;
const MAX_FILES_WITH_FIREWALL_AND_LOG = 35;

const gateway = new TracedGateway();
afterAll(() => gateway.remove());

test(`a proxied GET over HTTP/1.1 passes at most ${MAX_FILES} files`, async () => {
  const files = await gateway.filesOfGet("waf: {enabled: false}, access_log: {enabled: false}");
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(MAX_FILES);
  expect(files).toContain("src/features/forward/forward-handler.ts");
});

test(`with firewall and access log at most ${MAX_FILES_WITH_FIREWALL_AND_LOG}`, async () => {
  const files = await gateway.filesOfGet("waf: {enabled: true}, access_log: {enabled: true}");
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(MAX_FILES_WITH_FIREWALL_AND_LOG);
});
