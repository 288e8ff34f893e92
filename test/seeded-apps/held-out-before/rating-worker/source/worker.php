<?php

declare(strict_types=1);

require __DIR__ . '/src/Log.php';
require __DIR__ . '/src/Database.php';
require __DIR__ . '/src/Ratings.php';
require __DIR__ . '/src/Worker.php';

use Shop\Database;
use Shop\Log;
use Shop\Ratings;
use Shop\Worker;

$database = new Database((string) getenv('DATABASE_DSN'));
$worker = new Worker($database, new Ratings());

Log::info('rating worker started, php ' . PHP_VERSION);

while (true) {
    if (!$worker->runNext()) {
        sleep(5);
    }
}
