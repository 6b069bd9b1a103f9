# Django and SQLAlchemy (with reflection, and Alembic) insert into attached tables, and empty, dump and drop all tables that they find, beside an installed hilo.
use HiloTest;

clients_folder();
my @python = qw(/usr/bin/python3 -B);

orm_ok('django', [ @python, 'django_client.py' ], without => ['synchronize'])
  if available('Django', @python, '-c', 'import django, psycopg2');

if (available('SQLAlchemy', @python, '-c', 'import sqlalchemy, psycopg2'))
{
	my $alembic = available('Alembic', @python, '-c', 'import alembic');

	orm_ok('sqlalchemy', [ @python, 'sqlalchemy_client.py' ], also => [ reflect => q{parcels: hilo_next_number('parcels'::text)}, $alembic ? (alembic => '') : () ]);
}

done_testing();
