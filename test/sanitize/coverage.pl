# coverage.pl: say which lines the tests have reached, after gcov --json-format.
#
#   perl coverage.pl UNREACHED FOLDER...
#
# Prints a table of the files, then the lines that were not reached.  Those that
# UNREACHED does not name make it fail, and so do less than 95 of 100 lines.
#
# A line of UNREACHED has file, function, a part of the source text, and a reason,
# with "|" between them.  It is for each run of unreached lines of the function
# that has the text.  Those that were not needed are named, too: some of them, by
# chance.
use strict;
use warnings;
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP;

my ($unreached, @folders) = @ARGV;
my @known;
open(my $in, '<', $unreached) or die "$unreached: $!";
while (<$in>)
{
	next if /^(#|\s*$)/;
	chomp;
	my ($file, $function, $text, $reason) = split /\s*\|\s*/, $_, 4;
	die "$unreached, line $.: not four fields\n" unless $reason;
	push @known, { file => $file, function => $function, text => $text, reason => $reason };
}
close($in);

# The lines of all files: how often reached, and in which function.
my %lines;
foreach my $report (map { glob("$_/*.gcov.json.gz") } @folders)
{
	gunzip($report => \my $json) or die $report;
	foreach my $file (@{ decode_json($json)->{files} })
	{
		my ($name) = $file->{file} =~ m{^src/([\w/]+\.[ch])$} or next;
		foreach my $line (@{ $file->{lines} })
		{
			my $known = $lines{$name}{ $line->{line_number} } //= { count => 0 };
			$known->{count} += $line->{count};
			$known->{function} = $line->{function_name} // '';
		}
	}
}
die "no report in @folders\n" unless %lines;

sub percent { sprintf('%5.1f %%', 100 * $_[0] / $_[1]) }

my ($all, $reached) = (0, 0);
my @missed;
printf "%-24s %6s %8s\n", 'file', 'lines', 'reached';
foreach my $file (sort keys %lines)
{
	my $of = $lines{$file};
	my @numbers = sort { $a <=> $b } keys %$of;
	my $count = grep { $of->{$_}{count} } @numbers;
	printf "%-24s %6d %8d %s\n", $file, scalar(@numbers), $count, percent($count, scalar @numbers);
	$all += @numbers;
	$reached += $count;

	# Runs of lines that were not reached, in one function.
	my $run;
	foreach my $number (@numbers)
	{
		if ($of->{$number}{count})
		{
			undef $run;
			next;
		}
		if (!$run || $run->{function} ne $of->{$number}{function})
		{
			push @missed, $run = { file => $file, function => $of->{$number}{function}, first => $number };
		}
		$run->{last} = $number;
	}
}
printf "%-24s %6d %8d %s\n", 'all', $all, $reached, percent($reached, $all);

my $unnamed = 0;
foreach my $run (@missed)
{
	open(my $source, '<', "$folders[0]/src/$run->{file}") or die "$run->{file}: $!";
	my @text = <$source>;
	close($source);
	my $text = join '', @text[ $run->{first} - 1 .. $run->{last} - 1 ];
	my ($known) =
	  grep { $_->{file} eq $run->{file} && $_->{function} eq $run->{function} && index($text, $_->{text}) >= 0 } @known;
	print "$run->{file}:$run->{first}-$run->{last} $run->{function}(): ",
	  $known ? $known->{reason} : "NOT REACHED\n$text", "\n";
	$known ? $known->{needed} = 1 : $unnamed++;
}
print "reached: $_->{file} $_->{function}(), $_->{text}\n" foreach grep { !$_->{needed} } @known;
print "$unnamed places are not reached, and not named in $unreached\n" if $unnamed;
exit($unnamed || 100 * $reached < 95 * $all ? 1 : 0);
