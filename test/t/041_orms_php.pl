# Laravel's Eloquent and Doctrine insert into attached tables, and empty, dump and drop all tables that they find, beside an installed hilo; PDO's lastInsertId() is the id.
use HiloTest;

clients_folder();
my $has_pdo = available('PDO', qw(php -r), 'new ReflectionExtension("pdo_pgsql");');

orm_ok('laravel', [qw(php laravel.php)], without => ['synchronize'])
  if $has_pdo && available('Laravel', qw(php -r), 'require "Illuminate/Database/autoload.php";');
orm_ok('doctrine', [qw(php doctrine.php)], without => ['synchronize'])
  if $has_pdo && available('Doctrine', qw(php -r), 'require "Doctrine/ORM/autoload.php";');

if ($has_pdo)
{
	is(orm_output('pdo', qw(php pdo.php)), <<'ANSWERS', 'PDO: what each question gives');
lastInsertId, no sequence used: 1
lastInsertId, another table used its sequence: 2
lastInsertId of the sequence: 2
RETURNING: 3
ANSWERS
}

done_testing();
