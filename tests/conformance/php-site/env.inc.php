<?php
// What a script sees of a request, in an order of its own.
$names = ['REQUEST_METHOD', 'REQUEST_URI', 'QUERY_STRING', 'SCRIPT_NAME', 'SCRIPT_FILENAME', 'DOCUMENT_ROOT', 'DOCUMENT_URI', 'PATH_INFO',
    'PATH_TRANSLATED', 'PHP_SELF', 'SERVER_PROTOCOL', 'SERVER_NAME', 'SERVER_ADDR', 'REMOTE_ADDR', 'REQUEST_SCHEME', 'HTTPS', 'CONTENT_TYPE',
    'CONTENT_LENGTH', 'GATEWAY_INTERFACE', 'REDIRECT_STATUS', 'HTTP_HOST', 'HTTP_ACCEPT', 'HTTP_ACCEPT_LANGUAGE', 'HTTP_COOKIE', 'HTTP_X_CUSTOM',
    'HTTP_PROXY', 'HTTP_X_UNDER_SCORE', 'HTTP_CONTENT_LENGTH', 'HTTP_AUTHORIZATION', 'APP_ENV', 'REMOTE_USER', 'PHP_VALUE'];
$seen = [];
foreach ($names as $name) {
    if (isset($_SERVER[$name])) $seen[$name] = $_SERVER[$name];
}
header('Content-Type: application/json');
echo json_encode(['script' => basename($_SERVER['SCRIPT_FILENAME']), 'server' => $seen, 'get' => $_GET, 'post' => $_POST], JSON_UNESCAPED_SLASHES);
