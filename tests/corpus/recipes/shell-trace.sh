# tool: bash -x
# how: a deploy script that stops at a variable that is not set
# decisive: RELEASE_BUCKET: unbound variable
prepare() {
cat > deploy.sh <<'X'
set -euxo pipefail
version=$(date +%Y)
mkdir -p dist
for part in web api worker; do
  echo "$part $version" > "dist/$part.txt"
  gzip -kf "dist/$part.txt"
done
sha256sum dist/* > dist/SUMS
tar -cf "release-$version.tar" dist
cp "release-$version.tar" "/srv/app/shop/$RELEASE_BUCKET/"
echo deployed
X
}
run() { bash deploy.sh; }
