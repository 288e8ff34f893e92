<?php
declare(strict_types=1);

final class Hours
{
    public function __construct(private Prices $prices)
    {
    }

    public function of(string $court): array
    {
        $all = [];
        for ($hour = 8; $hour < 22; $hour++) {
            $all[] = ['hour' => $hour, 'price' => $this->prices->at($court, $hour)];
        }
        return $all;
    }
}
