import { describe, expect, test } from "bun:test";
import { readAb, readH2load, readWrk } from "./load-tools.ts";

const WRK = `Running 1s test @ http://127.0.0.1:8080/health
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   368.08us  123.98us   2.93ms   79.01%
  Latency Distribution
     50%  346.00us
     75%  412.00us
     90%  500.00us
     99%    1.72ms
  171749 requests in 2.00s, 29.96MB read
  Socket errors: connect 0, read 3, write 0, timeout 1
  Non-2xx or 3xx responses: 7
Requests/sec: 171000.00
`;

const AB = `Time taken for tests:   1.000 seconds
Complete requests:      31007
Failed requests:        2
   (Connect: 0, Receive: 0, Length: 2, Exceptions: 0)
Non-2xx responses:      5
Requests per second:    31006.88 [#/sec] (mean)
`;

const H2LOAD = `finished in 1.00s, 66730.00 req/s, 1.66MB/s
requests: 66730 total, 66986 started, 66730 done, 66720 succeeded, 10 failed, 0 errored, 0 timeout
status codes: 66720 2xx, 0 3xx, 8 4xx, 2 5xx
`;

describe("what the load tools say", () => {
  test("wrk", () => {
    expect(readWrk(WRK)).toEqual({
      requests: 171749,
      errors: 11,
      requestsPerSecond: 85874.5,
      p50Ms: 0.346,
      p99Ms: 1.72,
    });
  });

  test("wrk that saw nothing", () => {
    expect(readWrk("unable to connect")).toMatchObject({ requests: 0, errors: 0, requestsPerSecond: 0 });
  });

  test("ab", () => {
    const csv = "Percentage served,Time in ms\n0,0.531\n50,1.020\n99,1.240\n100,9.000\n";
    expect(readAb(AB, csv)).toEqual({
      requests: 31007,
      errors: 7,
      requestsPerSecond: 31006.88,
      p50Ms: 1.02,
      p99Ms: 1.24,
    });
  });

  test("h2load", () => {
    const log = [1000, 2000, 3000].map((us) => `1795174274134307\t200\t${us}\n`).join("");
    expect(readH2load(H2LOAD, log)).toMatchObject({ requests: 66720, requestsPerSecond: 66730, p50Ms: 2 });
    expect(readH2load(H2LOAD, log).errors).toBe(10);
  });
});
