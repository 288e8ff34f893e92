<?php

declare(strict_types=1);

namespace Shop;

use PDO;
use PDOException;
use PDOStatement;

final class Database
{
    private const SERVER_GONE = 2006;

    private ?PDO $pdo = null;

    public function __construct(private readonly string $dsn)
    {
    }

    /** @return list<array<string, mixed>> */
    public function rows(string $sql, array $values = []): array
    {
        return $this->run($sql, $values)->fetchAll(PDO::FETCH_ASSOC);
    }

    public function execute(string $sql, array $values = []): int
    {
        return $this->run($sql, $values)->rowCount();
    }

    private function run(string $sql, array $values): PDOStatement
    {
        try {
            return $this->send($sql, $values);
        } catch (PDOException $e) {
            if (($e->errorInfo[1] ?? null) !== self::SERVER_GONE) {
                throw $e;
            }
            Log::warning('database connection lost, connecting again: ' . $e->getMessage());
            $this->pdo = null;
            return $this->send($sql, $values);
        }
    }

    private function send(string $sql, array $values): PDOStatement
    {
        $this->pdo ??= new PDO($this->dsn, options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        $statement = $this->pdo->prepare($sql);
        $statement->execute($values);
        return $statement;
    }
}
