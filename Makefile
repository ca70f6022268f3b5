# Every target is a line of .ci/run or of the go command; see CONTRIBUTING.md.
.PHONY: check lint test interop fuzz cross release bench-latency bench-many bench-exact

check: ## the one check that a change must pass
	.ci/run

lint fuzz cross interop release:
	.ci/run $@

test:
	go test ./...

bench-latency: ## round trips compared with other clients; Linux, root
	go run ./internal/bench/latency

bench-many: ## many files, trees and a large one compared with other clients; Linux, root, an hour
	go run ./internal/bench/many

bench-exact: ## what clients send for telling URLs
	go run ./internal/bench/exact
