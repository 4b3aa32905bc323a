# tool: apt-get install
# how: four packages, one of which does not exist, in Japanese
# decisive: libpq5-devel
prepare() { :; }
run() { LANG=ja_JP.UTF-8 apt-get install -y --simulate curl git libpq5-devel make; }
