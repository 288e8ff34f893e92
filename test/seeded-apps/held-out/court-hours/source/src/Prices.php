<?php
declare(strict_types=1);

final class Prices
{
    private array $prices;

    public function __construct(string $file)
    {
        $this->prices = json_decode(file_get_contents($file), true);
    }

    public function at(string $court, int $hour): int
    {
        return $this->prices[$court][$hour] ?? null;
    }
}
