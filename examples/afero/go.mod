module example.com/ftpfetch/examples/afero

go 1.26.8

require (
	example.com/ftpfetch v0.0.0
	github.com/spf13/afero v1.15.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/jlaffaye/ftp v0.2.4 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace example.com/ftpfetch => ../..
