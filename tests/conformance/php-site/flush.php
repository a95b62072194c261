<?php
// A stream: a line, a pause until a file is there, another line.
header('Content-Type: text/plain');
header('X-Accel-Buffering: no');
while (ob_get_level() > 0) ob_end_flush();
echo "first\n";
flush();
$until = microtime(true) + 20;
while (!file_exists($_GET['go']) && microtime(true) < $until) {
    clearstatcache();
    usleep(5000);
}
echo "second\n";
