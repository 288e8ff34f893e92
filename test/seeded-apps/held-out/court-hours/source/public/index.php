<?php
declare(strict_types=1);

require __DIR__ . '/../src/Hours.php';
require __DIR__ . '/../src/Prices.php';

$hours = new Hours(new Prices(__DIR__ . '/../prices.json'));
echo json_encode($hours->of($_GET['court'] ?? '1'));
