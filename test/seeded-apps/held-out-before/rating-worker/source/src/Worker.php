<?php

declare(strict_types=1);

namespace Shop;

use Throwable;

final class Worker
{
    private const MAX_ATTEMPTS = 3;

    public function __construct(private readonly Database $database, private readonly Ratings $ratings)
    {
    }

    /** Works off one job; false if none is due. */
    public function runNext(): bool
    {
        $jobs = $this->database->rows('SELECT id, product_id, attempts FROM rating_jobs WHERE due_at <= NOW() AND buried = 0 ORDER BY due_at LIMIT 1');
        if ($jobs === []) {
            return false;
        }
        $job = $jobs[0];
        $id = (int) $job['id'];
        $attempt = (int) $job['attempts'] + 1;
        if ($this->database->execute('UPDATE rating_jobs SET attempts = ?, due_at = NOW() + INTERVAL 5 MINUTE WHERE id = ? AND attempts = ?', [$attempt, $id, $attempt - 1]) === 0) {
            Log::info("job $id was taken by another worker");
            return true;
        }
        try {
            $this->rate($id, (int) $job['product_id']);
            $this->database->execute('DELETE FROM rating_jobs WHERE id = ?', [$id]);
        } catch (Throwable $e) {
            Log::error("job $id failed, attempt $attempt of " . self::MAX_ATTEMPTS . ": $e");
            if ($attempt >= self::MAX_ATTEMPTS) {
                $this->database->execute('UPDATE rating_jobs SET buried = 1 WHERE id = ?', [$id]);
                Log::error("job $id buried after $attempt attempts");
            }
        }
        return true;
    }

    private function rate(int $id, int $product): void
    {
        $reviews = $this->database->rows('SELECT stars, verified, helpful FROM reviews WHERE product_id = ? AND hidden = 0', [$product]);
        $stars = $this->ratings->stars($reviews);
        $changed = $this->database->execute('UPDATE products SET stars = ? WHERE id = ?', [$stars, $product]);
        if ($changed === 0) {
            Log::warning("job $id: product $product is gone or its stars are the same, nothing to write");
            return;
        }
        Log::info("job $id: product $product has " . ($stars ?? 'no') . ' stars from ' . count($reviews) . ' reviews');
    }
}
