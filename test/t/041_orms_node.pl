# Sequelize, TypeORM, Kysely, MikroORM, Drizzle and Prisma insert into attached tables, and empty, dump and drop all tables that they find, beside an installed hilo.
use HiloTest;

my $folder = clients_folder();
if (install_packages())
{
	orm_ok('sequelize', [qw(node sequelize.js)]);
	orm_ok('typeorm', [qw(node typeorm.js)], without => ['dump']);
	orm_ok('kysely', [qw(node kysely.js)], without => ['synchronize']);
	orm_ok('mikroorm', [qw(node mikroorm.js)]);
	orm_ok('drizzle', [qw(node drizzle.js)], without => ['truncate']);
	SKIP:
	{
		skip 'prisma: its engine ends in a panic when it compares a schema on version 18 or later', 1 if orm_server()->pg_version->major >= 18;
		orm_ok('prisma', [qw(node prisma.js)], without => ['truncate']);
	}
}

done_testing();
