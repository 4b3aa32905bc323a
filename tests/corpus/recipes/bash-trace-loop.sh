# tool: bash -x
# how: 12,000 files are signed in a loop; one cannot be read in the middle, the sum at the end is wrong
# decisive: in/part-04711.txt: Permission denied
prepare() {
mkdir in out; for n in $(seq -w 0 11999); do echo $n > in/part-0$n.txt; done; for n in $(seq -w 0 11999); do mv in/part-0$n.txt in/part-$n.txt; done; chmod 000 in/part-04711.txt
cat > sign.sh <<'X'
set -x
count=0
for file in in/*.txt; do
  name=${file##*/}
  read -r line < "$file" || continue
  [ -n "$line" ] || { echo "error: $name is empty"; exit 2; }
  key=$((10#$line * 31 % 997))
  printf '%s %s\n' "$name" "$key" >> out/sums
  count=$((count + 1))
done
[ "$count" -eq 12000 ] || { echo "signed $count of 12000 files"; exit 1; }
X
}
run() { bash sign.sh 2>&1; }
