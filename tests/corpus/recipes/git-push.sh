# tool: git push
# how: the remote has a hook that refuses
# decisive: commit message needs a ticket number
prepare() {
git init -q --bare remote.git; printf '#!/bin/sh\necho "checking 12 commits"\necho "commit message needs a ticket number" >&2\nexit 1\n' > remote.git/hooks/pre-receive; chmod +x remote.git/hooks/pre-receive
git init -q -b main here; cd here; git config user.name a; git config user.email a@b.example
for n in 1 2 3; do echo $n > f$n; git add .; git commit -qm "add $n"; done; git remote add origin ../remote.git
}
run() { cd here && git push --progress --verbose origin main; }
