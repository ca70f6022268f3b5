#!/usr/bin/env bash
# Puts the version and the checksum of the release in dist into the recipes, in
# dist/recipes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
read -r sum file < <(grep -- '-source\.tar\.gz$' dist/SHA256SUMS)
version=${file#ftpfetch-} version=${version%-source.tar.gz}
for recipe in homebrew/ftpfetch.rb bioconda/meta.yaml bioconda/build.sh; do
	mkdir -p "dist/recipes/${recipe%/*}"
	sed "s/@VERSION@/$version/g; s/@SHA256@/$sum/g" "lab/release/packaging/$recipe" >"dist/recipes/$recipe"
done
