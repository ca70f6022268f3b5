package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// Whether to ask a server for another file after an error.
func ExampleNoService() {
	s, err := testserver.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	_, err = c.Get(context.Background(), s.URL("/missing"))
	fmt.Println("after", errors.Is(err, ftpexec.ErrNotFound), "not found:", batch.NoService(err))
	c.CloseIdleConnections()
	s.Close()
	_, err = c.Get(context.Background(), s.URL("/f"))
	fmt.Println("after", errors.Is(err, ftpexec.ErrConnect), "no connection:", batch.NoService(err))
	// Output:
	// after true not found: false
	// after true no connection: true
}
