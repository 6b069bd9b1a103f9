# DBIx::Class, by classes that its Loader makes, inserts into attached tables, and empties, dumps and drops all tables that it finds, beside an installed hilo.
use HiloTest;

clients_folder();
orm_ok('dbix_class', [qw(/usr/bin/perl dbix_class.pl)], without => ['synchronize'], also => [ sequences => "orders: orders_id_seq\norders: auto increment" ])
  if available('DBIx::Class', qw(/usr/bin/perl -e), 'require DBD::Pg; require DBIx::Class::Schema::Loader;');

done_testing();
