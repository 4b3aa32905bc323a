# tool: javac
# how: 80 classes that use a package which is not on the class path
# decisive: error: package com.example.wire does not exist
# decisive: Client.java:2
prepare() {
mkdir src; printf 'package shop;\nimport com.example.wire.Channel;\npublic class Client { protected Channel channel; Channel open(String to) { return Channel.to(to); } }\n' > src/Client.java
for n in $(seq 80); do printf 'package shop;\npublic class Use%s extends Client {\n  void go() { channel.send(%s); open("x").close(); Missing%s.call(); }\n}\n' $n $n $n > src/Use$n.java; done
}
run() { javac -Xmaxerrs 2000 -Xlint:all -verbose -d out src/*.java; }
