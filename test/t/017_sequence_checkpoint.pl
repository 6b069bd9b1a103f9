# Shown is spent, though a checkpoint begins while a session is inside nextval: between its look at where recovery would begin,
# by which it writes no record, and its change of the page, which the checkpoint takes for unchanged.  Plain nextval() repeats
# the number there after a crash.  gdb holds the session; the test is skipped without gdb, and where gdb may not attach.
use HiloTest;

my $ptrace = '/proc/sys/kernel/yama/ptrace_scope';
plan(skip_all => 'gdb may not attach to other processes here') if $> != 0 && -e $ptrace && slurp_file($ptrace) != 0;
if (!available('a session held inside nextval', 'gdb', '--version'))
{
	done_testing();
	exit;
}

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = crash_server('checkpoint', "shared_buffers = 256kB\n", "CREATE EXTENSION hilo; CREATE SEQUENCE s; $BIG");
$node->start;

foreach my $function ('nextval', 'hilo.nextval')
{
	my ($session, $observer) = map { session($node) } 1, 2;
	my $name = $function =~ s/\W/_/r;
	my ($held, $go) = ("$dir/$name.held", "$dir/$name.go");

	# A record that a draw has written after the last checkpoint, and a page that is written since: what nextval does
	# now changes it without a record.
	$observer->query_safe(q{ALTER SEQUENCE s RESTART});
	$observer->query_safe('CHECKPOINT');
	$session->query_safe("LOAD 'hilo'; SELECT $function('s') FROM generate_series(1, 2)");
	write_pages($observer, 's');

	append_to_file("$dir/$name.gdb", <<"GDB");
set pagination off
break GetRedoRecPtr
continue
finish
delete
shell touch '$held'
shell while [ ! -e '$go' ]; do sleep 0.05; done
detach
quit
GDB
	my $out = '';
	my $gdb = IPC::Run::start([ 'gdb', '-q', '-batch', '-p', $session->pid, '-x', "$dir/$name.gdb" ], '<', '/dev/null', '>', \$out, '2>&1');
	wait_until('gdb has attached', sub { $gdb->pump_nb; $out =~ /Breakpoint 1 at/ });
	$session->start("BEGIN; SELECT $function('s')");
	wait_until('the session is held', sub { $gdb->pump_nb; -e $held });
	$gdb->pump_nb;
	like($out, qr/nextval_internal/, "$function(): the session is held inside nextval");
	$observer->query_safe('CHECKPOINT');
	append_to_file($go, '');
	my $number = $session->result;
	$gdb->finish;
	kill_server($node);
	$_->hang_up foreach $session, $observer;
	$node->start;
	my $next = $node->safe_psql('postgres', "SELECT $function('s')");
	is($next <= $number ? 'again' : 'once', $function eq 'nextval' ? 'again' : 'once', "$function(): $number was shown, $next comes after kill -9");
}
$node->stop;
done_testing();
