# meta.pl: is META.json what the PGXN Meta Spec 1.0.0 asks for, and does it agree
# with the files beside it?
#
#   perl test/meta.pl FOLDER
#
# Prints the version, or says what is wrong.
use strict;
use warnings;
use JSON::PP;

my ($folder) = @ARGV;
my @wrong;

sub contents
{
	my ($file) = @_;
	open my $handle, '<', "$folder/$file" or die "$folder/$file: $!\n";
	local $/;
	return scalar <$handle>;
}

# The kinds of value.
my $number = qr/(?:0|[1-9][0-9]*)/;
my $any = qr/./;
my $term = qr!^[^\s[:cntrl:]/\\]{2,}$!;
my $tag = qr!^[^[:cntrl:]/\\]{1,256}$!;
my $url = qr!^[a-z]+://[^/]!;
my $version = qr/^$number\.$number\.$number(?:-[A-Za-z][0-9A-Za-z-]*)?$/;

# What is there must be of its kind, and what is required be there.
sub check
{
	my ($where, $value, $kind, $optional) = @_;

	return if !defined $value && $optional;
	push @wrong, "$where is " . (defined $value ? "\"$value\"" : 'missing')
	  unless defined $value && !ref $value && $value =~ $kind;
	return;
}

sub check_keys
{
	my ($where, $map, @known) = @_;
	foreach my $key (keys %$map)
	{
		push @wrong, "$where has an unknown key \"$key\""
		  unless $key =~ /^x_/i || grep { $_ eq $key } @known;
	}
	return;
}

my $meta = decode_json(contents('META.json'));

check_keys('META.json', $meta,
	qw(name abstract description version maintainer license provides meta-spec
	  generated_by release_status tags no_index prereqs resources));
check('name', $meta->{name}, $term);
check('abstract', $meta->{abstract}, $any);
check('description', $meta->{description}, $any, 1);
check('version', $meta->{version}, $version);
check('license', $meta->{license}, qr/^postgresql$/);
check('release_status', $meta->{release_status}, qr/^(stable|testing|unstable)$/, 1);
check('meta-spec version', $meta->{'meta-spec'}{version}, qr/^1\.0\.0$/);
check('meta-spec url', $meta->{'meta-spec'}{url}, $url, 1);

my @maintainers = ref $meta->{maintainer} eq 'ARRAY' ? @{ $meta->{maintainer} } : $meta->{maintainer};
check('maintainer', $_, $any) foreach @maintainers ? @maintainers : undef;
check('tag', $_, $tag) foreach @{ $meta->{tags} // [] };

check_keys('prereqs', $meta->{prereqs} // {}, qw(configure build test runtime develop));
foreach my $phase (values %{ $meta->{prereqs} // {} })
{
	check_keys('prereqs', $phase, qw(requires recommends suggests conflicts));
	foreach my $relation (values %$phase)
	{
		check("prerequisite $_", $relation->{$_}, qr/^0$|$version/) foreach keys %$relation;
	}
}

# Not in the checkout: a release has the address of the repository that it is made in.
my $resources = $meta->{resources} // {};
check_keys('resources', $resources, qw(homepage bugtracker repository));
check('homepage', $resources->{homepage}, $url, 1);
check("bugtracker $_", $resources->{bugtracker}{$_}, $url) foreach keys %{ $resources->{bugtracker} // {} };
check_keys('repository', $resources->{repository} // {}, qw(url web type));
check("repository $_", $resources->{repository}{$_}, $_ eq 'type' ? qr/^git$/ : $url) foreach keys %{ $resources->{repository} // {} };

push @wrong, 'provides has not hilo' unless $meta->{provides}{hilo};
while (my ($name, $provided) = each %{ $meta->{provides} // {} })
{
	check_keys("provides $name", $provided, qw(file version abstract docfile));
	check("provides $name", $name, $term);
	check("version of $name", $provided->{version}, $version);
	check("abstract of $name", $provided->{abstract}, $any, 1);
	check("file of $name", $provided->{file}, $any);
	check("docfile of $name", $provided->{docfile}, $any, 1);
	foreach my $file (grep { defined } @$provided{qw(file docfile)})
	{
		push @wrong, "there is no $file" unless -f "$folder/$file";
	}
}

# The control file has the version without its last part, which does not change
# what is in the database.
my ($default) = contents('hilo.control') =~ /^default_version = '(.*)'$/m;
push @wrong, "hilo.control says version $default"
  unless "$meta->{version} $meta->{provides}{hilo}{version}" =~ /^(\Q$default\E\.[^.]+) \1$/;
push @wrong, "file of hilo is not of version $default"
  unless $meta->{provides}{hilo}{file} eq "sql/hilo--$default.sql";

my ($compiled) = contents('src/compat.h') =~ /^#define HILO_VERSION\s+"(.*)"$/m;
push @wrong, "src/compat.h says version $compiled" unless $compiled eq $meta->{version};

my ($changed) = contents('CHANGELOG.md') =~ /^## (\S+)/m;
push @wrong, "CHANGELOG.md begins with $changed" unless $changed eq $meta->{version};
my ($packaged) = contents('debian/changelog') =~ /^\S+ \((.*)-[^-]*\)/;
push @wrong, "debian/changelog begins with $packaged" unless $packaged eq $meta->{version};

my ($spec) = contents('hilo.spec') =~ /^Version: *(\S+)/m;
push @wrong, "hilo.spec says $spec" unless $spec eq $meta->{version};

die join("\n", @wrong) . "\n" if @wrong;
print "$meta->{version}\n";
