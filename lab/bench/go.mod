module example.com/ftpfetch/lab/bench

go 1.26.0

require (
	example.com/ftpfetch v0.0.0
	github.com/jlaffaye/ftp v0.2.4
	github.com/spf13/afero v1.15.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/fclairamb/ftpserverlib v0.32.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace example.com/ftpfetch => ../..
