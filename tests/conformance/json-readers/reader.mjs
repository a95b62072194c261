// Reads the files that its input names, and prints a line for each: its value with members in order, or "!". With the argument jq it has jq
// read them, and prints what that wrote.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

for (const file of readFileSync(0, "utf8").split("\n")) {
  let line = "!";
  try {
    line = process.argv[2] === "jq" ? byJq(file) : text(JSON.parse(readFileSync(file, "utf8")));
  } catch {}
  console.log(line);
}

function byJq(file) {
  const { status, stdout } = spawnSync("jq", ["-c", ".", file], { maxBuffer: 1 << 28 });
  const values = stdout.toString().trimEnd();
  if (status !== 0 || values === "") throw new Error("none");
  return values
    .split("\n")
    .map((one) => text(JSON.parse(one)))
    .join(" ");
}

function text(value) {
  if (Array.isArray(value)) return `[${value.map(text).join(",")}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.keys(value)
      .map((key) => `${units(key)}:${text(value[key])}`)
      .sort()
      .join(",")}}`;
  if (typeof value === "string") return units(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : bits(value);
  return String(value);
}

function bits(value) {
  return new DataView(Float64Array.of(value).buffer).getBigUint64(0, true).toString(16).padStart(16, "0");
}

function units(value) {
  let out = '"';
  for (let i = 0; i < value.length; i++) out += value.charCodeAt(i).toString(16).padStart(4, "0");
  return `${out}"`;
}
