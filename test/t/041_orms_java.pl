# JDBC (getGeneratedKeys) and Hibernate insert into attached tables beside an installed hilo; Hibernate's own counters, by table and by sequence, go on beside the collections that take over from them, as doc/from-hi-lo.md says.
use HiloTest;

# The statements that the page gives for a table of Hibernate.
my ($switch) = grep { /CREATE FUNCTION hibernate_block/ } slurp_file('doc/from-hi-lo.md') =~ /^```sql\n(.*?)^```$/gms;

clients_folder();
my $jars = '/usr/share/java';
my $hibernate = join ':', 'classes', map { "$jars/$_.jar" } qw(postgresql hibernate-core hibernate-commons-annotations geronimo-jpa_2.0_spec
  geronimo-jta-1.2-spec slf4j-api slf4j-nop commons-collections3 dom4j antlr javassist);
my $has_java = available('a Java compiler', qw(javac -version)) && available('the driver for JDBC', 'test', '-e', "$jars/postgresql.jar");
my $has_hibernate = $has_java && available('Hibernate', 'sh', '-c', join(' && ', map { "test -e $_" } (split /:/, $hibernate)[ 1 .. 10 ]));

if ($has_java)
{
	system_or_bail('javac', '-nowarn', '-d', 'classes', '-cp', $has_hibernate ? $hibernate : "$jars/postgresql.jar",
		$has_hibernate ? glob('java/*.java') : qw(java/Steps.java java/Jdbc.java));
	orm_ok('jdbc', [ qw(java -cp), "classes:$jars/postgresql.jar", 'Jdbc' ], without => [qw(synchronize dump)]);
}
if ($has_hibernate)
{
	# It is older than the modules of Java.
	my @java = (qw(java --add-opens java.base/java.lang=ALL-UNNAMED -cp), $hibernate);

	orm_ok('hibernate', [ @java, 'HibernateClient' ], without => [qw(truncate dump)]);
	hibernate_blocks(@java, 'HibernateBlocks');
}

# Two clients hold blocks when the table is switched over, go on with them, and take more, while hilo draws.
sub hibernate_blocks
{
	my (@command) = @_;
	my (%drawn, %twice);

	orm_database('blocks');
	my $client = orm_client('blocks', 'blocks', @command);
	my $sql = sub { orm_server()->safe_psql('blocks', $_[0]) };
	my $note = sub { $twice{ $_[0] }++ if $drawn{ $_[0] }++ };
	my $take = sub {
		my ($factory, $entity, $count) = @_;
		my @ids = @{ $client->does("take $factory $entity $count") // [] };

		$note->($_) foreach @ids;
		is(scalar(grep { /^\Q$entity\E\|\d+$/ } @ids), $count, "Hibernate, $factory: takes $count of $entity");
	};
	my $draw = sub {
		my ($entity, $count) = @_;
		$note->("$entity|$_") foreach split /\n/, $sql->("SELECT hilo_next_number('$entity') FROM generate_series(1, $count)");
	};
	my @entities = qw(pooled pooled_lo single);

	$client->does('create');
	# A client that has drawn one block, and one that has begun another.
	foreach my $entity (@entities)
	{
		$take->('a', $entity, 70);
		$take->('b', $entity, 3);
	}
	$sql->($switch);
	foreach my $round (1 .. 3)
	{
		foreach my $entity (@entities)
		{
			$take->('a', $entity, 70);
			$draw->($entity, 33);
			$take->('b', $entity, 33);
			$draw->($entity, 100);
			$take->("new $round" =~ s/ /_/r, $entity, 55);
		}
	}
	is(join(' ', sort keys %twice), '', 'Hibernate and hilo: no id of a table generator twice');

	# A name that has no row yet would start at 1, and take all up to its next s.
	like(join("\n", @{ $client->does('take a late 1') // [] }), qr/hibernate_sequences has no row for late/,
		'Hibernate: a new row is refused');

	# Its sequence: seeded above all blocks that clients may hold, the collection begins there.
	$take->('a', 'people', 70);
	$take->('b', 'people', 3);
	$sql->('SELECT hilo.seed($$people$$, last_value + 50) FROM people_seq');
	$draw->('people', 100);
	$take->('a', 'people', 30);
	$take->('b', 'people', 47);
	$draw->('people', 100);
	is(join(' ', sort keys %twice), '', 'Hibernate and hilo: no id of a sequence twice, in blocks taken before');

	# Version 3.6 counts on with the optimizer hilo: its clients collide with each other, and nothing of ours is in use.
	$sql->('DROP TRIGGER hibernate_new_row ON hibernate_sequences; DROP TRIGGER hibernate_block ON hibernate_sequences');
	$take->('a', 'hilo', 10);
	$take->('b', 'hilo', 10);
	$take->('a', 'hilo', 10);
	isnt(join(' ', sort keys %twice), '', 'Hibernate 3.6 with the optimizer hilo: two clients collide by themselves');
	$client->ends;
	return;
}

done_testing();
