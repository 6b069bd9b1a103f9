# The pages say what is true: whoever pastes the blocks of a page, in order, gets what the page shows, and at its end has what
# he had before, also in a database that is not empty: what a page makes there is called hilo_tour or hilo_tour_something.  And
# they are short: few pages, few words.
#
# Each page has a new server, and on it the empty database "shop"; so the order of the pages does not matter.  Nothing is
# preloaded.  The visible text of a page runs, and nothing else:
#
#   ```sql   is pasted into one psql that stays open.  What a statement gives is compared with the comment behind it (rows and
#            columns separated by ", "), or, where a ```text block follows, with that: notices, errors and tables as psql shows
#            them.  A statement that shows neither gives neither rows nor notices, warnings or errors.
#   ```sh    is pasted into a shell beside that psql, with the programs of the server in PATH, PGDATA set, and one folder for
#            the page.  It ends with exit code 0, and gives the ```text that follows, if one does.
#   a table  that has the headings "run" and "gives": what the second cell has between backquotes runs, one statement each, and
#            the last one gives what stands between those of the third.
#
# The first line of a block says, in a comment, where else it is run:
#
#   in a second psql       another psql, which stays open, too
#   in database NAME       a psql of its own on the database of that name, which the page has created
#   as root, in the source folder, with NAME (a program with a capital: Citus, Docker)
#                          not here: the test has none of these; it lists the blocks
#
# "sudo systemctl restart postgresql" restarts the test's server, as it does the reader's.
#
# Comments of HTML could hide something, so there are none.  Command tags ("INSERT 0 1"), blank lines, and spaces at ends of
# lines do not count.  A ```text that follows none of these is a drawing, and blocks of other kinds are files.
#
# HILO_DOCS_PAUSE is for how many seconds the reader pauses before each block: ranges grow and shrink with time.
use HiloTest;
use File::Basename;
use PostgreSQL::Test::RecursiveCopy;

my $TIMEOUT = $PostgreSQL::Test::Utils::timeout_default;
my $PAUSE = $ENV{HILO_DOCS_PAUSE} // 0;
my $FILES = qr/^(conf|yaml|json|csharp|xml|java|javascript|perl|php|prisma|python|ruby|dockerfile)$/;

my $node = PostgreSQL::Test::Cluster->new('docs');
# Pages count characters, whatever the locale that this is run in.
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8' ]);
# A reader's server has the defaults of hilo, which the configuration of the tests replaces.
$node->append_conf('postgresql.conf', "max_prepared_transactions = 10\nlisten_addresses = 'localhost'\n" .
	  "hilo.debug_range_size = 1\nhilo.max_range_size = 1048576");
my $bindir = $node->config_data('--bindir');
my $unused = PostgreSQL::Test::Utils::tempdir . '/unused';
PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir, $unused);

# The programs of a reader's system that the test's has not.
my $programs = PostgreSQL::Test::Utils::tempdir;
append_to_file("$programs/sudo", qq{#!/bin/sh\nexec "\$@"\n});
append_to_file("$programs/systemctl", qq{#!/bin/sh\n[ "\$*" = "restart postgresql" ] || exit 1\n} .
	  sprintf(qq{exec "%s/pg_ctl" restart -s -w -D "%s" -l "%s"\n}, $bindir, $node->data_dir, $node->logfile));
chmod 0755, "$programs/sudo", "$programs/systemctl";

# What a comparison looks at.
sub essence
{
	my ($text) = @_;
	return join("\n", grep { /\S/ } map { s/\s+$//r } split(/\n/, $text));
}

#
# A page and its blocks
#

# A row of a table that runs: its statements, the last with what it gives.
sub row_statements
{
	my ($row) = @_;
	my @cells = map { s/\\\|/|/gr } split /(?<!\\)\|/, $row;
	my @statements = map { { sql => "$_;", shown => undef } } ($cells[2] // '') =~ /`([^`]+)`/g;
	my ($gives) = ($cells[3] // '') =~ /^ `([^`]+)` $/;

	return unless @statements && defined $gives && @cells == 4;
	# Only what the last one gives has a place.
	$_->{unseen} = 1 foreach @statements[ 0 .. $#statements - 1 ];
	$statements[-1]{shown} = $gives;
	return @statements;
}

# The statements of a block, with the comment behind each.
sub statements_of
{
	my ($sql) = @_;
	my (@statements, $quote);
	my $text = '';

	foreach my $line (split /\n/, $sql)
	{
		next if $text eq '' && $line =~ /^\s*(--|$)/;
		if ($text eq '' && $line =~ /^\\/)
		{
			push @statements, { sql => "$line\n" };
			next;
		}
		$text .= "$line\n";
		foreach my $tag ($line =~ /\$\w*\$/g)
		{
			if (!defined $quote) { $quote = $tag; }
			elsif ($quote eq $tag) { undef $quote; }
		}
		if (!defined $quote && $line =~ /(?:;|\\g\w+)\s*(?:--\s*(.*?)\s*)?$/)
		{
			push @statements, { sql => $text, shown => $1 };
			$text = '';
		}
	}
	push @statements, { sql => $text } if $text ne '';
	return @statements;
}

# Where a block is run: a database, and behind a slash which psql; undef: not here.
sub place_of
{
	my ($content) = @_;
	my ($place) = $content =~ /\A\s*(?:--|#) *(.*)/;

	return 'shop' if !defined $place;
	return undef if $place =~ /^(as root|in the source folder|with [A-Z]\w+)\b/;
	return "shop/$1" if $place =~ /^in (?:a|the) (second|third) psql\b/;
	return $1 if $place =~ /^in database (\w+)/;
	return 'shop';
}

# The blocks of a page: kind, line, content, place; "text" is attached to the block above it.
sub blocks_of
{
	my ($page) = @_;
	my (@blocks, $open, $may_have_text, $table);
	my $number = 0;

	foreach my $line (split /\n/, slurp_file($page))
	{
		$number++;
		if ($open)
		{
			if ($line !~ /^\s*(?:```|~~~)\s*$/)
			{
				$open->{content} .= "$line\n";
				next;
			}
			if ($open->{kind} eq 'text' && $may_have_text)
			{
				$blocks[-1]{text} = $open->{content};
				$may_have_text = 0;
			}
			else
			{
				$open->{place} = place_of($open->{content});
				push @blocks, $open;
				$may_have_text = $open->{kind} =~ /^(sql|sh)$/;
			}
			undef $open;
		}
		elsif ($line =~ /^\s*(?:```|~~~)\s*(.*?)\s*$/)
		{
			$open = { kind => $1, line => $number, content => '' };
		}
		elsif ($line =~ /^\|/)
		{
			if (!$table)
			{
				$table = { kind => 'table', line => $number, place => 'shop', rows => [] };
				push @blocks, $table if $line =~ /^\|[^|]*\| run \| gives \|$/;
			}
			push @{ $table->{rows} }, $line;
		}
		fail("$page, line $number: a comment that readers do not see") if !$open && $line =~ /<!--/;
		undef $table if $line !~ /^\|/;
		$may_have_text = 0 if !$open && $line =~ /\S/ && $line !~ /^\s*(```|~~~|<\/?(details|summary)\b)/;
	}
	is($open, undef, "$page: all blocks end") or diag("block of line $open->{line}");
	return @blocks;
}

#
# A reader at work
#

my %session;

# Wait until connections that were closed have ended, as a reader does without knowing: what they have left goes to the pool.
sub wait_for_exits
{
	my $open = keys %session;

	$node->poll_query_until('postgres', "SELECT count(*) <= $open FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") or die 'connections do not end';
	return;
}

# The psql that is open at a place.
sub reader
{
	my ($place) = @_;

	if (!$session{$place})
	{
		$session{$place} = session($node, dbname => $place =~ s,/.*,,r);
		$session{$place}->query("\\set VERBOSITY default\n\\pset fieldsep ', '\n\\pset recordsep ', '");
	}
	return $session{$place};
}

# Paste SQL, and return what psql writes: results, errors.
sub paste
{
	my ($session, $sql) = @_;
	my ($out, $err) = eval { $session->query($sql) };

	return $@ ? ('', $@) : ("$out\n", $err);
}

sub close_sessions
{
	$_->hang_up foreach values %session;
	%session = ();
	return;
}

# What a page has created and not dropped again: databases, roles, settings; extensions, schemas and relations in shop.
sub left_over
{
	return $node->safe_psql('postgres', q{SELECT datname FROM pg_database UNION ALL SELECT rolname FROM pg_roles
			UNION ALL SELECT setdatabase || ' ' || setconfig::text FROM pg_db_role_setting ORDER BY 1}) .
	  "\n" . $node->safe_psql('shop', q{SELECT extname FROM pg_extension UNION ALL SELECT nspname FROM pg_namespace
			UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
			UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1});
}

# What a block makes or drops in shop under names that a reader's own database may have, too.
sub foreign_names
{
	my ($block) = @_;
	my @names = map { split /[,\s]+/ } $block->{content} =~
	  /^\s*(?:CREATE|DROP) +(?:TABLE|SEQUENCE|VIEW|FUNCTION|PROCEDURE|SCHEMA|ROLE) +([\w., ]+?) *(?=[;(]|AS|LOGIN|$)/gm;

	return grep { !/^hilo_tour/ } @names;
}

my $differences = 0;

sub run_sql
{
	my ($page, $block) = @_;
	my $session = reader($block->{place});
	my $all = '';
	my @wrong;

	paste($session, defined $block->{text} ? "\\pset format aligned\n\\pset tuples_only off" :
		"\\pset format unaligned\n\\pset tuples_only on");
	foreach my $statement (@{ $block->{statements} })
	{
		my ($out, $err) = paste($session, $statement->{sql});
		my $gives = $out =~ s/\s+$//r =~ s/\n/, /gr;

		wait_for_exits() if $statement->{sql} =~ /^\\c/;
		$all .= $err . $out;
		next if defined $block->{text} || ($err eq '' && ($statement->{unseen} || $gives eq ($statement->{shown} // '')));
		push @wrong, "$statement->{sql}gives $gives\n$err" .
		  (defined $statement->{shown} ? "not $statement->{shown}" : 'and shows nothing');
	}
	if (defined $block->{text})
	{
		is(essence($all), essence($block->{text}), "$page, line $block->{line}") or $differences++;
		return;
	}
	is(join("\n", @wrong), '', "$page, line $block->{line}");
	$differences += @wrong;
	return;
}

sub run_shell
{
	my ($page, $block, $folder) = @_;
	my ($out, $err) = ('', '');

	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATA => $node->data_dir,
		PGDATABASE => $block->{place}, PATH => "$programs:$bindir:$ENV{PATH}");
	# The server that a block may start does not keep our end of the pipe open.
	my $good = IPC::Run::run([ 'sh', '-euc', "cd $folder\n$block->{content}" ],
		'<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT));
	ok($good, "$page, line $block->{line}: the commands succeed") or diag($err);
	is(essence($out . $err), essence($block->{text} // ''), "$page, line $block->{line}") && $good or $differences++;
	return;
}

sub check_page
{
	my ($page) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir;
	my (@elsewhere, @foreign, %count);
	my $is_apart = slurp_file($page) =~ /^CREATE DATABASE hilo_tour;$/m || $page !~ m{^(doc/|README)};

	PostgreSQL::Test::RecursiveCopy::copypath($unused, $node->data_dir);
	chmod 0700, $node->data_dir;
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE shop');
	my $before = left_over();
	foreach my $block (blocks_of($page))
	{
		my $where = "$page, line $block->{line}";

		if ($block->{kind} !~ /^(sql|sh|table)$/)
		{
			like($block->{kind}, qr/^text$|$FILES/, "$where: a block of a known kind");
			next;
		}
		push @foreign, foreign_names($block) if $block->{place} && $block->{place} =~ m{^shop\b} && $block->{kind} eq 'sql';
		if (!defined $block->{place})
		{
			push @elsewhere, $block->{line};
			next;
		}
		sleep $PAUSE if $PAUSE;
		$count{ $block->{kind} }++;
		if ($block->{kind} eq 'sh')
		{
			run_shell($page, $block, $folder);
			wait_for_exits();
			next;
		}
		if ($block->{kind} eq 'table')
		{
			# The first two rows are the heading.
			my @rows = map { [ row_statements($_) ] } @{ $block->{rows} }[ 2 .. $#{ $block->{rows} } ];

			is(scalar(grep { !@$_ } @rows), 0, "$where: all rows can be run");
			$block->{statements} = [ map { @$_ } @rows ];
		}
		else
		{
			$block->{statements} = [ statements_of($block->{content}) ];
		}
		run_sql($page, $block);
	}
	close_sessions();
	is(left_over(), $before, "$page: cleans up after itself") if %count;
	is("@foreign", '', "$page: makes and drops nothing that a reader may have") if !$is_apart;
	# A page may have restarted it.
	$node->{_pid} = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	$node->stop;
	File::Path::rmtree($node->data_dir);
	note("$page: ran " . join(', ', map { "$count{$_} $_" } sort keys %count) .
		  (@elsewhere ? "; to be run elsewhere: lines @elsewhere" : ''));
	return;
}

# Pages, and what of them stands beside the tests.
my @pages = ('README.md', sort(glob('doc/*.md')), 'test/clients/ravendb/STATEMENTS.md');
File::Path::rmtree($node->data_dir);
# For a look at some of them.
check_page($_) foreach $ENV{HILO_DOCS_PAGES} ? split(' ', $ENV{HILO_DOCS_PAGES}) : @pages;
is($differences, 0, 'differences over all pages');

#
# Lengths
#

my $words = 0;
# Bars of tables and the like are none.
$words += () = slurp_file($_) =~ /\S*\w\S*/g foreach 'README.md', glob('doc/*.md');
cmp_ok(scalar(() = slurp_file('README.md') =~ /\n/g), '<=', 80, 'lines of README.md');
cmp_ok(scalar(() = glob('doc/*.md')), '<=', 8, 'pages in doc');
cmp_ok($words, '<=', 12_000, 'words of README.md and the pages');

#
# Claims
#

my $promises = slurp_file('test/PROMISES.md');
my @bold = map { s/\n/ /gr } slurp_file('README.md') =~ /\*\*(.*?)\*\*/gs;
cmp_ok(scalar(@bold), '>', 5, 'README.md claims something');
is(join("\n", grep { $promises !~ /^\|[^|]*\Q$_\E[^|]*\| \S/m } @bold), '', 'test/PROMISES.md names the tests of each claim');

#
# Links
#

sub anchors_of
{
	my ($page) = @_;
	my $text = slurp_file($page) =~ s/^```.*?^```$//gmsr;

	# As GitHub makes them.
	return map { lc($_) =~ s/[^\w\- ]//gr =~ s/ /-/gr } $text =~ /^#+ +(.*?)\s*$/gm;
}

foreach my $page (@pages, 'src/README.md', glob('test/*.md'), glob('test/*/*.md'), 'CONTRIBUTING.md', 'SECURITY.md')
{
	my $text = slurp_file($page) =~ s/^```.*?^```$//gmsr;
	my @broken;

	foreach my $link ($text =~ /\]\(([^)\s]+)\)/g)
	{
		next if $link =~ /^\w+:/;
		# GitHub's picture of a workflow, by an address that is right in each clone.
		$link = ".github/workflows/$1" if $page eq 'README.md' && $link =~ m{^\.\./\.\./actions/workflows/([^/]+)(?:/badge\.svg)?$};
		my ($file, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
		my $path = $file eq '' ? $page : dirname($page) . "/$file";
		push @broken, $link unless -e $path && (!defined $anchor || grep { $_ eq $anchor } anchors_of($path));
	}
	is("@broken", '', "$page: links lead somewhere");
}

#
# The reference is complete
#

my $reference = slurp_file('doc/reference.md');
PostgreSQL::Test::RecursiveCopy::copypath($unused, $node->data_dir);
chmod 0700, $node->data_dir;
# A session knows the settings when it has loaded the library.
$node->append_conf('postgresql.conf', "session_preload_libraries = 'hilo, hilo_hub'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo_hub CASCADE');

sub missing
{
	my ($text, @names) = @_;
	return join(' ', grep { $text !~ /(?<![\w.])\Q$_\E(?!\w)/ } @names);
}

# Each function, table, view, type and setting that there is stands in it, and nothing else that is called hilo.something.
# What others do not call begins with an underscore.
my %members = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q{
	WITH member AS (
		SELECT classid, objid FROM pg_depend
		WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo'))
	SELECT CASE WHEN pronamespace = 'hilo'::regnamespace THEN 'hilo.' ELSE '' END || proname
	FROM pg_proc JOIN member ON classid = 'pg_proc'::regclass AND objid = oid
	UNION SELECT 'hilo.' || relname FROM pg_class JOIN member ON classid = 'pg_class'::regclass AND objid = oid
	UNION SELECT typname FROM pg_type JOIN member ON classid = 'pg_type'::regclass AND objid = oid
	WHERE typtype = 'b' AND typcategory <> 'A'
	UNION SELECT name FROM pg_settings WHERE name LIKE 'hilo.%'});
my %named = map { $_ => 1 } $reference =~ /(?<![\w.])(hilo\.[a-z]\w+)/g;
cmp_ok(scalar(keys %members), '>', 50, 'the extension has members');
is(missing($reference, grep { !/^hilo\._/ } sort keys %members), '', 'doc/reference.md describes all of them');
is(join(' ', grep { !$members{$_} } sort keys %named), '', 'doc/reference.md names nothing else');

my @columns = split /\n/, $node->safe_psql('postgres', q{
	SELECT DISTINCT attname FROM pg_attribute
	WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'hilo'::regnamespace AND relkind IN ('r', 'v'))
	AND attnum > 0 AND attname !~ '^spare'});
is(missing($reference, @columns), '', 'doc/reference.md names all columns');

my @settings = split /\n/, $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name LIKE 'hilo.%'});
cmp_ok(scalar(@settings), '>', 0, 'there are settings');
is(join(' ', grep { $reference !~ /^\| `\Q$_\E` \|/m } @settings), '', 'doc/reference.md has a line for each setting');

# The extension hilo_hub has a page of its own.
my $hub_page = slurp_file('doc/many-servers.md');
my %hub_members = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q{
	SELECT 'hilo_hub.' || proname FROM pg_proc WHERE pronamespace = 'hilo_hub'::regnamespace
	UNION SELECT 'hilo_hub.' || relname FROM pg_class WHERE relnamespace = 'hilo_hub'::regnamespace AND relkind = 'v'
	UNION SELECT name FROM pg_settings WHERE name LIKE 'hilo_hub.%'});
my @hub_arguments = split /\n/, $node->safe_psql('postgres', q{
	SELECT DISTINCT unnest(proargnames) FROM pg_proc WHERE pronamespace = 'hilo_hub'::regnamespace});
cmp_ok(scalar(keys %hub_members), '>', 5, 'hilo_hub has members');
is(missing($hub_page, (grep { !/\._/ } sort keys %hub_members), @hub_arguments), '', 'doc/many-servers.md describes all of them');
is(join(' ', grep { !$hub_members{$_} } $hub_page =~ /(?<![\w.])(hilo_hub\.[a-z]\w+)/g), '', 'and names nothing else');

# Conditions that the code can raise, by their names there; and what SQLSTATE is behind a name.
my %raised = map { $_ => 1 } map { slurp_file($_) =~ /\b(ERRCODE_\w+)/g } glob('src/*.c'), glob('src/hub/*.c');
my %sqlstate = slurp_file($node->config_data('--includedir-server') . '/utils/errcodes.h') =~
  /^#define (ERRCODE_\w+) MAKE_SQLSTATE\((.*?)\)$/gm;
# How a whole class is spoken of.
delete @raised{qw(ERRCODE_TO_CATEGORY ERRCODE_CONNECTION_EXCEPTION ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION)};
cmp_ok(scalar(keys %raised), '>', 10, 'the code raises errors');
my %state = map { (($sqlstate{$_} // $_) =~ s/[',]//gr) => 1 } keys %raised;
# Those of PL/pgSQL are written as such.
$state{$_} = 1 foreach map { slurp_file($_) =~ /\bERRCODE *= *'(\w{5})'/gi } glob('sql/*');
is(missing($reference . $hub_page, sort keys %state), '', 'doc/reference.md and doc/many-servers.md name all SQLSTATEs');

$node->stop;
done_testing();
