#!/usr/bin/env bash
# Fetches and verifies the FASTQ files of a study at the European Nucleotide
# Archive:
#
#   ena.sh PRJEB12345 [DIR]
set -euo pipefail

study=${1:?usage: ena.sh STUDY [DIR]}
dir=${2:-$study}
portal=${ENA_PORTAL:-https://www.ebi.ac.uk/ena/portal/api}
list=$dir/$study.tsv
report=$dir/$study.report.tsv

mkdir -p "$dir"
if ! [ -e "$list" ]; then # delete it to see runs that were added to the study
	fields=run_accession,fastq_ftp,fastq_md5,fastq_bytes
	curl -fsS --retry 5 -o "$list.part" \
		"$portal/filereport?accession=$study&result=read_run&fields=$fields&format=tsv&limit=0"
	mv "$list.part" "$list"
fi

code=0
ftpfetch --manifest "$list" --map ena:fastq -d "$dir" --report "$report" || code=$?
if [ "$code" -ne 0 ] && [ -e "$report" ]; then
	echo "failed:"
	awk -F '\t' 'NR > 1 && $4 == "failed" { print $2 ": " $8 }' "$report"
fi
exit "$code"
