# The pages say what is true: every SQL block in README.md and doc/*.md runs, and gives what the page shows.
#
# A page is its own expected file.  Its blocks run in order, in one session on a database of its own:
#
#   ```sql           runs.  What a statement gives is compared with the comment behind it (rows and columns separated by
#                    ", "), or, where a ```text block follows, with that: notices, errors and tables as psql shows them.
#                    A statement that shows neither may give rows, but no notice, warning or error.
#   <!-- sql         runs, too, unseen by the reader, and may give anything but errors: what a page needs beforehand.
#   <!-- run -->     makes the ```sh block below it run; it must end with exit code 0, and give the ```text that follows.
#   <!-- table -->   makes the rows of the table below it run: what the second cell has between backquotes, one statement
#                    each, the last of which gives what stands between those of the third.
#   <!-- preload --> restarts the server with the library preloaded, until the end of the page.
#
# Blank lines and spaces at ends of lines do not count.  A ```text that follows none of these is a drawing; a ```sh that does
# not run shows no output.
use strict;
use warnings;
use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $TIMEOUT = $PostgreSQL::Test::Utils::timeout_default;

my $node = PostgreSQL::Test::Cluster->new('docs');
# Pages count characters, whatever the locale that this is run in.
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 10');
$node->start;
my $bindir = $node->config_data('--bindir');

# What a comparison looks at.
sub essence
{
	my ($text) = @_;
	return join("\n", grep { /\S/ } map { s/\s+$//r } split(/\n/, $text));
}

# A row of a table that runs: its statements, the last with what it gives.
sub row_statements
{
	my ($row) = @_;
	my @cells = map { s/\\\|/|/gr } split /(?<!\\)\|/, $row;
	my @statements = map { { sql => "$_;", shown => undef } } ($cells[2] // '') =~ /`([^`]+)`/g;
	my ($gives) = ($cells[3] // '') =~ /^ `([^`]+)` $/;

	return unless @statements && defined $gives && @cells == 4;
	$statements[-1]{shown} = $gives;
	return @statements;
}

# The blocks of a page: kind, line, content; "text" is attached to the block above it.
sub blocks_of
{
	my ($page) = @_;
	my (@blocks, $open, $run);
	my ($may_have_text, $may_have_rows) = (0, 0);
	my $number = 0;

	foreach my $line (split /\n/, slurp_file($page))
	{
		$number++;
		if ($open)
		{
			if ($line =~ $open->{end})
			{
				if ($open->{kind} eq 'text' && $may_have_text)
				{
					$blocks[-1]{text} = $open->{content};
					$may_have_text = 0;
				}
				else
				{
					push @blocks, $open;
					$may_have_text = $open->{kind} =~ /^(sql|sh)$/;
				}
				undef $open;
			}
			else
			{
				$open->{content} .= "$line\n";
			}
		}
		elsif ($may_have_rows && $line =~ /^\|/)
		{
			push @{ $blocks[-1]{rows} }, $line;
		}
		elsif ($line =~ /^\s*(?:```|~~~)\s*(.*?)\s*$/)
		{
			$open = { kind => $1, line => $number, end => qr/^\s*(?:```|~~~)\s*$/, content => '', run => $run };
			undef $run;
		}
		elsif ($line =~ /^<!-- sql$/)
		{
			$open = { kind => 'hidden', line => $number, end => qr/^-->$/, content => '' };
		}
		elsif ($line =~ /^<!-- run -->$/)
		{
			$run = 1;
		}
		elsif ($line =~ /^<!-- table -->$/)
		{
			push @blocks, { kind => 'table', line => $number, content => '', rows => [] };
			$may_have_rows = 1;
			next;
		}
		elsif ($line =~ /^<!-- preload -->$/)
		{
			push @blocks, { kind => 'preload', line => $number, content => '' };
		}
		elsif ($line =~ /^\s*<!--/)
		{
			fail("$page, line $number: a comment that means something");
		}
		elsif ($line =~ /\S/)
		{
			$may_have_text = 0;
		}
		$may_have_rows &&= $line =~ /^\|/;
	}
	is($open, undef, "$page: all blocks end") or diag("block of line $open->{line}");
	return @blocks;
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
			push @statements, { sql => $line };
			next;
		}
		$text .= "$line\n";
		foreach my $tag ($line =~ /\$\w*\$/g)
		{
			if (!defined $quote) { $quote = $tag; }
			elsif ($quote eq $tag) { undef $quote; }
		}
		if (!defined $quote && $line =~ /;\s*(?:--\s*(.*?)\s*)?$/)
		{
			push @statements, { sql => $text, shown => $1 };
			$text = '';
		}
	}
	push @statements, { sql => $text } if $text ne '';
	return @statements;
}

# A connection gives back what it has left when it ends, which \c does not wait for.
my $WAIT_FOR_EXITS = <<'SQL';
DO $$
BEGIN
	WHILE (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend') > 1 LOOP
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END $$;
SQL

# Run SQL blocks in one session, and note for each statement what psql has written.
sub run_sql
{
	my ($db, @blocks) = @_;
	my ($out, $err) = ('', '');
	my $script = '';
	my @statements;

	foreach my $block (@blocks)
	{
		$script .= defined $block->{text} ?
		  "\\pset format aligned\n\\pset tuples_only off\n" :
		  "\\pset format unaligned\n\\pset tuples_only on\n";
		foreach my $statement (@{ $block->{statements} })
		{
			push @statements, $statement;
			$script .= "$statement->{sql}\n";
			$script .= $WAIT_FOR_EXITS if $statement->{sql} =~ /^\\c/;
			$script .= "\\echo end of statement\n\\warn end of statement\n";
		}
	}
	IPC::Run::run([ 'psql', '-X', '-q', '-P', 'fieldsep=, ', '-P', 'recordsep=, ', '-d', $node->connstr($db) ],
		'<', \$script, '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT));
	my @out = split(/^end of statement\n/m, $out, -1);
	my @err = split(/^end of statement\n/m, $err, -1);
	is(scalar(@out), scalar(@statements) + 1, "$db: all statements ran") or diag($err);
	foreach my $statement (@statements)
	{
		$statement->{out} = shift(@out) // '';
		$statement->{err} = shift(@err) // '';
	}
	return;
}

sub check_sql
{
	my ($page, $block) = @_;
	my $where = "$page, line $block->{line}";

	if (defined $block->{text})
	{
		is(essence(join('', map { $_->{err} . $_->{out} } @{ $block->{statements} })),
			essence($block->{text}), $where);
		return;
	}
	my $good = 1;
	foreach my $statement (@{ $block->{statements} })
	{
		my $gives = $statement->{out} =~ s/\s+$//r =~ s/\n/, /gr;
		my $errors = $block->{kind} eq 'hidden' ?
		  join('', grep { /^(ERROR|FATAL)/ } split(/^/, $statement->{err})) : $statement->{err};

		next if $errors eq '' && $gives eq ($statement->{shown} // $gives);
		$good = 0;
		diag("$where: $statement->{sql} gives $gives\n$errors" .
			  (defined $statement->{shown} ? "not $statement->{shown}" : ''));
	}
	ok($good, $where);
	return;
}

sub run_shell
{
	my ($page, $db, $block) = @_;
	my ($out, $err) = ('', '');

	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => $db, PATH => "$bindir:$ENV{PATH}");
	my $dir = PostgreSQL::Test::Utils::tempdir;
	my $good = IPC::Run::run([ 'sh', '-euc', "cd $dir\n$block->{content}" ],
		'<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT));
	ok($good, "$page, line $block->{line}: the commands succeed") or diag($err);
	is(essence($out . $err), essence($block->{text}), "$page, line $block->{line}")
	  if defined $block->{text};
	return;
}

sub preload
{
	my ($value) = @_;

	$node->safe_psql('postgres', "ALTER SYSTEM SET shared_preload_libraries = $value");
	$node->restart;
	return;
}

sub check_page
{
	my ($page) = @_;
	my $db = lc('page_' . (basename($page) =~ s/\.md$//r =~ s/\W/_/gr));
	my @blocks = blocks_of($page);
	my (@session, @run);

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	foreach my $block (@blocks, { kind => 'end' })
	{
		if ($block->{kind} =~ /^(sql|hidden|table)$/)
		{
			# The first two rows are the heading.
			my @rows = map { [ row_statements($_) ] } @{ $block->{rows} // [] }[ 2 .. $#{ $block->{rows} // [] } ];

			cmp_ok(scalar(grep { @$_ } @rows), '==', @rows, "$page, line $block->{line}: all rows can be run") if @rows;
			$block->{statements} = [ $block->{kind} eq 'table' ? map { @$_ } @rows : statements_of($block->{content}) ];
			push @session, $block;
			next;
		}
		next unless $block->{run} || $block->{kind} =~ /^(preload|end)$/;

		# Commands of the shell, or a restart, are in between: the session ends before them.
		run_sql($db, @session) if @session;
		check_sql($page, $_) foreach @session;
		push @run, @session;
		@session = ();
		if ($block->{run})
		{
			is($block->{kind}, 'sh', "$page, line $block->{line}: is of the shell");
			run_shell($page, $db, $block);
		}
		preload("'hilo'") if $block->{kind} eq 'preload';
	}
	preload('DEFAULT') if grep { $_->{kind} eq 'preload' } @blocks;
	foreach my $block (grep { $_->{kind} !~ /^(sql|hidden|table|preload)$/ && !$_->{run} } @blocks)
	{
		like($block->{kind}, qr/^(sh|text)$/, "$page, line $block->{line}: a block of a known kind");
		ok(!defined $block->{text}, "$page, line $block->{line}: shows no output, as it does not run");
	}
	my $visible = () = slurp_file($page) =~ /^\s*(?:```|~~~)\s*(?:sql|pgsql|postgresql)\b/gim;
	is(scalar(grep { $_->{kind} eq 'sql' } @run), $visible, "$page: all $visible SQL blocks ran");
	return;
}

my @pages = ('README.md', sort glob('doc/*.md'));
check_page($_) foreach @pages;

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

foreach my $page (@pages, 'src/README.md')
{
	my $text = slurp_file($page) =~ s/^```.*?^```$//gmsr;
	my @broken;

	foreach my $link ($text =~ /\]\(([^)\s]+)\)/g)
	{
		next if $link =~ /^\w+:/;
		my ($file, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
		my $path = $file eq '' ? $page : dirname($page) . "/$file";
		push @broken, $link
		  unless -e $path && (!defined $anchor || grep { $_ eq $anchor } anchors_of($path));
	}
	is("@broken", '', "$page: links lead somewhere");
}

#
# The reference is complete
#

my $reference = slurp_file('doc/reference.md');
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

sub missing_in_reference
{
	return join(' ', grep { $reference !~ /(?<![\w.])\Q$_\E(?!\w)/ } @_);
}

# What is in schema hilo is always called by that.
foreach my $kind (
	[ 'functions', 'SELECT DISTINCT CASE pronamespace WHEN $$hilo$$::regnamespace THEN $$hilo.$$ ELSE $$$$ END || proname FROM pg_proc p JOIN pg_depend d ON d.classid = $$pg_proc$$::regclass AND d.objid = p.oid' ],
	[ 'tables and views', 'SELECT $$hilo.$$ || relname FROM pg_class c JOIN pg_depend d ON d.classid = $$pg_class$$::regclass AND d.objid = c.oid' ],
	[ 'types', 'SELECT typname FROM pg_type t JOIN pg_depend d ON d.classid = $$pg_type$$::regclass AND d.objid = t.oid AND typtype = $$b$$ AND typcategory <> $$A$$' ])
{
	my ($name, $query) = @$kind;
	my @names = split /\n/, $node->safe_psql('postgres',
		"$query AND d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')");
	cmp_ok(scalar(@names), '>', 0, "there are $name");
	is(missing_in_reference(@names), '', "doc/reference.md names all $name");
}

my @columns = split /\n/, $node->safe_psql('postgres', q{
	SELECT DISTINCT attname FROM pg_attribute
	WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'hilo'::regnamespace AND relkind IN ('r', 'v'))
	AND attnum > 0 AND attname !~ '^spare'});
is(missing_in_reference(@columns), '', 'doc/reference.md names all columns');

preload("'hilo'");
my @settings = split /\n/, $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name LIKE 'hilo.%'});
cmp_ok(scalar(@settings), '>', 0, 'there are settings');
is(join(' ', grep { $reference !~ /^\| `\Q$_\E` \|/m } @settings), '', 'doc/reference.md has a line for each setting');

# Conditions that the code can raise, by their names there; and what SQLSTATE is behind a name.
my %raised = map { $_ => 1 } map { slurp_file($_) =~ /\b(ERRCODE_\w+)/g } glob('src/*.c');
my %sqlstate = slurp_file($node->config_data('--includedir-server') . '/utils/errcodes.h') =~
  /^#define (ERRCODE_\w+) MAKE_SQLSTATE\((.*?)\)$/gm;
# How a whole class is spoken of.
delete @raised{qw(ERRCODE_TO_CATEGORY ERRCODE_CONNECTION_EXCEPTION)};
cmp_ok(scalar(keys %raised), '>', 10, 'the code raises errors');
is(missing_in_reference(sort map { ($sqlstate{$_} // $_) =~ s/[',]//gr } keys %raised),
	'', 'doc/reference.md names all SQLSTATEs');

$node->stop;
done_testing();
