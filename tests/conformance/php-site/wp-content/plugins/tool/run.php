<?php require __DIR__ . "/../../../env.inc.php";
