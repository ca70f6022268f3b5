#!/usr/bin/env bash
# tabix reads one region of a compressed table with its index. htslib opens ftp URLs with libcurl.
#
# Guess: one login for the index and one for the data; a seek needs no other, because the connection is there. Only
# failures print "[E::".
# Seen (htslib 1.16): five logins for one region: the data from its beginning, three names of an index (.csi, then the
# .csi without .gz, then .tbi), and the data again from an offset, each on a connection of its own. It prints an error, "[E::easy_errno] Libcurl reported error 78 (Remote file not found)", for each name that is
# not there, and ends with 0. With the index that the first run has left in the current directory, one region or three take
# two logins.
# Why it matters: archives of genomes limit connections for each address. A loop over regions of one file meets the limit,
# though it reads a few kilobytes at a time.
source "$(dirname "$0")/kit/kit.bash"
debian tabix=1.16+ds-3 libhts3=1.16+ds-3 libcurl3-gnutls=7.88.1-10+deb12u15
{
	printf '##fileformat=VCFv4.2\n##contig=<ID=1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
	for n in {1..60000}; do printf '1\t%d\t.\tA\tC\t.\tPASS\tX=%d%d\n' $((n * 100)) $((n * 48271 % 65537)) $((n * 16807 % 32749)); done
} >root/tmp/table.vcf
inside bgzip table.vcf
inside tabix -p vcf table.vcf.gz
mkdir served
mv root/tmp/table.vcf.gz* served
serve served
url=ftp://127.0.0.1:$port/table.vcf.gz

# regions REGION... reads them, and sets $got to how that ends.
regions() {
	attempt tabix "$url" "$@"
	got="${got%% after*}, $(wc -l <stdout) lines, $(grep -c '^USER' log) logins, $(grep -c '^\[E::' stderr || true) errors"
}

regions 1:3000000-3000300
expect 'one region' 'exit code 0, 4 lines, 5 logins, 2 errors' "$got"
regions 1:3000000-3000300
expect 'one region, with the index' 'exit code 0, 4 lines, 2 logins, 0 errors' "$got"
regions 1:1000000-1000300 1:3000000-3000300 1:5000000-5000300
expect 'three regions, with the index' 'exit code 0, 12 lines, 2 logins, 0 errors' "$got"
