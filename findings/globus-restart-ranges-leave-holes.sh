#!/usr/bin/env bash
# RFC 959: REST names the place from which the next transfer restarts. GridFTP (GFD.020) adds ranges of bytes that the client
# has already, REST 0-3,6-8, for block mode, and ERET P OFFSET LENGTH, a part of a file.
#
# Guess: in stream mode a range is refused, because the bytes that arrive have no places. REST 4 before ERET P 2 3 sends the
# one byte that is missing of three, or is ignored.
# Seen (globus-gridftp-server 13.24): the range is accepted in stream mode, 350 and 226, and its bytes are left out: after
# REST 3-6 a file of 0123456789 arrives as 0126789, seven bytes that no file holds. REST 4 and ERET P 2 3 bring nothing, and
# 226; without REST the three bytes come.
# Why it matters: every reply is positive. A client that takes "350" for "restarts there" saves a file with a hole, and only
# its size tells.
source "$(dirname "$0")/kit/kit.bash"
source "$kit/globus.bash"

expect 'replies and data' "TYPE I -> 200 Type set to I.
RETR digits -> 226 Transfer Complete. '0123456789'
REST 3-6 -> 350 Restart Marker OK. Send STORE or RETR to initiate transfer.
RETR digits -> 226 Transfer Complete. '0126789'
ERET P 2 3 digits -> 226 Transfer Complete. '234'
REST 4 -> 350 Restart Marker OK. Send STORE or RETR to initiate transfer.
ERET P 2 3 digits -> 226 Transfer Complete. ''" \
	"$(dialogue 'TYPE I' 'RETR digits' 'REST 3-6' 'RETR digits' 'ERET P 2 3 digits' 'REST 4' 'ERET P 2 3 digits')"
