<?php
// A long download: `?bytes=` of them, with a length where `?length=1` asks for it.
$bytes = (int) ($_GET['bytes'] ?? 1000000);
header('Content-Type: application/octet-stream');
if (isset($_GET['length'])) header("Content-Length: $bytes");
$block = str_repeat("0123456789abcdef", 512);
for ($left = $bytes; $left > 0; $left -= strlen($block)) echo $left < strlen($block) ? substr($block, 0, $left) : $block;
