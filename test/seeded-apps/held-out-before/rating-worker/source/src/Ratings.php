<?php

declare(strict_types=1);

namespace Shop;

final class Ratings
{
    private const MAX_HELPFUL = 50;

    /**
     * The stars that a product page shows, rounded to a half. Reviews without a purchase have no weight.
     *
     * @param list<array<string, mixed>> $reviews
     */
    public function stars(array $reviews): ?float
    {
        if ($reviews === []) {
            return null;
        }
        return round($this->weightedAverage($reviews) * 2) / 2;
    }

    /** @param list<array<string, mixed>> $reviews */
    private function weightedAverage(array $reviews): float
    {
        $sum = 0.0;
        $weights = 0.0;
        foreach ($reviews as $review) {
            $weight = $this->weight($review);
            $sum += $weight * (int) $review['stars'];
            $weights += $weight;
        }
        return $sum / $weights;
    }

    /** @param array<string, mixed> $review */
    private function weight(array $review): float
    {
        if (!$review['verified']) {
            return 0.0;
        }
        return 1.0 + min((int) $review['helpful'], self::MAX_HELPFUL) / self::MAX_HELPFUL;
    }
}
