use strict;
use warnings;
use Net::FTP;
use URI;
use URI::Escape;

my $url = URI->new(shift);
my $ftp = Net::FTP->new($url->host, Port => $url->port, Timeout => 10) or die $@;
$ftp->login($url->user || "anonymous", $url->password) or die $ftp->message;
$ftp->binary;
$ftp->get(uri_unescape($url->path), \*STDOUT) or die $ftp->message;
$ftp->quit;
