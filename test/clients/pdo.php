<?php
// PDO: what lastInsertId() gives after an insert into an attached table, which keeps its
// sequence.  Each line: what was asked, and what came.

require 'steps.php';

['host' => $host, 'port' => $port, 'user' => $user, 'database' => $database] = environment();
$pdo = new PDO("pgsql:host=$host;port=$port;dbname=$database", $user, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);

$pdo->exec('CREATE TABLE orders (id serial PRIMARY KEY, item text)');
$pdo->exec('CREATE TABLE audit (id serial PRIMARY KEY, item text)');
$pdo->exec("SELECT setval('audit_id_seq', 4711)");
$pdo->exec("SELECT hilo.attach('orders')");

function ask(string $what, callable $code): void
{
    try {
        $answer = $code();
    } catch (PDOException $exception) {
        $answer = $exception->getCode();
    }
    echo "$what: $answer\n";
}

$insert = fn () => $pdo->exec("INSERT INTO orders (item) VALUES ('tea')");

$pdo->exec('DISCARD SEQUENCES');
$insert();
ask('lastInsertId, no sequence used', fn () => $pdo->lastInsertId());
$pdo->exec("INSERT INTO audit (item) VALUES ('note')");
$insert();
ask('lastInsertId, another table used its sequence', fn () => $pdo->lastInsertId());
ask('lastInsertId of the sequence', fn () => $pdo->lastInsertId('orders_id_seq'));
ask('RETURNING', fn () => $pdo->query("INSERT INTO orders (item) VALUES ('milk') RETURNING id")->fetchColumn());
