<?php
// A front controller: every path without a file of its own comes here.
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/missing-page') {
    http_response_code(404);
    echo "no such page";
    return;
}
if ($path === '/old-page') {
    header('Location: /new-page?from=old');
    return;
}
if ($path === '/moved') {
    header('Location: /new-page', true, 301);
    return;
}
if ($path === '/private' && ($_SERVER['PHP_AUTH_USER'] ?? '') !== 'alice') {
    header('WWW-Authenticate: Basic realm="php"', true, 401);
    return;
}
if ($path === '/cookies') {
    setcookie('a', '1', 0, '/');
    setcookie('b', '2', 0, '/', '', false, true);
    echo json_encode($_COOKIE);
    return;
}
require __DIR__ . '/env.inc.php';
