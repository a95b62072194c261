import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { FIREFOX, Firefox } from "../harness/firefox.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const { cert, key } = await makeCertificate([{ type: "dns", value: "localhost" }]);
const [blockPort, filePort] = [freePort(), freePort()];
const CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const files = { "a.pem": cert, "a.key": key };
const routes = [{ type: "respond", prefix: "/", body: "{tls.ja4}", content_type: "text/plain" }];
const site = (port: number, bots: object) => ({
  config: {
    server: {
      trusted_proxies: ["127.0.0.9"],
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      bots: { challenge: "off", ...bots },
    },
  },
  routes,
});
const gateway = await startGateway({ ...site(blockPort, { impostors: "block" }), files });
afterAll(() => stopAll(gateway));

async function curl(port: number, agent: string, ...more: string[]): Promise<string> {
  const command = ["curl", "-sk", "-A", agent, "-w", " %{http_code}", ...more, `https://localhost:${port}/`];
  return (await runProcess(command, { timeout: 30_000 })).stdout;
}

describe("an impostor", () => {
  test("names a browser and has another handshake; a client that names none, or speaks clear text or through a trusted proxy, is none", async () => {
    expect(await curl(blockPort, CHROME)).toEndWith(" 403");
    const line = await gateway.log("bot_impostor", (each) => each.event === "bot_impostor");
    expect(line).toMatchObject({ action: "block", user_agent: CHROME });
    expect(await curl(blockPort, "curl/8")).toEndWith(" 200");
    expect(await curl(blockPort, CHROME.replace("140", "60"))).toEndWith(" 200");
    expect(await curl(blockPort, CHROME, "--interface", "127.0.0.9")).toEndWith(" 200");
    const plain = await gateway.once(`GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: ${CHROME}\r\nConnection: close\r\n\r\n`);
    expect(plain.status).toBe(200);
  });

  test("is decided by handshakes_file, if there is one", async () => {
    const [ja4 = ""] = (await curl(blockPort, "curl/8")).split(" ");
    const own = await startGateway({
      ...site(filePort, { impostors: "block", handshakes_file: "./known.txt" }),
      files: { ...files, "known.txt": `# known\nchrome ${ja4}\n` },
    });
    try {
      expect(await curl(filePort, CHROME)).toEndWith(" 200");
      expect(await curl(filePort, CHROME, "--tls-max", "1.2")).toEndWith(" 403");
      await own.stop();
    } finally {
      own.kill();
    }
  });
});

const chromium = Bun.which("chromium");

describe("Chromium", () => {
  test.skipIf(chromium === null)(
    "is no impostor over HTTP/2, HTTP/1.1 and incognito",
    async () => {
      const browse = async (...more: string[]) => {
        const flags = [
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--ignore-certificate-errors",
          `--user-agent=${CHROME}`,
          ...more,
        ];
        const run = await runProcess([chromium!, ...flags, "--dump-dom", `https://localhost:${blockPort}/`], {
          timeout: 60_000,
        });
        return run.stdout;
      };
      for (const more of [[], ["--disable-http2", "--incognito"]])
        expect(await browse(...more)).toContain("_8daaf6152771_");
    },
    120_000,
  );
});

describe("Firefox", () => {
  longTest(
    "is no impostor",
    async () => {
      if (FIREFOX === null) return console.log("Firefox is not installed");
      const firefox = await Firefox.start();
      try {
        expect(await firefox.browse(`https://localhost:${blockPort}/`)).toMatch(
          /^t13d1[67]\d\dh2_(86a278354501|5b57614c22b0)_/,
        );
      } finally {
        firefox.stop();
      }
    },
    120_000,
  );
});
