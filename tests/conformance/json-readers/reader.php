<?php
// Reads the files that its input names, and prints a line for each: its value with members in order, or "!".
function text($value): string {
  if (is_array($value)) return '[' . implode(',', array_map('text', $value)) . ']';
  if (is_object($value)) {
    $parts = [];
    foreach (get_object_vars($value) as $key => $member) $parts[] = units((string) $key) . ':' . text($member);
    sort($parts, SORT_STRING);
    return '{' . implode(',', $parts) . '}';
  }
  if (is_string($value)) return units($value);
  if (is_int($value) && abs($value) > 9007199254740991) return "integer $value";
  if (is_float($value) && $value == 0 && bin2hex(pack('E', $value)) !== '0000000000000000') return '-0';
  if (is_int($value) || is_float($value)) return bin2hex(pack('E', (float) $value));
  return var_export($value, true) === 'NULL' ? 'null' : var_export($value, true);
}

function units(string $value): string {
  return '"' . bin2hex(iconv('UTF-8', 'UTF-16BE', $value)) . '"';
}

foreach (explode("\n", stream_get_contents(STDIN)) as $file) {
  try {
    echo text(json_decode(file_get_contents($file), false, 512, JSON_THROW_ON_ERROR)), "\n";
  } catch (JsonException) {
    echo "!\n";
  }
}
