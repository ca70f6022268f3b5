#!/usr/bin/env bash
# A stream of NATS 2.12 and later with allow_msg_counter adds up the header Nats-Incr of each subject's messages, and answers
# with the sum.
#
# Guess: the sum belongs to the subject: deleting a message, or letting it expire, does not change it. It is an int64, so that
# an increment beyond it is refused. An acknowledgement always has the sum.
# Seen (nats-server 2.15.2): the sum is in the last message and nowhere else. Deleting the last message takes its increment
# back: 10, 10, deleted, then 0 gives 10. Deleting an earlier one changes nothing. When max_age has removed them all, the next
# 1 gives 1. There is no largest number: 9223372036854775807 and 1 give "9223372036854775808", as text. The
# acknowledgement of a duplicate (Nats-Msg-Id) has no sum at all. Such a stream cannot have TTLs of messages.
# Why it matters: a counter of downloads goes down when somebody tidies up, and starts again when nothing is fetched for as
# long as max_age. A client that reads the sum into int64 fails on what the server accepts.
source "$(dirname "$0")/kit/kit.bash"
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

var conn *nats.Conn

func ask(subject, body string) []byte {
	reply, err := conn.Request(subject, []byte(body), 5*time.Second)
	if err != nil {
		log.Fatal(subject, ": ", err)
	}
	return reply.Data
}

func stream(name, options string) {
	body := fmt.Sprintf(`{"name":%q,"subjects":["%s.>"],"allow_msg_counter":true,"storage":"memory"%s}`, name, name, options)
	var reply struct{ Error struct{ Description string } }
	_ = json.Unmarshal(ask("$JS.API.STREAM.CREATE."+name, body), &reply)
	fmt.Printf("stream %s: %s\n", name, reply.Error.Description)
}

func add(subject, increment, id string) (seq int) {
	m := nats.NewMsg(subject)
	m.Header.Set("Nats-Incr", increment)
	if id != "" {
		m.Header.Set("Nats-Msg-Id", id)
	}
	reply, err := conn.RequestMsg(m, 5*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	var ack struct {
		Seq       int
		Val       string
		Duplicate bool
	}
	_ = json.Unmarshal(reply.Data, &ack)
	fmt.Printf("%s %s: %q", subject, increment, ack.Val)
	fmt.Println(strings.Repeat(" duplicate", map[bool]int{true: 1}[ack.Duplicate]))
	return ack.Seq
}

func remove(name string, seq int) {
	ask("$JS.API.STREAM.MSG.DELETE."+name, fmt.Sprintf(`{"seq":%d}`, seq))
}

func main() {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: ".", NoLog: true, NoSigs: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		log.Fatal("the server does not start")
	}
	defer s.Shutdown()
	if conn, err = nats.Connect(s.ClientURL()); err != nil {
		log.Fatal(err)
	}
	stream("kept", "")
	first := add("kept.a", "10", "")
	add("kept.a", "10", "")
	last := add("kept.a", "10", "")
	remove("kept", first)
	add("kept.a", "0", "")
	remove("kept", last+1)
	remove("kept", last)
	add("kept.a", "0", "")
	add("kept.b", "9223372036854775807", "")
	add("kept.b", "1", "")
	add("kept.c", "5", "id")
	add("kept.c", "5", "id")
	stream("aged", `,"max_age":1000000000,"duplicate_window":1000000000`)
	add("aged.a", "10", "")
	time.Sleep(3 * time.Second)
	add("aged.a", "1", "")
	stream("timed", `,"allow_msg_ttl":true`)
}
END
go mod init counters 2>/dev/null
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 2>/dev/null
go mod tidy 2>/dev/null
go build -o counters .

expect 'what the server says' 'stream kept: 
kept.a 10: "10"
kept.a 10: "20"
kept.a 10: "30"
kept.a 0: "30"
kept.a 0: "20"
kept.b 9223372036854775807: "9223372036854775807"
kept.b 1: "9223372036854775808"
kept.c 5: "5"
kept.c 5: "" duplicate
stream aged: 
aged.a 10: "10"
aged.a 1: "1"
stream timed: counter stream cannot use message TTLs' "$(limited ./counters)"
