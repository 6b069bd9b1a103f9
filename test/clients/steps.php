<?php
// What the programs in PHP share: commands come in, rows go out.  See test/t/HiloTest.pm.

function show(string $table, iterable $rows): void
{
    foreach ($rows as $row) {
        echo "$table|{$row['id']}|{$row['item']}\n";
    }
}

/** Do each command by the method of its name. */
function serve(object $client): void
{
    while (($line = fgets(STDIN)) !== false) {
        [$name, $words] = [strtok(rtrim($line, "\n"), ' '), explode(' ', rtrim($line, "\n"), 4)];
        array_shift($words);
        if ($name === 'add') {
            [$table, $count, $item] = $words;
            $items = $count == 1 ? [$item] : array_map(fn ($n) => "$item $n", range(1, $count));
            show($table, $client->add($table, $items));
        } elseif ($name === 'give') {
            show($words[0], [$client->give(...$words)]);
        } else {
            $client->$name(...$words);
        }
        echo "done\n";
    }
}

function environment(): array
{
    return [
        'host' => getenv('PGHOST'),
        'port' => getenv('PGPORT'),
        'user' => getenv('PGUSER'),
        'database' => getenv('PGDATABASE'),
    ];
}
