# Every target is a line of .ci/run or of the go command; see CONTRIBUTING.md.
.PHONY: check night lint test interop fuzz cross release bench

check: ## the one check that a change must pass
	.ci/run

night lint fuzz cross interop release:
	.ci/run $@

test:
	go test ./...

bench: ## makes the tables of docs/performance.md and docs/clients.md; Linux, root, a quarter of an hour
	go -C lab/bench run .
