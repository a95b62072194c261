<?php
// Forms and uploads: what came, and its digest.
$files = [];
foreach ($_FILES as $name => $file) {
    $files[$name] = ['name' => $file['name'], 'size' => $file['size'], 'error' => $file['error'],
        'sha1' => $file['error'] === 0 ? sha1_file($file['tmp_name']) : ''];
}
header('Content-Type: application/json');
$body = file_get_contents('php://input');
echo json_encode(['post' => $_POST, 'files' => $files, 'bytes' => strlen($body), 'sha1' => sha1($body),
    'length' => $_SERVER['CONTENT_LENGTH'] ?? null]);
