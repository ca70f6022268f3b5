#!/usr/bin/env bash
# The command "newer" of the ftp program fetches a file "only if the modification time of the remote file is more recent" than
# that of the local one, says the manual. Scripts use it for files that are made anew every day.
#
# Guess: it compares the two times: the year first, and the month only in the same year, and so on.
# Seen (inetutils-ftp 2.4): it does so with year and month. But a later day in the same month of any year, a later hour
# in the same day of any month, a later minute in the same hour of any day, and so on, are enough for it to call the local
# file newer. So yesterday's file of 06:20 is "newer" than today's of 06:05, and stays. The exit code is 0.
# tnftp and ftp-ssl, which have the command too, fetch all four.
# Why it matters: inetutils-ftp gives a file the time at which it was fetched, a few minutes after it was made. Where
# both fall into the same hour, as with two cron jobs, the file of the first day is never replaced.
source "$(dirname "$0")/kit/kit.bash"
debian inetutils-ftp=2:2.4-2+deb12u3 tnftp=20210827-4+b1 ftp-ssl=0.17.34+really0.17-1+b1
mkdir served
serve served
printf 'open 127.0.0.1 %s\nuser anonymous x\nbinary\nnewer file\nquit\n' "$port" >root/tmp/commands

# newer LOCAL REMOTE PROGRAM... runs it with files of these times, and sets $got to how that ends and which file is there.
newer() {
	echo old >root/tmp/file
	touch -d "$1 UTC" root/tmp/file
	echo new >served/file
	touch -d "$2 UTC" served/file
	attempt sh -c '"$@" <commands' sh "${@:3}"
	got="${got%% after*}, the $(cat root/tmp/file) file"
}

for program in 'inetutils-ftp -np' 'tnftp -n' 'ftp-ssl -np -z nossl'; do
	seen=
	while IFS=, read -r what here there; do
		newer "$here" "$there" $program
		seen+="
$what: $got"
	done <<-'TIMES'
		one day and 45 minutes later,2026-11-27 06:20,2026-11-28 07:05
		one day later but for 15 minutes,2026-11-27 06:20,2026-11-28 06:05
		one month later but for 15 hours,2026-10-10 23:00,2026-11-10 08:00
		one year later but for ten days,2025-11-20 12:00,2026-11-10 12:00
	TIMES
	want='
one day and 45 minutes later: exit code 0, the new file
one day later but for 15 minutes: exit code 0, the new file
one month later but for 15 hours: exit code 0, the new file
one year later but for ten days: exit code 0, the new file'
	if [ "${program%% *}" = inetutils-ftp ]; then
		want='
one day and 45 minutes later: exit code 0, the new file
one day later but for 15 minutes: exit code 0, the old file
one month later but for 15 hours: exit code 0, the old file
one year later but for ten days: exit code 0, the old file'
		newer '2026-11-26 00:00' '2026-11-27 00:00' $program
		expect 'the time of what it fetches is that of the fetch' root/tmp/file "$(find root/tmp/file -mmin -2)"
		newer '2026-11-27 06:20' '2026-11-28 06:05' $program
		expect 'what it says' 'Local file "file" is newer than remote file "file"' "$(cat stdout)"
	fi
	expect "${program%% *}" "$want" "$seen"
done
