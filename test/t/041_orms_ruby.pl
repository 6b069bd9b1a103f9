# ActiveRecord of Rails (fixtures, schema.rb, structure.sql) and Sequel insert into attached tables, and empty, dump and drop all tables that they find, beside an installed hilo.
use HiloTest;

clients_folder();

if (available('ActiveRecord', qw(ruby -e), q{require 'pg'; require 'active_record'}))
{
	# schema.rb holds no sequences: there the setting serves the numbers.
	orm_ok('rails_sql', [qw(ruby activerecord.rb sql)], without => ['synchronize'], also => [ fixtures => 'parcels: nil' ]);
	orm_ok('rails_ruby', [qw(ruby activerecord.rb ruby)], without => ['synchronize'], also => [ fixtures => 'parcels: nil' ], setting => 1);
}
orm_ok('sequel', [qw(ruby sequel.rb)], without => ['synchronize'], also => [ sequences => 'parcels: nil' ], setting => 1)
  if available('Sequel', qw(ruby -e), q{require 'pg'; require 'sequel'});

done_testing();
