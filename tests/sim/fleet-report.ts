// The table of docs/scale.md: bun tests/sim/fleet-report.ts
import { type FleetScene, simulateFleet } from "./fleet-simulation.ts";
import { anywhere, FOUR, sticky, THOUSAND, unequal } from "./scenes.ts";

const scenes: Record<string, FleetScene> = {
  "4 gateways, 1 key, equal load": { ...FOUR, next: anywhere(8, 1) },
  "4 gateways, 1 key, 90/4/3/3": { ...FOUR, next: unequal([90, 4, 3, 3], 2) },
  "4 gateways, 1 key, store 200 ms away": { ...FOUR, next: anywhere(8, 1), roundTripMs: 200 },
  "1,000 gateways, 1 key": {
    ...THOUSAND,
    limitPerS: 500_000,
    burst: 500_000,
    seconds: 4,
    warmUpS: 2,
    next: anywhere(1000, 1),
  },
  "1,000 gateways, 10 keys": {
    ...THOUSAND,
    limitPerS: 50_000,
    burst: 50_000,
    seconds: 10,
    warmUpS: 5,
    next: anywhere(1000, 10),
  },
  "1,000 gateways, 200,000 clients that stay": {
    ...THOUSAND,
    limitPerS: 100,
    burst: 1000,
    seconds: 8,
    warmUpS: 0,
    next: sticky(1000, 200_000),
  },
};

console.log("| | offered | admitted | refused | waited | alone | calls/s | busiest second |");
console.log("|---|---|---|---|---|---|---|---|");
for (const [name, scene] of Object.entries(scenes)) {
  const { offered, admitted, refused, waited, alone, callsPerS, busiestSecond } = simulateFleet(scene);
  const numbers = [offered, admitted, refused, waited, alone, Math.round(callsPerS), busiestSecond];
  console.log(`| ${[name, ...numbers.map((count) => count.toLocaleString("en"))].join(" | ")} |`);
}
